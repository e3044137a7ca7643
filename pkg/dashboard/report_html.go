package dashboard

import (
	"html/template"
	"strings"
)

// HTML is the report as one page that needs nothing else: no script, no font, no picture
// from anywhere. Whatever agents and people wrote is shown as text.
func (r Report) HTML() (string, error) {
	page, err := template.New("report").Funcs(template.FuncMap{"share": r.share}).Parse(reportPage)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	err = page.Execute(&b, r)
	return b.String(), err
}

// share is what part of the longest lead time of all tasks a time is, in percent.
func (r Report) share(seconds *int) int {
	longest := 1
	for _, t := range r.Tasks {
		if t.LeadSeconds != nil {
			longest = max(longest, *t.LeadSeconds)
		}
	}
	if seconds == nil {
		return 0
	}
	return 100 * *seconds / longest
}

const reportPage = `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Report of {{.Sprint.ID}}</title>
<style>
:root { color-scheme: light dark; --line: #8884; --soft: #8882; --bar: #3b82f6; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 75rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.6rem; margin-bottom: .2rem; }
h2 { font-size: 1.15rem; margin-top: 2rem; }
.goal { opacity: .8; margin-top: 0; white-space: pre-line; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; padding: .35rem .7rem .35rem 0; border-bottom: 1px solid var(--line); vertical-align: top; }
td.n, th.n { text-align: right; white-space: nowrap; }
td.t { overflow-wrap: anywhere; }
.tiles { display: flex; flex-wrap: wrap; gap: .6rem; padding: 0; list-style: none; }
.tiles li { background: var(--soft); border-radius: .4rem; padding: .4rem .8rem; }
.tiles b { display: block; font-size: 1.2rem; }
.bar { background: var(--bar); height: .5rem; border-radius: .25rem; min-width: 1px; }
code { background: var(--soft); border-radius: .25rem; padding: .1rem .3rem; }
</style>
</head>
<body>
<h1>Report of {{.Sprint.ID}}</h1>
<p class="goal">{{.Goal.Description}}</p>
<p>Goal {{.Goal.Status}}. Sprint {{.Sprint.Status}}, started {{.Sprint.Started}}{{if .Sprint.Ended}}, ended {{.Sprint.Ended}}{{end}}. Written {{.At}} at revision {{.Revision}}.</p>
<ul class="tiles">
{{range .Counts}}<li><b>{{.N}}</b>{{.Status}}</li>
{{else}}<li>no tasks</li>
{{end}}</ul>
{{with .LookAt}}<h2>What to look at</h2>
<ul>
{{range .}}<li>{{.Text}}{{with .Next}} <code>{{.}}</code>{{end}}</li>
{{end}}</ul>
{{end}}{{with .Tasks}}<h2>Tasks</h2>
<div class="wide"><table>
<tr><th>task</th><th>title</th><th>status</th><th>who</th><th class="n">iterations</th><th class="n">rejections</th><th>lead time</th><th class="n">work</th><th class="n">review</th><th class="n">wait</th><th class="n">cost</th><th>outcome</th></tr>
{{range .}}<tr><td>{{.ID}}</td><td class="t">{{.Title}}</td><td>{{.Status}}{{if .Archived}} (archived){{end}}</td><td>{{.Who}}</td><td class="n">{{.Iteration}}</td><td class="n">{{.Rejections}}</td><td>{{.Lead}}{{if .LeadSeconds}}<div class="bar" style="width: {{share .LeadSeconds}}%"></div>{{end}}</td><td class="n">{{.Work}}</td><td class="n">{{.Review}}</td><td class="n">{{.Wait}}</td><td class="n">{{.Money}}</td><td class="t">{{.Outcome}}</td></tr>
{{end}}</table></div>
{{end}}<h2>Figures</h2>
<div class="wide"><table>
{{range .Metrics}}<tr><td>{{.Label}}</td><td class="n">{{.Text}}</td></tr>
{{end}}</table></div>
{{range .Tables}}<h2>{{.Title}}</h2>
<div class="wide"><table>
<tr>{{range .Heads}}<th>{{.}}</th>{{end}}</tr>
{{range .Rows}}<tr>{{range .}}<td class="t">{{.}}</td>{{end}}</tr>
{{end}}</table></div>
{{end}}</body>
</html>
`
