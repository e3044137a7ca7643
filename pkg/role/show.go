package role

import (
	"bytes"
	"fmt"
	"strings"

	"gopkg.in/yaml.v3"
)

// YAML is the effective role as a role file. With origins each key says in a comment where
// its value comes from.
func (r *Role) YAML(origins bool) string {
	root := &yaml.Node{Kind: yaml.MappingNode}
	add := func(key string, value *yaml.Node) {
		name := &yaml.Node{Kind: yaml.ScalarNode, Value: key}
		if origins {
			name.HeadComment = r.Origins[key].String()
		}
		root.Content = append(root.Content, name, value)
	}
	text := func(key, value string) {
		if value == "" {
			return
		}
		n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: value}
		if strings.Contains(value, "\n") {
			n.Style = yaml.LiteralStyle
		}
		add(key, n)
	}
	text("name", r.Name)
	text("description", r.Description)
	text("kind", string(r.Kind))
	if r.Types != nil {
		add("applicable_task_types", flow(r.Types))
	}
	text("llm_model", r.Model)
	text("cli", r.CLI)
	text("instructions", r.Instructions)
	if r.Template != DefaultTemplate {
		text("prompt_template", r.Template)
	}
	text("prompt_additions", strings.Join(r.Additions, "\n"))
	if r.chosen {
		var names []string
		for _, p := range r.Context {
			names = append(names, string(p))
		}
		add("context_requirements", flow(names))
	}
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if err := enc.Encode(root); err != nil {
		panic("role: " + err.Error()) // texts and lists always encode
	}
	return b.String()
}

func flow(list []string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle}
	for _, s := range list {
		n.Content = append(n.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s})
	}
	return n
}

// Diff is the unified difference between the built-in role of that name and the effective
// one; "" when they are equal. ok is false when there is no such built-in role.
func (l *Library) Diff(r *Role) (diff string, ok bool) {
	base, err := Builtin().Get(r.Name)
	if err != nil {
		return "", false
	}
	return Unified(FromBuiltin+":"+r.Name, r.File, base.YAML(false), r.YAML(false)), true
}

const around = 3 // unchanged lines that a difference shows

// Unified compares two texts by lines, as diff -u shows it; "" when they are the same.
func Unified(nameA, nameB, a, b string) string {
	steps := edits(strings.Split(strings.TrimSuffix(a, "\n"), "\n"), strings.Split(strings.TrimSuffix(b, "\n"), "\n"))
	var out strings.Builder
	for at := 0; at < len(steps); {
		if steps[at].mark == ' ' {
			at++
			continue
		}
		from, to := max(0, at-around), at
		for i := at; i < len(steps) && i-to <= 2*around; i++ {
			if steps[i].mark != ' ' {
				to = i
			}
		}
		end := min(len(steps), to+1+around)
		if out.Len() == 0 {
			fmt.Fprintf(&out, "--- %s\n+++ %s\n", nameA, nameB)
		}
		hunk(&out, steps[from:end])
		at = end
	}
	return out.String()
}

// edit is one line of a comparison; a and b are its numbers in the two texts.
type edit struct {
	mark byte
	line string
	a, b int
}

func hunk(out *strings.Builder, steps []edit) {
	old, new := 0, 0
	for _, s := range steps {
		if s.mark != '+' {
			old++
		}
		if s.mark != '-' {
			new++
		}
	}
	fmt.Fprintf(out, "@@ -%d,%d +%d,%d @@\n", steps[0].a, old, steps[0].b, new)
	for _, s := range steps {
		fmt.Fprintf(out, "%c%s\n", s.mark, s.line)
	}
}

// edits turns x into y by the longest common subsequence; role files are short.
func edits(x, y []string) []edit {
	common := make([][]int, len(x)+1)
	for i := range common {
		common[i] = make([]int, len(y)+1)
	}
	for i := len(x) - 1; i >= 0; i-- {
		for j := len(y) - 1; j >= 0; j-- {
			common[i][j] = max(common[i+1][j], common[i][j+1])
			if x[i] == y[j] {
				common[i][j] = common[i+1][j+1] + 1
			}
		}
	}
	var list []edit
	for i, j := 0, 0; i < len(x) || j < len(y); {
		switch {
		case i < len(x) && j < len(y) && x[i] == y[j]:
			list = append(list, edit{' ', x[i], i + 1, j + 1})
			i, j = i+1, j+1
		case i < len(x) && (j == len(y) || common[i+1][j] >= common[i][j+1]):
			list = append(list, edit{'-', x[i], i + 1, j + 1})
			i++
		default:
			list = append(list, edit{'+', y[j], i + 1, j + 1})
			j++
		}
	}
	return list
}
