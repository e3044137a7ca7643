package tui

import (
	"fmt"
	"slices"
	"strings"

	"liza/pkg/dashboard"
)

// logEntries is how much of the journal is shown.
const logEntries = 500

// logContent is the journal, the newest first.
func (m Model) logContent() content {
	list, err, ok := of[[]dashboard.Happening](m, want{kind: journal})
	if err != nil {
		return text(m.unread(err))
	}
	match := matcher(m.filters[journal])
	var shown []dashboard.Happening
	for _, h := range slices.Backward(list) {
		if match(h.Who, h.Action, spaced(h.Action), h.Task, h.Text) {
			shown = append(shown, h)
		}
	}
	empty := "nothing has happened yet"
	if !ok {
		empty = "reading …"
	}
	return content{n: len(shown), empty: empty,
		key: func(i int) string {
			h := shown[i]
			return fmt.Sprintf("%d %s %s|%s", h.Rev, h.At, h.Action, h.Task)
		},
		row: func(i, width int) line {
			h := shown[i]
			l := line{{clock(h.At) + " ", faint}, cell(faint, clean(h.Who), 15), gap(1)}
			if h.Task != "" {
				l = append(l, seg{clean(h.Task) + " ", bold})
			}
			l = append(l, seg{spaced(h.Action), actionPaint(h.Action)})
			if h.Text != "" {
				l = append(l, seg{": ", faint}, seg{flat(m.o.Mask(h.Text)), normal})
			}
			return l
		}}
}

func actionPaint(action string) paint {
	for _, w := range []struct {
		part  string
		paint paint
	}{{"reject", warn}, {"fail", bad}, {"block", bad}, {"gave_up", bad}, {"alert", bad}, {"abort", bad}, {"merged", good}, {"approv", good}, {"submit", accent}, {"review", accent}, {"claim", info}} {
		if strings.Contains(action, w.part) {
			return w.paint
		}
	}
	return normal
}
