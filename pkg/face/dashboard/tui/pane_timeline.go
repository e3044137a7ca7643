package tui

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"liza/pkg/board/blackboard"
	"liza/pkg/face/dashboard"
)

// laneName is how wide the names beside the lanes of the timeline are.
const laneName = 16

// moment is a run, or something that happened, as a row of the timeline.
type moment struct {
	at   blackboard.Time
	sec  int64
	span *dashboard.Span // nil: mark says what happened
	mark *dashboard.Mark
	who  string
	key  string
}

// content is who worked on what when: a lane for each agent, then all runs and events, the newest first.
func (x timelinePane) content(int) content {
	tl, err, ok := of[dashboard.Timeline](x.sight, want{kind: timeline})
	switch {
	case err != nil:
		return text(x.unread(err))
	case !ok:
		return content{empty: "reading …"}
	}
	d := drawnTimeline{mask: x.mask, from: seconds(tl.From), to: seconds(tl.To)}
	match := matcher(x.filters[timeline])
	for _, l := range tl.Lanes {
		spans := slices.Clone(l.Spans)
		spans = slices.DeleteFunc(spans, func(s dashboard.Span) bool { return !match(l.Agent, s.Task, s.Kind, s.Outcome) })
		if len(spans) == 0 && !match(l.Agent) {
			continue
		}
		d.lanes = append(d.lanes, dashboard.Lane{Agent: l.Agent, Spans: spans})
		for i, s := range spans {
			d.moments = append(d.moments, moment{at: s.From, sec: seconds(s.From), span: &spans[i], who: l.Agent, key: fmt.Sprintf("%s %s|%s|%s", s.From, s.Kind, s.Task, l.Agent)})
		}
	}
	for _, k := range tl.Marks {
		if match(k.Kind, k.Task, k.Text) {
			d.marks = append(d.marks, k)
			d.moments = append(d.moments, moment{at: k.At, sec: seconds(k.At), mark: &k, key: fmt.Sprintf("%s %s|%s|", k.At, k.Kind, k.Task)})
		}
	}
	slices.SortStableFunc(d.moments, func(a, b moment) int { return cmp.Compare(a.sec, b.sec) })
	slices.Reverse(d.moments)
	if len(d.moments) == 0 {
		return content{empty: "nothing has happened in this sprint; esc clears a filter"}
	}
	return content{n: d.above() + len(d.moments), key: d.key, row: d.row}
}

// drawnTimeline has the rows of the timeline: the hours, the lanes, the events below them, an empty row, and the moments.
type drawnTimeline struct {
	from, to int64
	lanes    []dashboard.Lane
	marks    []dashboard.Mark
	moments  []moment
	mask     func(string) string
}

func (d *drawnTimeline) above() int { return len(d.lanes) + 3 }

func (d *drawnTimeline) key(i int) string {
	switch {
	case i >= d.above():
		return d.moments[i-d.above()].key
	case i > 0 && i <= len(d.lanes):
		return "lane||" + d.lanes[i-1].Agent
	}
	return ""
}

func (d *drawnTimeline) row(i, width int) line {
	switch {
	case i == 0:
		return d.hours(width - laneName)
	case i <= len(d.lanes):
		l := d.lanes[i-1]
		return append(line{cell(bold, clean(l.Agent), laneName-1), gap(1)}, d.bars(l.Spans, width-laneName)...)
	case i == len(d.lanes)+1:
		return append(line{cell(faint, "events", laneName-1), gap(1)}, d.events(width-laneName)...)
	case i < d.above():
		return nil
	}
	return d.moment(d.moments[i-d.above()])
}

// column is where a moment is on a line of that width.
func (d *drawnTimeline) column(at int64, width int) int {
	return int((max(d.from, min(at, d.to)) - d.from) * int64(width) / max(1, d.to-d.from))
}

// hours are the times above the lanes, in steps that leave room between them.
func (d *drawnTimeline) hours(width int) line {
	l, used := line{gap(laneName)}, 0
	if width < 8 {
		return l
	}
	layout, step := "15:04", int64(60)
	for _, step = range []int64{60, 120, 300, 600, 900, 1800, 3600, 2 * 3600, 4 * 3600, 8 * 3600, 86400, 7 * 86400, 30 * 86400} {
		if (d.to-d.from)/step < int64(width)/10 {
			break
		}
	}
	if step >= 86400 {
		layout = "Jan 02"
	}
	for at := (d.from + step - 1) / step * step; at <= d.to; at += step {
		text := "╷" + time.Unix(at, 0).UTC().Format(layout)
		if x := d.column(at, width); x >= used && x+len(layout) < width {
			l = append(l, gap(x-used), seg{text, faint})
			used = x + dashboard.WidthOf(text)
		}
	}
	return l
}

// bars are the runs of an agent. One that is too short to be seen beside the one before is left out.
func (d *drawnTimeline) bars(spans []dashboard.Span, width int) line {
	var l line
	used := 0
	for _, s := range spans {
		from, until := max(used, d.column(seconds(s.From), width)), width
		if !s.Until.None() {
			until = d.column(seconds(s.Until), width)
		}
		until = min(width, max(until, d.column(seconds(s.From), width)+1))
		n := until - from
		if n <= 0 {
			continue
		}
		name, end := clean(s.Task), ""
		if s.Until.None() {
			end = "▸"
		}
		if n < 12 && dashboard.WidthOf(name) >= n { // the beginning of a name would say nothing
			name = ""
		}
		name = dashboard.Fit(name, n-1)
		l = append(l, gap(from-used), seg{name + repeat("━", n-dashboard.WidthOf(name)-dashboard.WidthOf(end)) + end, spanPaint(s)})
		used = until
	}
	return l
}

func spanPaint(s dashboard.Span) paint {
	switch {
	case s.Outcome != "" && outcome(s.Outcome) != good:
		return warn
	case s.Kind == "review":
		return accent
	case s.Kind == "plan":
		return normal
	}
	return info
}

// events are what happened, each where its time is; the last one where there are several.
func (d *drawnTimeline) events(width int) line {
	var l line
	used := 0
	for i, k := range d.marks {
		x := min(d.column(seconds(k.At), width), width-1)
		if x < used || i+1 < len(d.marks) && x == min(d.column(seconds(d.marks[i+1].At), width), width-1) {
			continue
		}
		l = append(l, gap(x-used), seg{markGlyph(k.Kind), actionPaint(k.Kind)})
		used = x + 1
	}
	return l
}

func markGlyph(kind string) string {
	switch kind {
	case "submitted":
		return glyph(blackboard.ReadyForReview)
	case "rejected":
		return glyph(blackboard.Rejected)
	case "approved":
		return glyph(blackboard.Approved)
	case "merged", "goal":
		return glyph(blackboard.Merged)
	case "blocked", "merge failed":
		return glyph(blackboard.Blocked)
	case "abandoned", "replaced":
		return glyph(blackboard.Abandoned)
	}
	return "·"
}

func (d *drawnTimeline) moment(o moment) line {
	l := line{{clock(o.at) + " ", faint}}
	if k := o.mark; k != nil {
		l = append(l, seg{markGlyph(k.Kind) + " ", actionPaint(k.Kind)}, cell(actionPaint(k.Kind), clean(k.Kind), 15), gap(1))
		if k.Task != "" {
			l = append(l, seg{clean(k.Task) + " ", bold})
		}
		return append(l, seg{flat(d.mask(k.Text)), normal})
	}
	s := o.span
	l = append(l, seg{"━ ", spanPaint(*s)}, cell(faint, clean(o.who), 15), gap(1))
	if s.Task != "" {
		l = append(l, seg{clean(s.Task) + " ", bold})
	}
	if s.Until.None() {
		return append(l, seg{clean(s.Kind) + ", still at it", info})
	}
	took := elapsed(max(0, int(seconds(s.Until)-seconds(s.From))))
	return append(l, seg{clean(s.Kind) + " for " + took + " ", normal}, seg{clean(s.Outcome), outcome(s.Outcome)})
}

func seconds(t blackboard.Time) int64 {
	at, _ := t.At()
	return at.Unix()
}
