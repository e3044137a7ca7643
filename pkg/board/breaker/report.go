package breaker

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"liza/pkg/board/blackboard"
)

const maxQuote = 300 // characters of one quoted detail

// Report returns the text of circuit_breaker_report.md (specs/protocol.md#11.5): the patterns, the anomalies that show them,
// and the options of a person.
func Report(s *blackboard.State, v Verdict, now time.Time) string {
	var b strings.Builder
	p := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	worst := "no pattern"
	if len(v.Matches) > 0 {
		worst = v.Matches[0].Pattern.Severity
	}
	p("# Circuit breaker, %s: %s\n", blackboard.TimeOf(now), worst)
	p("%d anomalies of this sprint were looked at. Nothing new starts until somebody has looked; running agents finish their run.\n", v.Looked)
	p("| pattern | severity | anomalies | tasks |\n|---|---|---|---|")
	for _, m := range v.Matches {
		p("| %s | %s | %d | %s |", m.Pattern.Name, m.Pattern.Severity, m.Count(), orNone(strings.Join(m.Tasks(), ", ")))
	}
	for _, m := range v.Matches {
		p("\n## %s (%s)\n\n%s", m.Pattern.Name, m.Pattern.Severity, m.Pattern.Rule)
		for _, g := range m.Groups {
			evidence(p, g)
		}
		specs, files := affected(s, m)
		p("\nSpecs: %s  \nFiles: %s", orNone(strings.Join(specs, ", ")), orNone(strings.Join(files, ", ")))
	}
	p("\n%s", options)
	return b.String()
}

func evidence(p func(string, ...any), g Group) {
	p("\n| anomaly | time | reporter | task | detail |\n|---|---|---|---|---|")
	for _, a := range g.Anomalies {
		p("| %s | %s | %s | %s | %s |", orNone(cell(a.ID)), orNone(cell(string(a.Timestamp))), orNone(cell(a.Reporter)), orNone(cell(a.Task)), details(a))
	}
}

// details quotes the details of an anomaly, the required ones of its type first.
func details(a *blackboard.Anomaly) string {
	kind, _ := blackboard.AnomalyTypeOf(a.Type)
	keys := slices.Clone(kind.Details)
	for _, key := range slices.Sorted(maps.Keys(a.Details)) {
		if !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	parts := []string{string(a.Type)}
	for _, key := range keys {
		if text := detail(a, key); text != "" {
			parts = append(parts, fmt.Sprintf("%s “%s”", cell(key), cell(text)))
		}
	}
	return strings.Join(parts, ", ")
}

// cell makes a text of an agent one cell of a table: one line, cut, without markup of Markdown or HTML.
func cell(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > maxQuote {
		text = string(runes[:maxQuote]) + "…"
	}
	return inert.Replace(text)
}

var inert = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "|", `\|`, "`", "'", `\`, `\\`, "[", `\[`, "]", `\]`, "*", `\*`)

// affected are the specs and files that the anomalies and their tasks name.
func affected(s *blackboard.State, m Match) (specs, files []string) {
	add := func(list *[]string, names ...string) {
		for _, name := range names {
			if name = cell(name); name != "" && !slices.Contains(*list, name) {
				*list = append(*list, name)
			}
		}
	}
	for _, g := range m.Groups {
		for _, a := range g.Anomalies {
			add(&specs, detail(a, "spec_ref"))
			add(&files, detail(a, "file"), detail(a, "files"))
		}
	}
	ids := m.Tasks()
	for t := range s.Tasks() {
		if slices.Contains(ids, t.ID) {
			add(&specs, t.SpecRef)
			add(&files, t.Files...)
		}
	}
	return specs, files
}

func orNone(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

const options = "## What you can do\n\n" +
	"| option | when | commands |\n|---|---|---|\n" +
	"| adjust the spec | it contradicts itself, has a gap, or asks for what cannot be | edit it; `liza resume --decision ADJUST_SPECS --note T` |\n" +
	"| change the plan | the tasks are cut wrongly, or go about it in the wrong way | `liza resume --decision REPLAN --note T` |\n" +
	"| accept | it is known, or mended already | `liza resume --note T` |\n" +
	"| stop | the goal is not worth it | `liza resume --decision STOP --note T` |\n\n" +
	"## Before you go on\n\n" +
	"- [ ] The evidence is read: `liza show TASK`, `liza log --task TASK`\n" +
	"- [ ] The cause is known, not only the symptom\n" +
	"- [ ] Spec, plan or tool are mended, or it is written down why not\n" +
	"- [ ] The tasks above are still right: `liza status`\n" +
	"- [ ] The decision is in `liza resume --note T`\n"
