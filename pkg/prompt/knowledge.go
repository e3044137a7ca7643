package prompt

import (
	"cmp"
	"slices"
	"strings"

	"liza/pkg/blackboard"
)

// What is known: the summary and the facts, and what a summarizer has to shorten.

// summary is the rolling summary; consolidating facts needs none of it.
func (in *Input) summary() string {
	if in.State.Goal == nil || in.Shorten != nil && in.Shorten.Facts {
		return ""
	}
	return in.State.Goal.Summary
}

// FactsIn are the ids of the active facts that a prompt has: those that fitted.
func FactsIn(s *blackboard.State, prompt string) []string {
	var ids []string
	for _, f := range s.ActiveFacts() {
		if line := strings.TrimSpace(factLines([]*blackboard.Fact{f})); line != "" && strings.Contains(prompt, strings.TrimPrefix(line, "- ")) {
			ids = append(ids, f.ID)
		}
	}
	return ids
}

func (in *Input) facts() string { return factLines(in.active()) }

func factLines(list []*blackboard.Fact) string {
	var l lines
	for _, f := range list {
		l.add("- %s", oneLine(f.Content, 500))
	}
	return l.String()
}

// fitFacts leaves out the least recently used facts.
func (in *Input) fitFacts(text string, limit int, hint string) string {
	all := in.active()
	recent := slices.Clone(all)
	slices.SortStableFunc(recent, func(a, b *blackboard.Fact) int {
		x, _ := a.LastUsed.At()
		y, _ := b.LastUsed.At()
		return cmp.Or(y.Compare(x), cmp.Compare(b.Uses, a.Uses))
	})
	room := limit - len(marker(len(text), hint)) - 1
	kept := map[*blackboard.Fact]bool{}
	for _, f := range recent {
		n := len(factLines([]*blackboard.Fact{f})) + 1
		if n > room {
			break
		}
		room -= n
		kept[f] = true
	}
	rest := factLines(slices.DeleteFunc(all, func(f *blackboard.Fact) bool { return !kept[f] }))
	return strings.TrimPrefix(rest+"\n"+marker(len(text)-len(rest), hint), "\n")
}

func (in *Input) compress() string {
	if in.Shorten == nil {
		return ""
	}
	return in.Shorten.Text
}
