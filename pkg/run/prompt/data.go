package prompt

import (
	"cmp"
	"slices"
	"strings"

	"liza/pkg/board/blackboard"
	"liza/pkg/run/role"
)

// data returns the data for the template of a role (specs/roles-and-knowledge.md#2.3): the fields of the kind, empty if the
// run has no data for them or the role does not want the piece. Text from outside has its fences here too.
func (in *Input) data() map[string]any {
	data := map[string]any{}
	for _, f := range role.Fields {
		if !f.For(in.Kind) {
			continue
		}
		data[f.Name] = f.Empty()
		if in.gets(f.Piece) {
			if v := in.field(f.Name); v != nil {
				data[f.Name] = v
			}
		}
	}
	return data
}

// field is the value of one field, nil when there is none.
func (in *Input) field(name string) any {
	switch name {
	case "Facts":
		var list []string
		for _, f := range in.active() {
			list = append(list, oneLine(f.Content, 500))
		}
		return list
	case "RelevantFiles":
		var list []string
		for _, f := range in.Relevant {
			list = append(list, f.Path)
		}
		return list
	case "SecretNames":
		return slices.Clone(in.State.Secrets)
	case "CallerRole":
		_, caller := conversationOf(in).callerOf()
		return caller
	case "SpecRef":
		return in.specPath()
	case "DiffStat":
		stat, _ := clean(in.DiffStat)
		return (&part{section: section{name: "diffstat", fenced: true}, now: stat}).body()
	case "AgentID":
		return in.Agent
	case "Worktree":
		return in.Worktree
	case "Iteration":
		return in.iteration()
	}
	if i := slices.IndexFunc(sections, func(s section) bool { return s.field == name }); i >= 0 {
		p := in.part(sections[i])
		return p.body()
	}
	if in.Task != nil {
		return taskField(in.Task, name)
	}
	return nil
}

func taskField(t *blackboard.Task, name string) any {
	text := func(s string) string {
		s, _ = clean(s)
		return s
	}
	switch name {
	case "ID":
		return t.ID
	case "Title":
		return text(t.TitleText())
	case "Description":
		return text(strings.TrimSpace(t.Description))
	case "Type":
		return cmp.Or(t.Type, "task")
	case "Scope":
		return text(t.Scope)
	case "Priority":
		if t.Priority != nil {
			return *t.Priority
		}
	case "DoneWhen":
		return text(t.DoneWhen)
	case "AcceptanceCriteria":
		return texts(t.AcceptanceCriteria)
	case "DependsOn":
		return texts(t.DependsOn)
	case "BaseCommit":
		return t.BaseCommit
	case "ReviewCommit":
		return t.ReviewCommit
	case "Fixes":
		return fixes(t)
	}
	return nil
}

func texts(list blackboard.List) []string {
	var out []string
	for _, s := range list {
		s, _ = clean(s)
		out = append(out, s)
	}
	return out
}

func fixes(t *blackboard.Task) []role.Fix {
	var list []role.Fix
	if t.RejectionReason == nil {
		return nil
	}
	for _, f := range t.Fixes {
		if f != nil {
			list = append(list, role.Fix{N: f.N, Kind: string(f.Kind), Detail: f.Detail, Expect: f.Expect, Done: f.Done, Output: oneLine(f.Output, 500)})
		}
	}
	return list
}

// files returns the files that the prompt names (specs/roles-and-knowledge.md#7.1).
func (in *Input) files() []string {
	var list []string
	add := func(path string) {
		if path != "" && !slices.Contains(list, path) {
			list = append(list, path)
		}
	}
	if in.gets("relevant_files") {
		for _, f := range in.Relevant {
			add(f.Path)
		}
	}
	if ref := in.specPath(); ref != "" && in.gets("spec") {
		add(file(ref))
	}
	if in.Task != nil && in.Task.LastOutcome != nil && in.gets("output") {
		for _, path := range in.Task.LastOutcome.EvidenceFiles {
			add(path)
		}
	}
	return list
}
