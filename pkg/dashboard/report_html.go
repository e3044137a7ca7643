package dashboard

import (
	"html/template"
	"strings"
	"unicode"

	"liza/pkg/blackboard"
)

// HTML is the report as one page that needs nothing else: no script, no font, no picture
// from anywhere. Whatever agents and people wrote is shown as text.
func (r Report) HTML() (string, error) {
	page, err := template.New("report").Funcs(template.FuncMap{"money": money, "long": long, "class": statusClass, "share": r.share}).Parse(reportPage)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	err = page.Execute(&b, r)
	return inert(b.String()), err
}

// inert takes characters out of a page that nobody sees, and that hide or turn around what is beside them.
func inert(page string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && r != '\u200d' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r)) {
			return -1
		}
		return r
	}, page)
}

// share is what part of the largest cost of a task a cost is, in percent; of the longest time when no cost is known.
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
	switch s {
	case blackboard.Blocked, blackboard.IntegrationFailed:
		return "bad"
	case blackboard.Rejected:
		return "wait"
	case blackboard.Merged, blackboard.Approved:
		return "good"
	}
	return "calm"
}

// Style is the page's, with that of the graph.
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
<p>{{if .Figures.Total.Cents}}{{money .Figures.Total}} in {{.Figures.Total.Runs}} runs of agents{{else}}No agent program told what it cost; this is how long they ran{{end}}.{{with .Figures.Forecast}} {{.Text}}.{{end}}</p>
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
