package config

import (
	"fmt"
	"net/url"
	"path"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"gopkg.in/yaml.v3"

	"liza/pkg/base/prose"
)

// anyLarge is the upper bound of numbers that have none of their own: as seconds
// or minutes it still fits into a time.Duration.
const anyLarge = 100_000_000

// kind is the kind of a value: the Go type and the tags of its field.
type kind struct {
	typ    reflect.Type
	is     string
	unit   string
	gate   string
	closed bool
}

func kindOf(f reflect.StructField) kind {
	return kind{typ: f.Type, is: f.Tag.Get("is"), unit: f.Tag.Get("unit"), gate: f.Tag.Get("gate"), closed: f.Tag.Get("closed") == "true"}
}

// of is the same demand on an element of a list or map.
func (k kind) of(elem reflect.Type) kind { return kind{typ: elem, is: k.is, unit: k.unit} }

var (
	durationType = reflect.TypeFor[time.Duration]()
	fallbackType = reflect.TypeFor[Fallback]()
	modelType    = reflect.TypeFor[Model]()
)

// single reports whether a struct is the value of one key, which has several forms.
func single(t reflect.Type) bool { return t == fallbackType || t == modelType }

// value decodes a node as a value of the kind. For an invalid one expected describes a valid value, and at is the invalid
// node.
func value(n *yaml.Node, k kind) (v reflect.Value, expected string, at *yaml.Node) {
	n = deref(n)
	v = reflect.New(k.typ).Elem()
	switch {
	case k.typ == fallbackType:
		return fallback(n, k)
	case k.typ == modelType:
		return model(n, k)
	case k.typ.Kind() == reflect.Slice:
		return list(n, k)
	case k.typ.Kind() == reflect.Struct:
		return item(n, k)
	case k.typ.Kind() == reflect.String:
		if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!str" {
			return v, "a string (in quotes)", n
		}
		if expected := k.text(n.Value); expected != "" {
			return v, expected, n
		}
		v.SetString(n.Value)
	case k.typ.Kind() == reflect.Bool:
		var b bool
		if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!bool" || n.Decode(&b) != nil {
			return v, "true or false", n
		}
		v.SetBool(b)
	case k.typ.Kind() == reflect.Float64:
		var f float64
		if n.Kind != yaml.ScalarNode || (n.ShortTag() != "!!int" && n.ShortTag() != "!!float") || n.Decode(&f) != nil || !(f >= 0 && f <= anyLarge) {
			return v, "a number, 0 or more", n
		}
		v.SetFloat(f)
	default:
		return number(n, k)
	}
	return v, "", nil
}

// number reads an integer, or a duration written as one.
func number(n *yaml.Node, k kind) (reflect.Value, string, *yaml.Node) {
	v := reflect.New(k.typ).Elem()
	low, high := bounds(k.is)
	var i int64
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!int" || n.Decode(&i) != nil || i < low || i > high {
		return v, numberExpected(low, high, k), n
	}
	if k.typ == durationType {
		i *= int64(unitOf(k.unit))
	}
	v.SetInt(i)
	return v, "", nil
}

func numberExpected(low, high int64, k kind) string {
	unit := map[string]string{"s": " of seconds", "m": " of minutes"}[k.unit]
	if low == high {
		return strconv.FormatInt(low, 10)
	}
	return fmt.Sprintf("a whole number%s from %d to %d", unit, low, high)
}

// bounds reads "30..86400" or "0..".
func bounds(is string) (low, high int64) {
	from, to, _ := strings.Cut(is, "..")
	low, _ = strconv.ParseInt(from, 10, 64)
	high, err := strconv.ParseInt(to, 10, 64)
	if err != nil {
		high = anyLarge
	}
	return low, high
}

func unitOf(unit string) time.Duration {
	if unit == "m" {
		return time.Minute
	}
	return time.Second
}

func list(n *yaml.Node, k kind) (reflect.Value, string, *yaml.Node) {
	v := reflect.MakeSlice(k.typ, 0, len(n.Content))
	if n.Kind != yaml.SequenceNode && k.typ.Elem().Kind() == reflect.Struct {
		return v, "a list of maps with the keys " + strings.Join(fieldNames(k.typ.Elem()), ", "), n
	}
	if n.Kind != yaml.SequenceNode {
		return v, "a list of strings", n
	}
	for _, item := range n.Content {
		e, expected, at := value(item, k.of(k.typ.Elem()))
		if at != nil {
			return v, expected + " in the list", at
		}
		v = reflect.Append(v, e)
	}
	return v, "", nil
}

// item reads a map in a list: it has no other keys than its type, and all that are required.
func item(n *yaml.Node, k kind) (reflect.Value, string, *yaml.Node) {
	v := reflect.New(k.typ).Elem()
	all := "a map with the keys " + strings.Join(fieldNames(k.typ), ", ")
	if n.Kind != yaml.MappingNode {
		return v, all, n
	}
	given := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		f, ok := fieldOf(k.typ, n.Content[i].Value)
		if !ok {
			return v, all, n.Content[i]
		}
		x, expected, at := value(n.Content[i+1], kindOf(f))
		if at != nil {
			return v, f.Tag.Get("key") + ": " + expected, at
		}
		given[f.Name] = !(x.Kind() == reflect.Slice && x.Len() == 0)
		v.FieldByIndex(f.Index).Set(x)
	}
	for f := range k.typ.Fields() {
		if f.Tag.Get("required") != "" && !given[f.Name] {
			return v, "the key " + f.Tag.Get("key") + " of each map", n
		}
	}
	return v, "", nil
}

func fallback(n *yaml.Node, k kind) (reflect.Value, string, *yaml.Node) {
	var f Fallback
	names := k.of(reflect.TypeFor[[]string]())
	if n.Kind == yaml.SequenceNode {
		v, expected, at := list(n, names)
		f.All = v.Interface().([]string)
		return reflect.ValueOf(f), expected, at
	}
	if n.Kind != yaml.MappingNode {
		return reflect.ValueOf(f), "a list of agent programs, or a map of role to such a list", n
	}
	f.ByRole = map[string][]string{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		v, expected, at := list(deref(n.Content[i+1]), names)
		if at != nil {
			return reflect.ValueOf(f), expected, at
		}
		f.ByRole[n.Content[i].Value] = v.Interface().([]string)
	}
	return reflect.ValueOf(f), "", nil
}

// model reads the name of a model, or a ladder of them.
func model(n *yaml.Node, k kind) (reflect.Value, string, *yaml.Node) {
	if n.Kind != yaml.MappingNode {
		name, _, at := value(n, k.of(reflect.TypeFor[string]()))
		return reflect.ValueOf(Model{Name: name.String()}), "a string (in quotes), or a map with the keys ladder, after_rejections, from_bottom", at
	}
	v, expected, at := item(n, k)
	m := v.Interface().(Model)
	if at == nil && len(m.Ladder) < 2 {
		expected, at = "a ladder of two rungs or more", n
	}
	if at == nil {
		m.Name = m.Ladder[0]
	}
	return reflect.ValueOf(m), expected, at
}

// text checks a string; it returns a description of valid ones, or "" if the string is valid.
func (k kind) text(s string) string {
	switch {
	case k.is == "name" && strings.TrimSpace(s) == "":
		return "a name"
	case k.is == "branch" && !branchName(s):
		return "the name of a branch"
	case k.is == "url" && s != "" && !webURL(s):
		return "a URL that begins with https:// or http:// and has no user name"
	case k.is == "path" && !pathForm().MatchString(s):
		return "a path that begins with / or ~/, or one in the project"
	case k.is == "glob" && !globForm(s):
		return "a glob of paths in the project, such as auth/**"
	case k.is == "words":
		_, unknown := Resolve(s, map[string]string{"DATA": "", "RUN": "", "TREE": ""})
		if unknown != "" || strings.ContainsRune(s, 0) {
			return "a text in which $ begins $DATA, $RUN, $TREE, or $$ for a dollar"
		}
	case k.is == "rung" && !rungForm().MatchString(s):
		return "PROGRAM:MODEL (PROGRAM:default leaves the model to the program)"
	case k.is == "host" && !hostForm().MatchString(s):
		return "a host: api.example.com, *.example.com, or one with a port (127.0.0.1:11434)"
	case k.is == "variable" && !variableForm().MatchString(s):
		return "the name of a variable; a * at its end stands for any ending"
	case k.is == "regexp":
		if _, err := regexp.Compile(s); err != nil {
			return "a regular expression (RE2)"
		}
	case strings.Contains(k.is, "|"):
		return oneOf(s, strings.Split(k.is, "|"))
	}
	return ""
}

// Resolve puts the values of names in the place of $NAME and ${NAME}, and a dollar in that of $$. unknown is the first that is neither.
func Resolve(text string, names map[string]string) (out, unknown string) {
	out = dollarForm().ReplaceAllStringFunc(text, func(found string) string {
		value, known := names[strings.Trim(found, "${}")]
		switch {
		case found == "$$":
			return "$"
		case !known && unknown == "":
			unknown = found
		}
		return value
	})
	return out, unknown
}

// globForm reports whether a text can be the glob of a path in the project.
func globForm(s string) bool {
	_, err := path.Match(s, "")
	return s != "" && !strings.HasPrefix(s, "/") && err == nil
}

func oneOf(s string, options []string) string {
	for _, o := range options {
		if s == o {
			return ""
		}
	}
	if options[0] == "" {
		return "nothing or one of " + strings.Join(options[1:], ", ")
	}
	return "one of " + strings.Join(options, ", ")
}

// wanting describes what a service lacks, or "".
func (s Service) wanting(name string) string {
	switch {
	case !serviceForm().MatchString(name):
		return "a name of small letters, digits, - and _ that begins with a letter, at most 32"
	case len(s.Command) == 0 || s.Command[0] == "":
		return "a map with the key command: a list with the server and its arguments"
	}
	for variable := range s.Env {
		if strings.HasPrefix(variable, "LIZA_") || strings.HasSuffix(variable, "*") || !variableForm().MatchString(variable) {
			return "variables in env that have the form of one and do not begin with LIZA_"
		}
	}
	return ""
}

// wanting describes what a rule of evidence for the paths of a glob lacks, or "".
func (e Exhibit) wanting(paths string) string {
	switch {
	case !globForm(paths):
		return "a glob of paths in the project, such as web/**"
	case len(e.Command) == 0 || e.Command[0] == "":
		return "a map with the key command: a list with a program and its arguments"
	case len(e.Files) == 0:
		return "a map with the key files: a list of globs, such as shots/*.png"
	}
	return ""
}

var badInBranch = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//|/\.|\.lock(/|$)|^[-/.]|[/.]$|^@?$`)
})

func branchName(s string) bool { return !badInBranch().MatchString(s) }

func webURL(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Hostname() != "" && u.User == nil
}

// shown is a node as an error message quotes it. The address of a webhook is often
// a secret and is not quoted.
func (k kind) shown(n *yaml.Node) string {
	if k.is == "url" && n.Kind == yaml.ScalarNode {
		return "something else"
	}
	return shown(n)
}

func shown(n *yaml.Node) string {
	switch n = deref(n); {
	case n.Kind == yaml.MappingNode:
		return "a map"
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case n.ShortTag() == "!!null":
		return "nothing"
	case n.ShortTag() == "!!str":
		return strconv.Quote(prose.OneLine(n.Value, 60))
	}
	return prose.OneLine(n.Value, 60)
}

// deref returns the target of an alias (*name).
func deref(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}
