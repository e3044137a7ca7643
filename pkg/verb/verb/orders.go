package verb

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/transition"
	"liza/pkg/verb/board"
)

// maxNote is how many bytes a note may have. It goes into prompts, which have less room than
// that; what is longer belongs into a file of the repository.
const maxNote = 64 << 10

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
func (v *Service) TellSettings(ctx context.Context, what string) error {
	return v.Board.Update(ctx, "settings", func(s *blackboard.State, _ transition.Actor) error {
		s.Record(blackboard.Entry{Timestamp: blackboard.TimeOf(v.Board.Now()), Agent: blackboard.System, Action: blackboard.ActionSettingsChanged, Detail: what})
		return nil
	})
}

// SetSetting changes a key of the section config of state.yaml (specs/protocol.md#2.8). The value
// is written as in YAML, null takes the key away; the rules of the state refuse one that the
// key cannot have.
func (v *Service) SetSetting(ctx context.Context, key, text string) (Setting, error) {
	if !slices.Contains(blackboard.SettingKeys(), key) {
		return Setting{}, board.WrongUsage("liza config --all", "state.yaml has no setting %s", key)
	}
	if err := v.Board.AdminOnly("change settings"); err != nil {
		return Setting{}, err
	}
	var value any
	if err := yaml.Unmarshal([]byte(text), &value); err != nil || value == nil && text != "null" {
		value = text
	}
	done := Setting{Key: key, Value: value, File: ".liza/state.yaml"}
	err := v.Board.Update(ctx, "config", func(s *blackboard.State, a transition.Actor) error {
		if a.ID != blackboard.Human {
			return &transition.Refusal{Exit: transition.ExitRefused, Next: "liza tell planner TEXT", Message: a.ID + " may not change settings: they are people's"}
		}
		done.Before = s.Config[key]
		if s.Config == nil {
			s.Config = blackboard.Settings{}
		}
		if s.Config[key] = value; value == nil {
			delete(s.Config, key)
		}
		s.Record(blackboard.Entry{Timestamp: blackboard.TimeOf(v.Board.Now()), Agent: a.ID, Action: blackboard.ActionConfigChanged,
			Detail: strings.TrimSpace(key + ": " + setTo(value))})
		return nil
	})
	return done, err
}
