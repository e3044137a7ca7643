package dashboard

import (
	"cmp"
	"fmt"
	"html"
	"html/template"
	"slices"
	"strings"
	"time"
	"unicode"

	"liza/pkg/base/prose"
	"liza/pkg/board/blackboard"
)

// ReportFormats are the formats of a report.
var ReportFormats = []string{"md", "html", "json"}

// Markdown returns the report for a forge. Texts of agents and people are escaped: they can neither break a table nor pass for a
// heading or a link.
func (r Report) Markdown() string {
	m := &markdown{}
	m.line("# %s\n", escape(r.Title()))
	m.line("**%s**\n", escape(r.Headline))
	m.line("Report of %s, %s\n", escape(cmp.Or(r.Sprint.ID, "the sprint")), escape(r.Period()))
	if more := r.More(); more != "" {
		m.line("> %s\n", escape(more))
	}
	if len(r.LookAt) > 0 {
		m.line("## Look at this first\n")
		for _, h := range r.LookAt {
			m.line("- %s%s", escape(h.Text), prose.After("<br>", code(h.Next)))
		}
		m.line("")
	}
	delivered, open := r.Delivered(), r.Open()
	m.table("Delivered", []string{"task", "", "commit", "how"}, len(delivered), func(i int) []string {
		t := delivered[i]
		return []string{code(t.ID), escape(t.Title), link(t.Short(), t.Link), escape(t.Facts())}
	})
	m.table("Open", []string{"task", "", "is", "why"}, len(open), func(i int) []string {
		t := open[i]
		return []string{code(t.ID), escape(t.Title), t.State(), escape(t.Why())}
	})
	m.moments(r.Timeline.Marks)
	if r.graph != nil && len(r.Graph.Edges) > 0 && len(r.Graph.Nodes) <= maxDrawn {
		m.line("## What waited for what\n\n```mermaid\n%s```\n", r.graph.mermaid())
	}
	m.costs(r.Figures)
	m.table("Figures", []string{"", ""}, len(r.Figures.Quality), func(i int) []string {
		return []string{r.Figures.Quality[i].Name, r.Figures.Quality[i].Text}
	})
	for _, t := range r.Tables() {
		m.table(t.Title, t.Heads, len(t.Rows), func(i int) []string {
			var cells []string
			for _, c := range t.Rows[i] {
				cells = append(cells, escape(c))
			}
			return cells
		})
	}
	m.line("Written by Liza at %s.", escape(r.Written()))
	return m.b.String()
}

// maxDrawn is the most tasks in a readable drawing of a forge, maxMoments the most moments in the report.
const maxDrawn, maxMoments = 60, 40

// moments writes the events with their times, without those that nearly every task has.
func (m *markdown) moments(marks []Mark) {
	told := slices.DeleteFunc(slices.Clone(marks), func(x Mark) bool { return x.Kind == "submitted" || x.Kind == "approved" })
	left := max(0, len(told)-maxMoments)
	told = told[left:]
	m.table("When", []string{"", "", ""}, len(told), func(i int) []string {
		return []string{clock(told[i].At), strings.TrimSpace(code(told[i].Task) + " " + strings.Replace(told[i].Kind, "rejected", "sent back", 1)), escape(told[i].Text)}
	})
	if left > 0 {
		m.line("%d earlier moments are left out.\n", left)
	}
}

func (m *markdown) costs(f Figures) {
	m.table("Costs", []string{"task", "cost", "runs", "time"}, len(f.ByTask), func(i int) []string {
		s := f.ByTask[i]
		return []string{escape(s.Name), money(s.Cost), fmt.Sprint(s.Cost.Runs), long(s.Seconds)}
	})
}

// code is an id or a command, whatever is in it.
func code(text string) string {
	if text = strings.ReplaceAll(plain(text), "`", "'"); text == "" {
		return ""
	}
	return "`" + strings.ReplaceAll(text, "|", `\|`) + "`"
}

// link leads to the page of a commit, where there is one.
func link(commit, page string) string {
	if page == "" || commit == "" {
		return code(commit)
	}
	return "[" + code(commit) + "](" + page + ")"
}

type markdown struct{ b strings.Builder }

func (m *markdown) line(format string, args ...any) { fmt.Fprintf(&m.b, format+"\n", args...) }

// table writes a part with n rows, whose cells are escaped; without any it is left out.
func (m *markdown) table(title string, heads []string, n int, row func(int) []string) {
	if n == 0 {
		return
	}
	m.line("## %s\n", title)
	m.line("| %s |\n|%s", strings.Join(heads, " | "), strings.Repeat("---|", len(heads)))
	for i := range n {
		m.line("| %s |", strings.Join(row(i), " | "))
	}
	m.line("")
}

var markup = strings.NewReplacer(`\`, `\\`, "`", "\\`", "|", `\|`, "<", "&lt;", ">", "&gt;", "&", "&amp;", "[", `\[`, "]", `\]`, "*", `\*`, "#", `\#`, "!", `\!`, "~", `\~`)

// escape makes one line of plain words of a text.
func escape(text string) string {
	return markup.Replace(strings.Join(strings.Fields(plain(text)), " "))
}

// HTML returns the report as one page without scripts and without anything from elsewhere. Texts of agents and people are escaped.
func (r Report) HTML() (string, error) {
	page, err := template.New("report").Funcs(template.FuncMap{"money": money, "long": long, "class": statusClass, "share": r.share}).Parse(reportPage)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	err = page.Execute(&b, r)
	return inert(b.String()), err
}

// inert removes invisible characters from a page that hide or turn around their neighbours.
func inert(page string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && r != '\u200d' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r)) {
			return -1
		}
		return r
	}, page)
}

// share returns the cost in percent of the largest cost of a task, or, if no cost is known, the time in percent of the
// longest.
func (r Report) share(s Spending) int {
	most, value := 0.0, func(s Spending) float64 { return float64(s.Cost.Cents) }
	if r.Figures.Total.Cents == 0 {
		value = func(s Spending) float64 { return float64(s.Seconds) }
	}
	for _, x := range r.Figures.ByTask {
		most = max(most, value(x))
	}
	if most == 0 {
		return 0
	}
	return int(100 * value(s) / most)
}

// statusClass says how urgent a status is.
func statusClass(s blackboard.Status) string {
	switch tone := s.Info().Tone; tone {
	case blackboard.ToneBad, blackboard.ToneWait, blackboard.ToneGood:
		return string(tone)
	}
	return string(blackboard.ToneCalm)
}

// Style returns the style of the page and the graph.
func (r Report) Style() template.CSS { return template.CSS(reportStyle + graphStyle) }

const reportStyle = `:root{color-scheme:light dark;--bg:#f7f7f8;--panel:#fff;--ink:#1b1b1f;--quiet:#5b5c66;--rule:#e2e2e7;--accent:#4338ca;--soft:#ecebfd;--good:#17703d;--bad:#b3211a;--wait:#855400;--work:#4f6bd8;--review:#0f7f8f;--plan:#7a52b3;--critical:#c2410c;--on:#fff}
@media (prefers-color-scheme:dark){:root{--bg:#121215;--panel:#1a1a1e;--ink:#e7e7ec;--quiet:#a3a4ae;--rule:#2e2e35;--accent:#aab4fd;--soft:#26264a;--good:#6fd096;--bad:#ff9c92;--wait:#e8ba56;--work:#8fa3f5;--review:#5fc6d4;--plan:#b79cf0;--critical:#fb923c;--on:#14141f}}
*{box-sizing:border-box}body{background:var(--bg);color:var(--ink);font:15px/1.55 system-ui,-apple-system,"Segoe UI",sans-serif;margin:0 auto;max-width:68rem;padding:2.2rem 1.25rem 3rem}
h1{font-size:1.75rem;line-height:1.25;margin:.2rem 0 .6rem;overflow-wrap:anywhere}h2{font-size:1.1rem;margin:0 0 .7rem}p{margin:.3rem 0}
.kicker,.quiet,footer{color:var(--quiet)}.kicker{font-size:.9rem;font-weight:600;letter-spacing:.02em}.lead{font-size:1.2rem;line-height:1.45;max-width:54rem}.more{color:var(--quiet);max-width:54rem;white-space:pre-line;overflow-wrap:anywhere}
section{background:var(--panel);border:1px solid var(--rule);border-radius:12px;margin-top:1.2rem;padding:1.1rem 1.3rem}
ul{list-style:none;margin:0;padding:0}li{border-top:1px solid var(--rule);padding:.6rem 0}li:first-child{border-top:0;padding-top:0}li:last-child{padding-bottom:0}li p{margin-bottom:0}
code{background:var(--bg);border-radius:5px;font:.88em ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;overflow-wrap:anywhere;padding:.12em .4em}a{color:var(--accent)}
.row{align-items:baseline;display:flex;flex-wrap:wrap;gap:.15rem .7rem}.row b{overflow-wrap:anywhere}.row .end{margin-left:auto}.small{font-size:.9rem}.small,.why{overflow-wrap:anywhere}
.tag{border-radius:1em;font-size:.82rem;font-weight:600;padding:.05em .65em;white-space:nowrap;background:var(--soft);color:var(--accent)}.tag.good{background:none;color:var(--good)}.tag.bad{background:none;border:1px solid;color:var(--bad)}.tag.wait{background:none;border:1px solid;color:var(--wait)}
.first{border-left:4px solid var(--wait)}.wide{overflow-x:auto}.wide:focus-visible{outline:2px solid var(--accent)}
table{border-collapse:collapse;width:100%}th,td{border-bottom:1px solid var(--rule);padding:.4rem .8rem .4rem 0;text-align:left;vertical-align:top;overflow-wrap:break-word}td:last-child{overflow-wrap:anywhere}td:last-child:not(.n){width:60%}tr:last-child td{border-bottom:0}th{color:var(--quiet);font-size:.85rem;font-weight:600}.n{text-align:right;white-space:nowrap}
.two{display:grid;gap:1.5rem;grid-template-columns:1fr 1fr}.bar{background:var(--work);border-radius:3px;height:.45rem;min-width:2px}.barcell{vertical-align:middle;width:35%}
dl{display:grid;gap:.35rem 1.2rem;grid-template-columns:max-content 1fr;margin:0}dt{color:var(--quiet)}dd{margin:0}
svg{display:block;max-width:none}.wide .graph{height:auto;max-width:100%}.timeline svg{min-width:640px;width:100%}.two svg{width:100%}svg text{fill:var(--ink);font-size:12px}svg .quiet{fill:var(--quiet)}svg .on{fill:var(--on)}svg .tick{stroke:var(--rule)}
svg .work{fill:var(--work)}svg .review{fill:var(--review)}svg .plan{fill:var(--plan)}svg .good{fill:var(--good)}svg .bad{fill:var(--bad)}svg .wait{fill:var(--wait)}svg .area{fill:var(--soft)}svg .curve{fill:none;stroke:var(--accent);stroke-width:2}
.legend{display:flex;flex-wrap:wrap;gap:.2rem 1.1rem;margin-top:.5rem}.legend i{border-radius:3px;display:inline-block;height:.7em;margin-right:.4em;width:.7em}.legend .work{background:var(--work)}.legend .review{background:var(--review)}.legend .plan{background:var(--plan)}.legend .good{background:var(--good)}.legend .bad{background:var(--bad)}.legend .wait{background:var(--wait)}.legend .path{background:var(--critical)}
footer{font-size:.9rem;margin-top:1.5rem}
@media (max-width:640px){body{padding:1.2rem .8rem 2rem}section{border-radius:10px;padding:.9rem}.two{grid-template-columns:1fr}.barcell{display:none}dl{grid-template-columns:1fr;gap:0}dd{margin-bottom:.5rem}h1{font-size:1.4rem}.lead{font-size:1.08rem}.stack table,.stack tbody,.stack tr,.stack td{display:block}.stack th{display:none}.stack td{border:0;padding:.1rem 0}.stack tr{border-bottom:1px solid var(--rule);padding:.5rem 0}.row .end{margin-left:0}}
@media print{:root{--bg:#fff}body{font-size:12px;max-width:none;padding:0}section{break-inside:avoid;border-color:#ccc}.wide{overflow:visible}.timeline svg,.graph{max-width:100%;height:auto;min-width:0}}
`

const reportPage = `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{.Title}}</title>
<style>{{.Style}}</style>
</head>
<body>
<header>
<p class="kicker">Report of {{or .Sprint.ID "the sprint"}}{{with .Period}} · {{.}}{{end}}</p>
<h1>{{.Title}}</h1>
<p class="lead">{{.Headline}}</p>
{{with .More}}<p class="more">{{.}}</p>
{{end}}</header>
<main>
{{with .LookAt}}<section class="first"><h2>Look at this first</h2>
<ul>
{{range .}}<li>{{.Text}}{{with .Next}}<br><code>{{.}}</code>{{end}}</li>
{{end}}</ul></section>
{{end}}{{with .Delivered}}<section><h2>Delivered</h2>
<ul>
{{range .}}<li><div class="row"><b>{{.Title}}</b><span class="quiet small">{{.ID}}</span><span class="end">{{if .Link}}<a href="{{.Link}}"><code>{{.Short}}</code></a>{{else if .Short}}<code>{{.Short}}</code>{{end}}</span></div>
{{with .Summary}}<p class="small">{{.}}</p>{{end}}{{with .Facts}}<p class="quiet small">{{.}}</p>{{end}}</li>
{{end}}</ul></section>
{{end}}{{with .Open}}<section><h2>Open</h2>
<ul>
{{range .}}<li><div class="row"><b>{{.Title}}</b><span class="quiet small">{{.ID}}</span><span class="end tag {{class .Status}}">{{.State}}</span></div>
{{with .Why}}<p class="quiet small">{{.}}</p>{{end}}</li>
{{end}}</ul></section>
{{end}}{{with .TimelinePicture}}<section><h2>Who worked when</h2>
<div class="wide timeline" tabindex="0" role="region" aria-label="timeline">{{.}}</div>
<p class="legend quiet small"><span><i class="plan"></i>planning</span><span><i class="work"></i>work</span><span><i class="review"></i>review</span><span><i class="good"></i>merged</span><span><i class="wait"></i>sent back</span><span><i class="bad"></i>blocked, or its merge failed</span></p></section>
{{end}}{{with .GraphPicture}}<section><h2>What waits for what</h2>
<div class="wide" tabindex="0" role="region" aria-label="graph of the tasks">{{.}}</div>
{{if $.Graph.Critical}}<p class="legend quiet small"><span><i class="path"></i>the chain of open tasks that is expected to take longest</span></p>{{end}}</section>
{{end}}{{if .Figures.ByTask}}<section><h2>Costs</h2>
<p>{{if .Figures.Total.Cents}}{{money .Figures.Total}} in {{.Figures.Total.Runs}} runs of agents{{else}}No agent program told what it cost; this is how long they ran{{end}}.</p>
<div class="two">{{with .SpentPicture}}<div><p class="quiet small">Spent</p>{{.}}</div>{{end}}{{with .MergedPicture}}<div><p class="quiet small">Tasks merged</p>{{.}}</div>{{end}}</div>
<table>
<tr><th>task</th><th class="barcell"></th><th class="n">cost</th><th class="n">runs</th><th class="n">time</th></tr>
{{range .Figures.ByTask}}<tr><td>{{.Name}}</td><td class="barcell"><div class="bar" style="width: {{share .}}%"></div></td><td class="n">{{money .Cost}}</td><td class="n">{{.Cost.Runs}}</td><td class="n">{{long .Seconds}}</td></tr>
{{end}}</table></section>
{{end}}{{with .Figures.Quality}}<section><h2>Figures</h2>
<dl>{{range .}}<dt>{{.Name}}</dt><dd>{{.Text}}</dd>
{{end}}</dl></section>
{{end}}{{range .Tables}}<section><h2>{{.Title}}</h2>
<div class="stack"><table>
<tr>{{range .Heads}}<th>{{.}}</th>{{end}}</tr>
{{range .Rows}}<tr>{{range .}}<td>{{.}}</td>{{end}}</tr>
{{end}}</table></div></section>
{{end}}</main>
<footer>Written by Liza on {{.Written}}.</footer>
</body>
</html>
`

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

// TimelinePicture draws the runs of each agent, with merges, rejections and blocks above them.
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
			fmt.Fprintf(&b, `<path class="%s" d="M%.1f 12l6 6l-6 6l-6 -6z"><title>%s</title></path>`+"\n", class, x, html.EscapeString(plain(clock(m.At)+" "+m.Task+" "+m.Kind+prose.After(": ", m.Text))))
		}
	}
	for i, l := range tl.Lanes {
		y := top + i*laneHeight
		fmt.Fprintf(&b, `<line class="tick" x1="0" y1="%d" x2="%d" y2="%d"/><text x="0" y="%d">%s</text>`+"\n", y, pictureWidth, y, y+17, html.EscapeString(Fit(plain(l.Agent), 18)))
		for _, sp := range l.Spans {
			until := sp.Until
			if until.None() {
				until = tl.To
			}
			x := s.at(sp.From)
			width := max(3, s.at(until)-x)
			fmt.Fprintf(&b, `<rect class="%s" x="%.1f" y="%d" width="%.1f" height="%d" rx="3"><title>%s</title></rect>`, html.EscapeString(sp.Kind), x, y+4, width, laneHeight-8,
				html.EscapeString(plain(clock(sp.From)+" "+sp.Kind+prose.After(" on ", sp.Task)+prose.After(": ", sp.Outcome))))
			if room := int(width/7) - 1; sp.Task != "" && room > 3 {
				fmt.Fprintf(&b, `<text class="on" x="%.1f" y="%d">%s</text>`, x+5, y+17, html.EscapeString(Fit(plain(sp.Task), room)))
			}
			b.WriteString("\n")
		}
	}
	return template.HTML(b.String() + "</svg>")
}

// SpentPicture draws the cost over time, or returns "" if no program reported any.
func (r Report) SpentPicture() template.HTML {
	points := r.Figures.Spent
	if len(points) == 0 || points[len(points)-1].Value == 0 {
		return ""
	}
	return r.plot("money spent over time", points, func(v float64) string { return blackboard.AmountOf(v).Dollars() })
}

// MergedPicture draws the number of merged tasks over time.
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

// GraphPicture draws the tasks with their dependencies, "" when there are none.
func (r Report) GraphPicture() template.HTML {
	if r.graph == nil || len(r.Graph.Edges) == 0 {
		return ""
	}
	var b strings.Builder
	r.graph.draw(&b)
	return template.HTML(b.String())
}
