package dashboard

import (
	"fmt"
	"html"
	"html/template"
	"strings"
	"time"

	"liza/pkg/blackboard"
)

// The pictures of a report. Their colours are classes of the page, so that they follow light and dark.

const (
	pictureWidth = 1000
	laneHeight   = 26
	laneLabel    = 130
)

// scale places times on a line.
type scale struct {
	from, to time.Time
	x, width int
}

func scaleOf(from, to blackboard.Time, x, width int) scale {
	a, _ := from.At()
	b, _ := to.At()
	if !b.After(a) {
		b = a.Add(time.Minute)
	}
	return scale{a, b, x, width}
}

func (s scale) at(t blackboard.Time) float64 {
	at, ok := t.At()
	if !ok || at.Before(s.from) {
		return float64(s.x)
	}
	if at.After(s.to) {
		at = s.to
	}
	return float64(s.x) + float64(s.width)*float64(at.Sub(s.from))/float64(s.to.Sub(s.from))
}

// ticks are round times of which some five fit on the line.
func (s scale) ticks() []time.Time {
	step := s.to.Sub(s.from) / 5
	for _, round := range []time.Duration{time.Second, 5 * time.Second, 15 * time.Second, 30 * time.Second, time.Minute, 5 * time.Minute, 15 * time.Minute, 30 * time.Minute, time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour, 24 * time.Hour} {
		if step <= round {
			step = round
			break
		}
	}
	if step > 24*time.Hour {
		step = step.Truncate(24*time.Hour) + 24*time.Hour
	}
	var list []time.Time
	for t := s.from.Truncate(step).Add(step); t.Before(s.to); t = t.Add(step) {
		list = append(list, t)
	}
	return list
}

func (s scale) label(t time.Time) string {
	switch span := s.to.Sub(s.from); {
	case span < 10*time.Minute:
		return t.UTC().Format("15:04:05")
	case span < 36*time.Hour:
		return t.UTC().Format("15:04")
	}
	return t.UTC().Format("2 Jan")
}

// axis draws the ticks from top to bottom.
func (s scale) axis(b *strings.Builder, top, bottom int) {
	for _, t := range s.ticks() {
		x := s.at(blackboard.TimeOf(t))
		fmt.Fprintf(b, `<line class="tick" x1="%.1f" y1="%d" x2="%.1f" y2="%d"/><text class="quiet" x="%.1f" y="%d" text-anchor="middle">%s</text>`+"\n", x, top, x, bottom, x, bottom+14, s.label(t))
	}
}

func picture(b *strings.Builder, name string, width, height int) {
	fmt.Fprintf(b, `<svg viewBox="0 0 %d %d" role="img" aria-label="%s">`+"\n", width, height, html.EscapeString(name))
}

var markClasses = map[string]string{"merged": "good", "approved": "good", "rejected": "wait", "blocked": "bad", "merge failed": "bad"}

// TimelinePicture is who worked when, with what was merged, sent back or blocked above.
func (r Report) TimelinePicture() template.HTML {
	tl := r.Timeline
	if len(tl.Lanes) == 0 && len(tl.Marks) == 0 {
		return ""
	}
	const top = 34
	s := scaleOf(tl.From, tl.To, laneLabel, pictureWidth-laneLabel-10)
	bottom := top + len(tl.Lanes)*laneHeight
	var b strings.Builder
	picture(&b, "who worked on what when", pictureWidth, bottom+20)
	s.axis(&b, 10, bottom)
	for _, m := range tl.Marks {
		if class := markClasses[m.Kind]; class != "" && m.Kind != "approved" {
			x := s.at(m.At)
			fmt.Fprintf(&b, `<path class="%s" d="M%.1f 12l6 6l-6 6l-6 -6z"><title>%s</title></path>`+"\n", class, x, html.EscapeString(plain(clock(m.At)+" "+m.Task+" "+m.Kind+after(": ", m.Text))))
		}
	}
	for i, l := range tl.Lanes {
		y := top + i*laneHeight
		fmt.Fprintf(&b, `<line class="tick" x1="0" y1="%d" x2="%d" y2="%d"/><text x="0" y="%d">%s</text>`+"\n", y, pictureWidth, y, y+17, html.EscapeString(fit(plain(l.Agent), 18)))
		for _, sp := range l.Spans {
			until := sp.Until
			if until.None() {
				until = tl.To
			}
			x := s.at(sp.From)
			width := max(3, s.at(until)-x)
			fmt.Fprintf(&b, `<rect class="%s" x="%.1f" y="%d" width="%.1f" height="%d" rx="3"><title>%s</title></rect>`, html.EscapeString(sp.Kind), x, y+4, width, laneHeight-8,
				html.EscapeString(plain(clock(sp.From)+" "+sp.Kind+after(" on ", sp.Task)+after(": ", sp.Outcome))))
			if room := int(width/7) - 1; sp.Task != "" && room > 3 {
				fmt.Fprintf(&b, `<text class="on" x="%.1f" y="%d">%s</text>`, x+5, y+17, html.EscapeString(fit(plain(sp.Task), room)))
			}
			b.WriteString("\n")
		}
	}
	return template.HTML(b.String() + "</svg>")
}

// SpentPicture is what was spent over time, "" when no program told it.
func (r Report) SpentPicture() template.HTML {
	points := r.Figures.Spent
	if len(points) == 0 || points[len(points)-1].Value == 0 {
		return ""
	}
	return r.plot("money spent over time", points, func(v float64) string { return blackboard.AmountOf(v).Dollars() })
}

// MergedPicture is how many tasks were merged over time.
func (r Report) MergedPicture() template.HTML {
	if len(r.Figures.Merged) == 0 {
		return ""
	}
	return r.plot("tasks merged over time", r.Figures.Merged, func(v float64) string { return fmt.Sprint(int(v)) })
}

// plot draws steps: each value holds until the next one.
func (r Report) plot(name string, points []Point, label func(float64) string) template.HTML {
	const width, height, top, left = 490, 170, 14, 52
	s := scaleOf(r.Timeline.From, r.Timeline.To, left, width-left-10)
	most := points[len(points)-1].Value
	y := func(v float64) float64 { return float64(height-24) - v/most*float64(height-24-top) }
	var line strings.Builder
	fmt.Fprintf(&line, "M%.1f %.1f", float64(left), y(0))
	for _, p := range points {
		fmt.Fprintf(&line, "H%.1fV%.1f", s.at(p.At), y(p.Value))
	}
	end := s.at(r.Timeline.To)
	fmt.Fprintf(&line, "H%.1f", end)
	var b strings.Builder
	picture(&b, name, width, height)
	s.axis(&b, top, height-24)
	for _, v := range []float64{0, most} {
		fmt.Fprintf(&b, `<line class="tick" x1="%d" y1="%.1f" x2="%d" y2="%.1f"/><text class="quiet" x="%d" y="%.1f" text-anchor="end">%s</text>`+"\n", left, y(v), width-10, y(v), left-6, y(v)+4, html.EscapeString(label(v)))
	}
	fmt.Fprintf(&b, `<path class="area" d="%sV%.1fH%dz"/><path class="curve" d="%s"/>`+"\n", line.String(), y(0), left, line.String())
	return template.HTML(b.String() + "</svg>")
}

// GraphPicture is the tasks with what they wait for, "" when none waits for another.
func (r Report) GraphPicture() template.HTML {
	if r.graph == nil || len(r.Graph.Edges) == 0 {
		return ""
	}
	var b strings.Builder
	r.graph.draw(&b)
	return template.HTML(b.String())
}
