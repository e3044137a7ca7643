package transition

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"text/template"

	"liza/pkg/board/blackboard"
)

var update = flag.Bool("update", false, "write the generated documentation again")

const stateMachines = "../../../specs/state-machines.md"

// TestGeneratedStateMachines keeps the page about the state machines equal to the table.
func TestGeneratedStateMachines(t *testing.T) {
	t.Parallel()
	page := stateMachinesPage(t)
	if *update {
		if err := os.WriteFile(stateMachines, page, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	there, err := os.ReadFile(stateMachines)
	if err != nil {
		t.Fatalf("%v; run `make generate`", err)
	}
	if bytes.Equal(there, page) {
		return
	}
	is, should := strings.Split(string(there), "\n"), strings.Split(string(page), "\n")
	for i := range max(len(is), len(should)) {
		if i >= len(is) || i >= len(should) || is[i] != should[i] {
			t.Fatalf("specs/state-machines.md differs from the table from line %d on; run `make generate` and look at the difference", i+1)
		}
	}
}

func stateMachinesPage(t *testing.T) []byte {
	t.Helper()
	tmpl, err := template.ParseFiles("testdata/state-machines.tmpl")
	if err != nil {
		t.Fatal(err)
	}
	var page bytes.Buffer
	err = tmpl.Execute(&page, map[string]string{
		"Diagram": taskDiagram(), "Loops": loops(), "Table": taskTable(), "Rules": ruleSections(), "Guards": guardTable(), "Breaker": breakerTable(),
	})
	if err != nil {
		t.Fatal(err)
	}
	return page.Bytes()
}

// taskDiagram draws the ways between statuses, one arrow for each pair.
func taskDiagram() string {
	type way struct{ from, to string }
	var ways []way
	labels := map[way][]string{}
	add := func(from, to, label string) {
		w := way{from, to}
		if labels[w] == nil {
			ways = append(ways, w)
		}
		if !slices.Contains(labels[w], label) {
			labels[w] = append(labels[w], label)
		}
	}
	for _, r := range Rules {
		switch {
		case r.From == nil:
			add("[*]", string(r.To), r.ID+" "+string(r.Event))
		case r.To != "":
			for _, from := range r.From {
				if from != r.To {
					add(string(from), string(r.To), r.ID+" "+string(r.Event))
				}
			}
		}
	}
	for _, s := range blackboard.Statuses {
		if s.Terminal() {
			add(string(s), "[*]", "")
		}
	}
	var b strings.Builder
	b.WriteString("stateDiagram-v2\n")
	for _, w := range ways {
		fmt.Fprintf(&b, "    %s --> %s", w.from, w.to)
		if label := strings.Join(labels[w], ", "); label != "" {
			fmt.Fprintf(&b, " : %s", label)
		}
		b.WriteString("\n")
	}
	return b.String()
}

// loops names the events that always leave the status as it is.
func loops() string {
	var names []string
	for _, event := range allEvents() {
		stays := true
		for _, r := range Rules {
			stays = stays && (r.Event != event || r.From != nil && (r.To == "" || len(r.From) == 1 && r.From[0] == r.To))
		}
		if stays {
			names = append(names, string(event))
		}
	}
	return strings.Join(names, ", ")
}

func taskTable() string {
	var b strings.Builder
	b.WriteString("| # | event | from | to | who | guards | history | journal |\n|---|---|---|---|---|---|---|---|\n")
	for _, r := range Rules {
		event := string(r.Event)
		if r.When != nil {
			event += ": " + r.When.Text
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s | %s |\n", r.ID, event, fromText(r), toText(r), strings.Join(kinds(r.Who), ", "),
			orDash(guardNumbers(r)), orDash(strings.Join(plainWords(r.History), ", ")), orDash(strings.Join(plainWords(r.Log), ", ")))
	}
	return b.String()
}

func fromText(r Rule) string {
	if r.From == nil {
		return "–"
	}
	var names []string
	open := 0
	for _, s := range blackboard.Statuses {
		if !s.Terminal() {
			open++
		}
		if hasStatus(r.From, s) {
			names = append(names, string(s))
		}
	}
	if len(names) == open {
		return "any that is not terminal"
	}
	return strings.Join(names, ", ")
}

func toText(r Rule) string {
	if r.To == "" || len(r.From) == 1 && r.From[0] == r.To {
		return "the same"
	}
	return string(r.To)
}

func orDash(text string) string {
	if text == "" {
		return "–"
	}
	return text
}

// guardNumbers are the numbers of the guards; a condition without one is an asterisk.
func guardNumbers(r Rule) string {
	var ids []string
	for _, g := range r.guards() {
		ids = append(ids, orStar(g.ID))
	}
	return strings.Join(ids, " ")
}

func orStar(id string) string {
	if id == "" {
		return "\\*"
	}
	return id
}

// ruleSections tell each rule with its guards and effects in words.
func ruleSections() string {
	var b strings.Builder
	for i, r := range Rules {
		if i == 0 || Rules[i-1].ID != r.ID || Rules[i-1].Event != r.Event {
			fmt.Fprintf(&b, "#### %s %s\n\n", r.ID, r.Event)
		}
		fmt.Fprintf(&b, "%s → %s, by %s", fromText(r), toText(r), strings.Join(kinds(r.Who), ", "))
		if r.When != nil {
			fmt.Fprintf(&b, "; when %s", r.When.Text)
		}
		b.WriteString("\n\n")
		for _, g := range r.guards() {
			fmt.Fprintf(&b, "- needs%s: %s\n", numbered(g.ID), g.Text)
		}
		for _, e := range r.Does {
			fmt.Fprintf(&b, "- does: %s\n", e.Text)
		}
		if len(r.History) > 0 {
			fmt.Fprintf(&b, "- history: %s\n", code(plainWords(r.History)))
		}
		if len(r.Log) > 0 {
			fmt.Fprintf(&b, "- journal: %s\n", code(plainWords(r.Log)))
		}
		b.WriteString("\n")
	}
	return b.String()
}

func numbered(id string) string {
	if id == "" {
		return ""
	}
	return " **" + id + "**"
}

func code(names []string) string { return "`" + strings.Join(names, "`, `") + "`" }

// guardTable lists the guards in the order of their numbers, with the rules that use them.
func guardTable() string {
	type line struct {
		guard Guard
		rules []string
	}
	var lines []*line
	for _, g := range ruleGuards {
		lines = append(lines, &line{g, []string{"all"}})
	}
	for _, r := range Rules {
		for _, g := range r.guards() {
			i := slices.IndexFunc(lines, func(l *line) bool { return l.guard.ID == g.ID && l.guard.Text == g.Text })
			if i < 0 {
				lines, i = append(lines, &line{guard: g}), len(lines)
			}
			if !slices.Contains(lines[i].rules, r.ID) {
				lines[i].rules = append(lines[i].rules, r.ID)
			}
		}
	}
	slices.SortStableFunc(lines, func(a, b *line) int {
		switch {
		case a.guard.ID == b.guard.ID:
			return 0
		case a.guard.ID == "":
			return 1
		case b.guard.ID == "":
			return -1
		}
		return strings.Compare(a.guard.ID, b.guard.ID)
	})
	var b strings.Builder
	b.WriteString("| guard | what has to hold | exit | rules |\n|---|---|---|---|\n")
	for _, l := range lines {
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", orStar(l.guard.ID), l.guard.Text, exitText(l.guard), strings.Join(l.rules, " "))
	}
	return b.String()
}

// exitText are the codes with which a guard refuses.
func exitText(g Guard) string {
	codes := exits[g.ID]
	switch {
	case g.ID == "G58":
		return "0"
	case g.Text == claimAllowed.Text:
		return "as theirs"
	case g.ID == "" && (g.Text == containedInIntegration.Text || g.Text == integrationReason.Text):
		codes = []Exit{ExitFailure}
	case codes == nil || g.ID == "":
		codes = []Exit{ExitRefused}
	}
	var texts []string
	for _, c := range codes {
		texts = append(texts, strconv.Itoa(int(c)))
	}
	return strings.Join(texts, ", ")
}

// kinds lists the kinds of actors in the set.
func kinds(p Party) []string {
	var names []string
	for _, x := range partyNames {
		if p&x.party != 0 {
			names = append(names, x.name)
		}
	}
	return names
}
