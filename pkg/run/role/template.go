package role

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/template"
	"text/template/parse"
	"unicode/utf8"

	"liza/pkg/board/blackboard"
)

const (
	maxTemplate = 64 << 10 // bytes of a template
	maxTrial    = 12000    // bytes of a trial rendering
	maxRender   = 1 << 20  // bytes of any rendering: data may be larger than samples
	maxText     = 64 << 10 // bytes that one function of a template may return
	maxRounds   = 20000    // rounds of all loops of one rendering
)

// compiled is a template that is ready for use. Rendering is deterministic: a template that
// goes round in circles is stopped by a count, not by a clock.
type compiled struct {
	text string
	t    *template.Template
}

// errEndless stops a template whose loops do not end in time.
var errEndless = fmt.Errorf("its loops go round more than %d times", maxRounds)

func compile(name, text string) (*compiled, error) {
	if len(text) > maxTemplate {
		return nil, fmt.Errorf("it has %d bytes; %d are allowed", len(text), maxTemplate)
	}
	t, err := template.New(name).Option("missingkey=error").Funcs(functions(nil)).Parse(text)
	if err != nil {
		return nil, errors.New(strings.TrimPrefix(err.Error(), "template: "))
	}
	for _, part := range t.Templates() {
		if part.Tree != nil && part.Root != nil {
			countRounds(part.Root, part.Name() != t.Name())
		}
	}
	return &compiled{text: text, t: t}, nil
}

// render executes the template; the data has no other keys than the kind's fields.
func (c *compiled) render(data map[string]any, most int) (string, error) {
	rounds := 0
	t, err := c.t.Clone()
	if err != nil {
		return "", err
	}
	out := bounded{most: most}
	if err := t.Funcs(functions(&rounds)).Execute(&out, data); err != nil {
		var failed template.ExecError
		if errors.Is(err, errEndless) {
			err = errEndless
		} else if errors.As(err, &failed) {
			err = failed.Err
		}
		return "", errors.New(strings.TrimPrefix(err.Error(), "template: "))
	}
	text := out.String()
	switch {
	case !utf8.ValidString(text):
		return "", errors.New("the text is not valid UTF-8")
	case strings.Contains(text, "<no value>"):
		return "", errors.New("the text has <no value>: something that does not exist is printed")
	}
	return text, nil
}

// bounded is a text that does not grow beyond its limit.
type bounded struct {
	strings.Builder
	most int
}

func (b *bounded) Write(p []byte) (int, error) {
	if b.Len()+len(p) > b.most {
		return 0, fmt.Errorf("the text has more than %d bytes", b.most)
	}
	return b.Builder.Write(p)
}

// functions are those of 2.3, and the built-in printing ones with a bound.
func functions(rounds *int) template.FuncMap {
	short := func(text string) (string, error) {
		if len(text) > maxText {
			return "", fmt.Errorf("a function makes more than %d bytes", maxText)
		}
		return text, nil
	}
	return template.FuncMap{
		"join": func(list []string, sep string) (string, error) { return short(strings.Join(list, sep)) },
		"indent": func(n int, text string) (string, error) {
			if n < 0 || n > 100 {
				return "", fmt.Errorf("indent takes 0 to 100 blanks, not %d", n)
			}
			blanks := strings.Repeat(" ", n)
			return short(blanks + strings.ReplaceAll(text, "\n", "\n"+blanks))
		},
		"trunc":   trunc,
		"lower":   strings.ToLower,
		"upper":   strings.ToUpper,
		"default": func(other, value any) any { return orElse(value, other) },
		"json": func(v any) (string, error) {
			data, err := json.Marshal(v)
			if err != nil {
				return "", err
			}
			return short(string(data))
		},
		"print":   func(args ...any) (string, error) { return short(fmt.Sprint(args...)) },
		"println": func(args ...any) (string, error) { return short(fmt.Sprintln(args...)) },
		"printf":  func(format string, args ...any) (string, error) { return short(fmt.Sprintf(format, args...)) },
		tick: func() (string, error) {
			if rounds != nil {
				if *rounds++; *rounds > maxRounds {
					return "", errEndless
				}
			}
			return "", nil
		},
	}
}

func trunc(n int, text string) (string, error) {
	if n < 0 {
		return "", fmt.Errorf("trunc takes a number of bytes, not %d", n)
	}
	if len(text) <= n {
		return text, nil
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n], nil
}

func orElse(value, other any) any {
	if truth, ok := template.IsTrue(value); ok && truth {
		return value
	}
	return other
}

// tick is called at the start of each round of a loop and of each named part.
const tick = "_round"

func tickNode() parse.Node {
	trees, err := parse.Parse("tick", "{{"+tick+"}}", "", "", map[string]any{tick: func() string { return "" }})
	if err != nil {
		panic("role: " + err.Error())
	}
	return trees["tick"].Root.Nodes[0]
}

// countRounds puts a tick into every loop of a template, and at the start of named parts,
// which may call themselves.
func countRounds(list *parse.ListNode, part bool) {
	if list == nil {
		return
	}
	for _, n := range list.Nodes {
		switch n := n.(type) {
		case *parse.RangeNode:
			countRounds(n.List, true)
			countRounds(n.ElseList, false)
		case *parse.IfNode:
			countRounds(n.List, false)
			countRounds(n.ElseList, false)
		case *parse.WithNode:
			countRounds(n.List, false)
			countRounds(n.ElseList, false)
		}
	}
	if part {
		list.Nodes = slices.Insert(list.Nodes, 0, tickNode())
	}
}

// use is a field of the data that a template names.
type use struct {
	name string
	line int
}

// uses lists the fields that a template takes from its data: those of the dot where the dot is the data, and those of $. The
// fields that named parts take from their dot appear only in a trial rendering.
func (c *compiled) uses() []use {
	w := walker{text: c.text}
	if c.t != nil && c.t.Tree != nil {
		w.list(c.t.Root, true)
	}
	return w.found
}

type walker struct {
	text  string
	found []use
}

func (w *walker) note(name string, at parse.Pos) {
	if !slices.ContainsFunc(w.found, func(u use) bool { return u.name == name }) {
		w.found = append(w.found, use{name, 1 + strings.Count(w.text[:min(int(at), len(w.text))], "\n")})
	}
}

// list walks nodes; data reports whether the dot is the template's data.
func (w *walker) list(l *parse.ListNode, data bool) {
	if l == nil {
		return
	}
	for _, n := range l.Nodes {
		switch n := n.(type) {
		case *parse.ActionNode:
			w.pipe(n.Pipe, data)
		case *parse.TemplateNode:
			w.pipe(n.Pipe, data)
		case *parse.IfNode:
			w.branch(&n.BranchNode, data, data)
		case *parse.RangeNode:
			w.branch(&n.BranchNode, data, false)
		case *parse.WithNode:
			w.branch(&n.BranchNode, data, false)
		}
	}
}

func (w *walker) branch(b *parse.BranchNode, data, inside bool) {
	w.pipe(b.Pipe, data)
	w.list(b.List, inside)
	w.list(b.ElseList, data)
}

func (w *walker) pipe(p *parse.PipeNode, data bool) {
	if p == nil {
		return
	}
	for _, c := range p.Cmds {
		for _, arg := range c.Args {
			w.arg(arg, data)
		}
	}
}

func (w *walker) arg(n parse.Node, data bool) {
	switch n := n.(type) {
	case *parse.FieldNode:
		if data {
			w.note(n.Ident[0], n.Pos)
		}
	case *parse.VariableNode:
		if n.Ident[0] == "$" && len(n.Ident) > 1 {
			w.note(n.Ident[1], n.Pos)
		}
	case *parse.ChainNode:
		w.arg(n.Node, data)
	case *parse.PipeNode:
		w.pipe(n, data)
	}
}

// denied says why the kind of agent cannot have the field, "" when it can.
func (u use) denied(k Kind) string {
	f, known := fieldNamed(u.name)
	switch {
	case !known:
		text := fmt.Sprintf("uses .%s, which does not exist", u.name)
		if near := blackboard.Nearest(u.name, fieldNames(k)); near != "" {
			text += "; did you mean ." + near + "?"
		}
		return text
	case !f.For(k):
		return fmt.Sprintf("uses .%s, which a %s never gets (the piece %s)", u.name, k, f.Piece)
	}
	return ""
}
