package tui

import (
	"liza/pkg/watch"
)

// alertContent is what is wrong: what the watcher raised, and what the board itself says.
func (m Model) alertContent(width int) content {
	_, err, ok := of[[]watch.Alert](m, want{kind: alerts})
	match := matcher(m.filters[alerts])
	type row struct {
		key  string
		line line
	}
	var rows []row
	add := func(key string, p paint, head, text, tail string) {
		if !match(head, text) {
			return
		}
		for i, l := range wrapped(flat(text), max(20, width-4)) {
			if i == 0 {
				rows = append(rows, row{key, line{{"! ", p}, {head, p}, {tail, faint}}})
			}
			rows = append(rows, row{"", line{gap(2), {l, normal}}})
		}
		rows = append(rows, row{})
	}
	for _, w := range m.view.Wrong {
		add("wrong "+w+"|", bad, "the board is invalid", w+"; next: liza validate", "")
	}
	for _, a := range m.openAlerts() {
		p := map[string]paint{watch.Error: bad, watch.Warning: warn}[a.Severity]
		since := elapsed(max(0, int(m.now.Sub(a.Since).Seconds())))
		add(string(a.Kind)+"|"+a.Subject, p, spaced(string(a.Kind))+" "+clean(a.Subject), a.Message, " for "+since)
	}
	for _, w := range m.view.Warnings {
		add("warning "+w+"|", warn, "warning", w, "")
	}
	if err != nil {
		rows = append(rows, row{"", say(bad, clean(m.o.Explain(err).Message))})
	}
	empty := "nothing is wrong"
	if !ok {
		empty = "reading …"
	}
	return content{n: len(rows), empty: empty,
		key: func(i int) string { return rows[i].key },
		row: func(i, _ int) line { return rows[i].line }}
}
