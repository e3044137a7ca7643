package verbs

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"liza/pkg/board/blackboard"
	"liza/pkg/verb/verb/verbtest"
)

// To whom a verb is offered over MCP, for each declaration of a tool and each caller.
func TestToWhomAToolIsOffered(t *testing.T) {
	t.Parallel()
	coders := []blackboard.Role{blackboard.RoleCoder}
	for _, c := range []struct {
		name string
		tool *Tool
		want string // person, coder, planner; then the same inside a run
	}{
		{"no tool", nil, "- - - / - - -"},
		{"everybody", &Tool{}, "p c l / p c l"},
		{"coders", &Tool{Roles: coders}, "p c - / p c -"},
		{"people only", &Tool{People: true}, "p - - / p - -"},
		{"coders and people", &Tool{Roles: coders, People: true}, "p c - / p c -"},
		{"agents only", &Tool{Agents: true}, "- c l / - c l"},
		{"coders only", &Tool{Roles: coders, Agents: true}, "- c - / - c -"},
		{"what the supervisor does in a run", &Tool{Roles: coders, Outside: true}, "p c - / - - -"},
	} {
		var sides []string
		for _, inside := range []bool{false, true} {
			var got []string
			for i, role := range []blackboard.Role{"", blackboard.RoleCoder, blackboard.RolePlanner} {
				mark := "-"
				if (&Verb{Tool: c.tool}).OfferedTo(role, inside) {
					mark = string("pcl"[i])
				}
				got = append(got, mark)
			}
			sides = append(sides, strings.Join(got, " "))
		}
		if got := strings.Join(sides, " / "); got != c.want {
			t.Errorf("%s: offered to %q, want %q", c.name, got, c.want)
		}
	}
}

// What an option is given becomes the value of its field, or a refusal that names the option and the manual.
func TestTheValueOfAnOption(t *testing.T) {
	t.Parallel()
	yes := true
	for _, c := range []struct {
		to    any // a pointer
		comma bool
		given []string
		want  any
		fails string
	}{
		{new(string), false, []string{"a", "b"}, "b", ""},
		{new(bool), false, []string{"true"}, true, ""}, {new(bool), false, []string{"false"}, false, ""},
		{new(*bool), false, []string{"true"}, &yes, ""},
		{new(int), false, []string{"7"}, 7, ""}, {new(int), false, []string{"-7"}, -7, ""}, {new(int), false, []string{"x"}, nil, "2 --opt 'x' must be a whole number (next: liza help test)"}, {new(int), false, []string{"1.5"}, nil, "2 --opt '1.5' must be a whole number (next: liza help test)"},
		{new([]string), false, []string{"a,b", "c"}, []string{"a,b", "c"}, ""}, {new([]string), true, []string{"a, b,,c "}, []string{"a", "b", "c"}, ""}, {new([]string), true, []string{""}, []string{}, ""},
		{new(map[string]string), false, []string{"a=b", "c=d=e", " f =g"}, map[string]string{"a": "b", "c": "d=e", "f": "g"}, ""},
		{new(map[string]string), false, []string{"a"}, nil, "2 --opt 'a' must have the form key=value (next: liza help test)"}, {new(map[string]string), false, []string{"=b"}, nil, "2 --opt '=b' must have the form key=value (next: liza help test)"},
		{new(map[string]int), false, []string{"a=0", "b= 3 "}, map[string]int{"a": 0, "b": 3}, ""},
		{new(map[string]int), false, []string{"a=-1"}, nil, "2 --opt a=-1 must be a whole number of 0 or more (next: liza help test)"}, {new(map[string]int), false, []string{"a=x"}, nil, "2 --opt a=x must be a whole number of 0 or more (next: liza help test)"},
	} {
		to := reflect.ValueOf(c.to).Elem()
		err := Field{Option: "opt", Comma: c.comma, Type: to.Type()}.set(to, c.given, "test")
		if got := verbtest.Advice(err); got != c.fails {
			t.Errorf("%v for a %s: %q, want %q", c.given, to.Type(), got, c.fails)
			continue
		}
		if err == nil && !reflect.DeepEqual(to.Interface(), c.want) {
			t.Errorf("%v for a %s: %v, want %v", c.given, to.Type(), to.Interface(), c.want)
		}
	}
	kinds := map[Kind][]any{Words: {""}, Switch: {true, &yes}, Number: {1, new(int)}, Many: {[]string{}, map[string]int{}}}
	for want, values := range kinds {
		for _, v := range values {
			if got := (Field{Type: reflect.TypeOf(v)}).Kind(); got != want {
				t.Errorf("a %T is given as %d, want %d", v, got, want)
			}
		}
	}
	if got := (Field{Type: reflect.TypeFor[[]string](), Comma: true}).Kind(); got != Words {
		t.Errorf("a list with commas is given as %d, want one text", got)
	}
}

// Every declared verb can be found by its name, has a tool name that MCP accepts, and only words of its faces in its fields.
func TestEachVerbIsFoundByItsName(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, v := range All() {
		if Find(v.Name) != v || seen[v.ToolName()] {
			t.Errorf("%s is declared twice, or not found", v.Name)
		}
		seen[v.ToolName()] = true
		if strings.ContainsAny(v.ToolName(), " _") || v.ToolName() != strings.ToLower(v.ToolName()) {
			t.Errorf("%s is called %q over MCP", v.Name, v.ToolName())
		}
		if !v.Does() {
			continue
		}
		if v.Tool != nil && v.Route == "" && v.About() == "" {
			t.Errorf("%s has a tool that says nothing", v.Name)
		}
		for at, f := range v.arguments() {
			if got, ok := v.Argument(at); !ok || got.Name != f.Name {
				t.Errorf("%s: argument %d is %q, %t; want %q", v.Name, at, got.Name, ok, f.Name)
			}
		}
		n := len(v.arguments())
		_, more := v.Argument(n)
		if repeats := n > 0 && strings.HasSuffix(v.arguments()[n-1].Arg, "…"); more != repeats {
			t.Errorf("%s %s has an argument %d: %t, want %t", v.Name, v.ArgsUsage(), n, more, repeats)
		}
	}
	if Find("nope") != nil || Find("") != nil {
		t.Error("a verb that is not declared is found")
	}
	if fmt.Sprint(len(seen)) == "0" {
		t.Error("no verb is declared")
	}
}
