package role

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Where a role comes from.
const (
	FromBuiltin  = "built-in"
	FromProject  = "project"
	FromReplaced = "project (replaces built-in)"
	FromExtended = "project (extends built-in)"
)

// Default as a model means: what the settings say, else the program's own.
const Default = "default"

// Role is an effective role: what it inherits is in it.
type Role struct {
	Name         string
	Description  string
	Instructions string
	Model        string // llm_model: a model, ADAPTER:MODEL, or Default
	Kind         Kind
	Base         string
	Types        []string // applicable_task_types
	Template     string   // prompt_template
	Additions    []string // prompt_additions, those of the base first
	Context      []Piece  // context_requirements; see Wants
	CLI          string

	Source  string            // FromBuiltin …
	File    string            // of the project, as people name it; "" for a built-in role
	Hash    string            // first 12 hex digits of SHA-256 over the effective role
	Origins map[string]Origin // where the value of each key comes from

	chosen    bool // context_requirements were given
	templates []*compiled
}

// Origin is the file and line of a value; the zero Origin is a default.
type Origin struct {
	File string
	Line int
}

func (o Origin) String() string {
	switch {
	case o.File == "":
		return "default"
	case o.Line == 0:
		return o.File
	}
	return fmt.Sprintf("%s:%d", o.File, o.Line)
}

// DefaultTemplate is the prompt_template of a role that has none.
const DefaultTemplate = "{{.Instructions}}"

// Wants reports whether a run of this role gathers an optional piece.
func (r *Role) Wants(p Piece) bool { return !r.chosen || slices.Contains(r.Context, p) }

// Uses reports whether the template or an addition names the field.
func (r *Role) Uses(field string) bool {
	for _, c := range r.templates {
		if slices.ContainsFunc(c.uses(), func(u use) bool { return u.name == field }) {
			return true
		}
	}
	return false
}

// Prints reports whether the template or an addition names a field of the piece.
func (r *Role) Prints(p Piece) bool {
	return p != "" && slices.ContainsFunc(Fields, func(f Field) bool { return f.Piece == p && r.Uses(f.Name) })
}

// Stable reports whether the role's text is the same for every task.
func (r *Role) Stable() bool {
	return !slices.ContainsFunc(Fields, func(f Field) bool {
		return f.Piece != "" && f.Piece != "custom_instructions" && f.Piece != "skills" && r.Uses(f.Name)
	})
}

// Render is the role's text for a run. data has the fields of the kind (Fields); those of
// the role itself need not be in it.
func (r *Role) Render(data map[string]any) (string, error) {
	return r.render(data, maxRender)
}

func (r *Role) render(data map[string]any, most int) (string, error) {
	all := map[string]any{"Instructions": strings.TrimSpace(r.Instructions), "RoleName": r.Name, "Kind": string(r.Kind)}
	for k, v := range data {
		if _, own := all[k]; !own {
			all[k] = v
		}
	}
	var parts []string
	for i, c := range r.templates {
		text, err := c.render(all, most)
		if err != nil {
			key := "prompt_template"
			if i > 0 {
				key = "prompt_additions"
			}
			return "", &UnusableError{Name: r.Name, File: r.File, Why: fmt.Sprintf("%s: %v", key, err)}
		}
		if text = strings.TrimSpace(text); text != "" {
			parts = append(parts, text)
		}
		most -= len(text)
	}
	return strings.Join(parts, "\n\n"), nil
}

// canonical is what the hash is made of.
type canonical struct {
	Name         string   `json:"name"`
	Description  string   `json:"description"`
	Instructions string   `json:"instructions"`
	Model        string   `json:"llm_model"`
	Kind         Kind     `json:"kind"`
	Types        []string `json:"applicable_task_types"`
	Template     string   `json:"prompt_template"`
	Additions    []string `json:"prompt_additions"`
	Context      []Piece  `json:"context_requirements"` // null: all that the matrix allows
	CLI          string   `json:"cli"`
}

func (r *Role) hash() string {
	c := canonical{r.Name, r.Description, r.Instructions, r.Model, r.Kind, r.Types, r.Template, r.Additions, nil, r.CLI}
	if r.chosen {
		c.Context = append([]Piece{}, r.Context...)
	}
	data, err := json.Marshal(c)
	if err != nil {
		panic("role: " + err.Error()) // strings and lists always encode
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:6])
}

// UnusableError says why a role cannot be used. Rule is the rule of 1.7 that named it, ""
// when it was asked for by name.
type UnusableError struct {
	Name, Rule, File, Why string
}

func (e *UnusableError) Error() string {
	text := fmt.Sprintf("cannot use the role '%s'", e.Name)
	if e.Rule != "" {
		text += fmt.Sprintf(" (%s)", e.Rule)
	}
	if e.File != "" {
		text += " of " + e.File
	}
	return text + ": " + e.Why
}

// trial renders the role on sample data: every field filled, and every one that can be
// empty empty (1.5).
func (r *Role) trial() (key, problem string) {
	for _, full := range []bool{true, false} {
		if _, err := r.render(samples(r.Kind, full), maxTrial); err != nil {
			with := "all data"
			if !full {
				with = "no data"
			}
			key, why, _ := strings.Cut(err.(*UnusableError).Why, ": ")
			return key, fmt.Sprintf("cannot be rendered with %s: %s", with, why)
		}
	}
	return "", ""
}
