package role

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"gopkg.in/yaml.v3"
)

const maxDepth = 5 // longest chain of bases of a role

// make builds the effective role of a definition, once. chain are the definitions that
// led here, for cycles.
func (b *builder) make(d *definition, chain []*definition) *made {
	if m := b.made[d]; m != nil {
		return m
	}
	if slices.Contains(chain, d) {
		return &made{why: "its bases are a circle: " + circle(chain, d)}
	}
	m := &made{}
	role := &Role{Kind: Coder, Origins: map[string]Origin{}}
	if d.values["base"] != nil {
		base, name := b.baseOf(d)
		if base == nil {
			d.note(Error, d.values["base"], "base", "the role '%s' does not exist; %s", name, oneOf(name, b.names(d.name)))
		} else {
			up := b.make(base, append(chain, d))
			switch m.depth = up.depth + 1; {
			case up.role == nil:
				d.note(Error, d.values["base"], "base", "'%s' cannot be used: %s", name, up.why)
			case m.depth > maxDepth:
				d.note(Error, d.values["base"], "base", "the chain of bases is longer than %d", maxDepth)
			default:
				role = up.role.clone()
			}
		}
	}
	if d.unreadable == "" && !d.noted("base") && !d.noted("kind") { // else nothing is known about what it may have
		b.fill(role, d)
	}
	if why := d.why(); why != "" {
		m.why = why
	} else {
		role.Hash = role.hash()
		m.role = role
	}
	b.made[d] = m
	return m
}

func circle(chain []*definition, d *definition) string {
	var names []string
	for _, c := range append(chain[slices.Index(chain, d):], d) {
		names = append(names, c.name)
	}
	return strings.Join(names, " → ")
}

func (b *builder) names(but string) []string {
	names := slices.Clone(builtinNames)
	for _, d := range b.project {
		if d.name != but && !slices.Contains(names, d.name) {
			names = append(names, d.name)
		}
	}
	return names
}

func (d *definition) failed() bool {
	return slices.ContainsFunc(d.findings, func(f Diagnostic) bool { return f.Level == Error })
}

// noted reports whether something is wrong with a key already.
func (d *definition) noted(key string) bool {
	return slices.ContainsFunc(d.findings, func(f Diagnostic) bool { return f.Level == Error && f.Key == key })
}

// why is the first thing that makes the definition unusable.
func (d *definition) why() string {
	if d.unreadable != "" {
		return d.unreadable
	}
	for _, f := range d.findings {
		if f.Level == Error {
			return strings.TrimPrefix(f.Key+": ", ": ") + f.Reason
		}
	}
	return ""
}

func (r *Role) clone() *Role {
	c := *r
	c.Types, c.Additions, c.Context = slices.Clone(r.Types), slices.Clone(r.Additions), slices.Clone(r.Context)
	c.Origins = maps.Clone(r.Origins)
	c.templates = slices.Clone(r.templates)
	return &c
}

// fill overrides inherited values of the role by those of the definition, and checks the result.
func (b *builder) fill(r *Role, d *definition) {
	inherits := d.values["base"] != nil
	b.kind(r, d, inherits)
	for _, key := range keys {
		if d.values[key] != nil {
			r.Origins[key] = d.origin(key)
		}
	}
	r.Name, r.Base = d.name, Canonical(d.text("base"))
	for key, to := range map[string]*string{"description": &r.Description, "instructions": &r.Instructions, "llm_model": &r.Model, "cli": &r.CLI} {
		if n := d.values[key]; n != nil {
			*to = n.Value
		}
	}
	if n := d.values["applicable_task_types"]; n != nil {
		r.Types = strs(n)
	}
	b.template(r, d, inherits)
	b.context(r, d)
	for _, key := range []string{"description", "instructions", "llm_model"} {
		b.mandatory(r, d, key, inherits)
	}
	if d.failed() {
		return
	}
	if key, problem := r.trial(); problem != "" {
		d.note(Error, d.values[key], key, "%s", problem)
	}
	if !r.Stable() && (d.values["prompt_template"] != nil || d.values["prompt_additions"] != nil) {
		d.note(Info, nil, "", "the text has data of the task in it, so that the prompts of different tasks have no beginning in common that could be cached")
	}
}

// kind settles the kind of agent: as written, else the base's, else that of the alias or
// of the built-in role in whose name the role is.
func (b *builder) kind(r *Role, d *definition, inherits bool) {
	n := d.values["kind"]
	replaces := b.builtins[d.name]
	given, _ := KindOf(d.text("kind"))
	switch {
	case inherits && n != nil && given != r.Kind:
		d.note(Error, n, "kind", "is %s, but that of its base is %s", given, r.Kind)
	case inherits:
	case n != nil:
		r.Kind = given
	case d.builtin:
	default:
		if k, ok := aliasKind(d.text("name")); ok {
			r.Kind = k
		} else if replaces != nil {
			r.Kind = builtinKind(replaces)
		}
	}
	if replaces != nil && replaces != d && r.Kind != builtinKind(replaces) {
		d.note(Error, n, "kind", "is %s, but that of the built-in role %s, which it replaces, is %s", r.Kind, d.name, builtinKind(replaces))
	}
}

// builtinKind is the kind of a built-in definition; one that has none has a coder's base.
func builtinKind(d *definition) Kind {
	if k, ok := KindOf(d.text("kind")); ok {
		return k
	}
	return Coder
}

func aliasKind(name string) (Kind, bool) {
	for _, a := range aliases {
		if a.name == name {
			return a.kind, true
		}
	}
	return "", false
}

func (b *builder) mandatory(r *Role, d *definition, key string, inherits bool) {
	value := map[string]string{"description": r.Description, "instructions": r.Instructions, "llm_model": r.Model}[key]
	if strings.TrimSpace(value) != "" || d.noted(key) {
		return
	}
	if key != "description" && !inherits && d.values["prompt_template"] != nil && !r.Uses("Instructions") {
		if key == "llm_model" {
			r.Model = Default
		}
		return
	}
	d.note(Error, nil, key, "is missing")
}

// template compiles the template and the additions of the definition.
func (b *builder) template(r *Role, d *definition, inherits bool) {
	if n := d.values["prompt_template"]; n != nil || !inherits {
		r.Template = DefaultTemplate
		if n != nil {
			r.Template = n.Value
		}
		r.templates = append([]*compiled{b.compile(r, d, "prompt_template", r.Template)}, r.templates[min(1, len(r.templates)):]...)
	}
	if n := d.values["prompt_additions"]; n != nil {
		r.Additions = append(r.Additions, n.Value)
		r.templates = append(r.templates, b.compile(r, d, "prompt_additions", n.Value))
	}
}

var templateLine = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z_]+:(\d+)(?::\d+)?: `) })

func (b *builder) compile(r *Role, d *definition, key, text string) *compiled {
	n := d.values[key]
	c, err := compile(key, text)
	if err != nil {
		reason, line := err.Error(), 0
		if m := templateLine().FindStringSubmatch(reason); m != nil {
			line, _ = strconv.Atoi(m[1])
			reason = reason[len(m[0]):]
		}
		d.note(Error, inside(n, line), key, "is not a template: %s", reason)
		return &compiled{}
	}
	for _, u := range c.uses() {
		if problem := u.denied(r.Kind); problem != "" {
			d.note(Error, inside(n, u.line), key, "%s", problem)
		}
	}
	return c
}

// inside is the place of a line of a text in the file.
func inside(n *yaml.Node, line int) *yaml.Node {
	if n == nil || line == 0 || n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) == 0 {
		return n
	}
	return &yaml.Node{Line: n.Line + min(line, strings.Count(strings.TrimSuffix(n.Value, "\n"), "\n")+1)}
}

func (b *builder) context(r *Role, d *definition) {
	n := d.values["context_requirements"]
	if n == nil {
		return
	}
	r.chosen, r.Context = true, nil
	for _, item := range n.Content {
		item = deref(item)
		p := Piece(item.Value)
		r.Context = append(r.Context, p)
		if p.known() && p.For(r.Kind) == Never {
			d.note(Error, item, "context_requirements", "a %s never gets the piece %s", r.Kind, p)
		}
	}
}

// builtinNames are the built-in roles in the order of lists.
var builtinNames = []string{"planner", "implement", "fix", "refactor", "test", "review", "messenger", "summarizer"}

// builder makes effective roles of definitions.
type builder struct {
	library  *Library
	builtins map[string]*definition
	project  []*definition
	made     map[*definition]*made
}

type made struct {
	role  *Role
	why   string // why it is unusable
	depth int
}

// baseOf returns the definition that d inherits from, or nil. An extension of a built-in role by the project applies to the
// built-in roles that extend it; a role of the project with only the same name is another one, and does not.
func (b *builder) baseOf(d *definition) (base *definition, name string) {
	name = Canonical(d.text("base"))
	if d.builtin && !b.extends(b.defined(name)) {
		return b.builtins[name], name
	}
	if name != d.name {
		return b.defined(name), name
	}
	if d.overlay {
		for _, o := range b.project {
			if o.name == name && !o.overlay {
				return o, name
			}
		}
	}
	return b.builtins[name], name
}

// Library has every role of a project, the unusable ones included. It is immutable and may be used by several goroutines.
type Library struct {
	entries  []*Entry
	findings []Diagnostic
	raw      map[string][]byte // content of the files, by their names for people
}

// Entry is one name of a library.
type Entry struct {
	Name   string
	Source string
	File   string         // "" for a built-in role
	Role   *Role          // nil if it is unusable
	Broken *UnusableError // nil if it is usable
}

// defined is the definition that a name stands for: that of the project, with a Markdown
// file over another one, else the built-in one; nil when there is none.
func (b *builder) defined(name string) *definition {
	var plain, overlays []*definition
	for _, d := range b.project {
		switch {
		case d.name == name && d.overlay:
			overlays = append(overlays, d)
		case d.name == name:
			plain = append(plain, d)
		}
	}
	for _, twice := range [][]*definition{plain, overlays} {
		if len(twice) > 1 {
			for _, d := range twice {
				if d.twice == "" {
					d.twice = "another file has this name too: " + others(twice, d)
					d.note(Error, nil, "name", "%s", d.twice)
				}
			}
		}
	}
	switch {
	case len(overlays) > 0:
		return overlays[0]
	case len(plain) > 0:
		return plain[0]
	}
	return b.builtins[name]
}

// extends reports whether a definition of a built-in role's name goes on from that role.
func (b *builder) extends(d *definition) bool {
	for n := 0; d != nil && !d.builtin && n <= maxDepth; n++ {
		if d.text("base") == "" || Canonical(d.text("base")) != d.name {
			return false
		}
		d, _ = b.baseOf(d)
	}
	return d != nil && d.builtin
}

func others(list []*definition, d *definition) string {
	var names []string
	for _, o := range list {
		if o != d {
			names = append(names, Origin{o.file, o.line}.String())
		}
	}
	return strings.Join(names, ", ")
}
