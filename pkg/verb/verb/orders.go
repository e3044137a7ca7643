package verb

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/transition"
	"liza/pkg/code/project"
)

// Control says why nothing new may start: "paused since T: reason", "" when open. ABORT
// wins over the others (specs/decisions.md#D15).
func (d *Service) Control() string {
	var s *blackboard.State
	if d.Shared() {
		s, _ = d.View(context.Background()) // without it the control files of this host count
	}
	return d.ControlOn(s)
}

// ControlOn is Control for who has just looked at the board.
func (d *Service) ControlOn(s *blackboard.State) string {
	if orders := d.Orders(s); len(orders) > 0 {
		return orders[0].String()
	}
	return ""
}

// Orders are what stops work here, the one that wins first: control files, and on a board that several hosts share its own
// orders, which hold on all of them. There control files stop their host, and the sprint does not follow them.
func (d *Service) Orders(s *blackboard.State) []project.Order {
	files := d.Project.Orders()
	if !d.Shared() || s == nil {
		return files
	}
	var all []project.Order
	for _, o := range transition.Orders(s) {
		since, _ := o.Since.At()
		all = append(all, project.Order{Control: project.Control(o.Name), Since: since, Modified: since, Reason: o.Reason})
	}
	for _, f := range files {
		if !slices.ContainsFunc(all, func(o project.Order) bool { return o.Control == f.Control }) {
			all = append(all, f)
		}
	}
	slices.SortStableFunc(all, func(x, y project.Order) int { return cmp.Compare(x.Control.Rank(), y.Control.Rank()) })
	return all
}

// SetControl makes a control file, where the board is a file of this host.
func (d *Service) SetControl(c project.Control, reason string) error {
	if d.Shared() {
		return nil
	}
	return d.Project.Set(c, reason, d.Now())
}

// maxNote is how many bytes a note may have. It goes into prompts, which have less room than
// that; what is longer belongs into a file of the repository.
const maxNote = 64 << 10

// OnlyPerson refuses agents: a control verb is for people.
func (d *Service) OnlyPerson(s *blackboard.State, a transition.Actor, what string) error {
	party, err := transition.Identify(s, a, d.Now())
	if err != nil {
		return err
	}
	if party&transition.ByHuman == 0 {
		return &transition.Refusal{Guard: "G03", Exit: transition.ExitRefused, Next: "liza status", Message: fmt.Sprintf("%s may not %s; human may", a.ID, what)}
	}
	return nil
}

// Rel is a path as people know it: relative to the project root.
func (d *Service) Rel(path string) string {
	if r, err := filepath.Rel(d.Project.Root, path); err == nil {
		return filepath.ToSlash(r)
	}
	return path
}

// Setting is the result of SetSetting.
type Setting struct {
	Key    string `json:"key"`
	Value  any    `json:"value"`
	Before any    `json:"before"` // null: it was not set
	File   string `json:"file"`
}

func setTo(value any) string {
	if value == nil {
		return "no longer set"
	}
	return fmt.Sprint(value)
}

// TellSettings writes down that settings changed while agent programs ran.
func (d *Service) TellSettings(ctx context.Context, what string) error {
	return d.Update(ctx, "settings", func(s *blackboard.State, _ transition.Actor) error {
		s.Record(blackboard.Entry{Timestamp: blackboard.TimeOf(d.Now()), Agent: blackboard.System, Action: blackboard.ActionSettingsChanged, Detail: what})
		return nil
	})
}

// SetSetting changes a key of the section config of state.yaml (specs/protocol.md#2.8). The value
// is written as in YAML, null takes the key away; the rules of the state refuse one that the
// key cannot have.
func (d *Service) SetSetting(ctx context.Context, key, text string) (Setting, error) {
	if !slices.Contains(blackboard.SettingKeys(), key) {
		return Setting{}, WrongUsage("liza config show", "state.yaml has no setting %s", key)
	}
	if err := d.AdminOnly("change settings"); err != nil {
		return Setting{}, err
	}
	var value any
	if err := yaml.Unmarshal([]byte(text), &value); err != nil || value == nil && text != "null" {
		value = text
	}
	done := Setting{Key: key, Value: value, File: ".liza/state.yaml"}
	err := d.Update(ctx, "config", func(s *blackboard.State, a transition.Actor) error {
		if a.ID != blackboard.Human {
			return &transition.Refusal{Exit: transition.ExitRefused, Next: "liza note TEXT", Message: a.ID + " may not change settings: they are people's"}
		}
		done.Before = s.Config[key]
		if s.Config == nil {
			s.Config = blackboard.Settings{}
		}
		if s.Config[key] = value; value == nil {
			delete(s.Config, key)
		}
		s.Record(blackboard.Entry{Timestamp: blackboard.TimeOf(d.Now()), Agent: a.ID, Action: blackboard.ActionConfigChanged,
			Detail: strings.TrimSpace(key + ": " + setTo(value))})
		return nil
	})
	return done, err
}
