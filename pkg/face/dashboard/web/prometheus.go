package web

import (
	"net/http"
	"strconv"
	"strings"

	"liza/pkg/board/blackboard"
	"liza/pkg/face/dashboard"
	"liza/pkg/team/findings"
	"liza/pkg/team/watch"
)

// prometheus shows figures in the text format of Prometheus, version 0.0.4.
func (o Options) prometheus(w http.ResponseWriter, r *http.Request) (any, error) {
	s, err := o.Source.State(r.Context())
	if err != nil {
		return nil, err
	}
	figures, err := o.Metrics(s)
	if err != nil {
		return nil, err
	}
	alerts, err := o.Source.Alerts()
	if err != nil {
		return nil, err
	}
	var e exposition
	e.board(dashboard.Build(s, o.Source.Facts(s)), alerts)
	e.add("build_info", "gauge", "Version of Liza that serves these figures; always 1.", sample{1, []string{"version", o.Version}})
	e.sprint(figures)
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	_, _ = w.Write([]byte(e.String()))
	return nil, nil
}

// exposition is a page of metrics.
type exposition struct{ strings.Builder }

// sample is a value with its labels, names and values in turn.
type sample struct {
	value  float64
	labels []string
}

var escapeLabel = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

// add writes a family: its help and its type once, then its samples.
func (e *exposition) add(name, kind, help string, samples ...sample) {
	e.WriteString("# HELP liza_" + name + " " + help + "\n# TYPE liza_" + name + " " + kind + "\n")
	for _, s := range samples {
		e.WriteString("liza_" + name)
		for i := 0; i+1 < len(s.labels); i += 2 {
			e.WriteString(map[bool]string{true: "{", false: ","}[i == 0] + s.labels[i] + `="` + escapeLabel.Replace(s.labels[i+1]) + `"`)
		}
		if len(s.labels) > 0 {
			e.WriteString("}")
		}
		e.WriteString(" " + strconv.FormatFloat(s.value, 'f', -1, 64) + "\n")
	}
}

// board is what is true now.
func (e *exposition) board(v dashboard.View, alerts []watch.Alert) {
	e.add("revision", "gauge", "Revision of the board.", sample{value: float64(v.Revision)})
	tasks := make([]sample, 0, len(v.Counts))
	for _, c := range v.Counts {
		tasks = append(tasks, sample{float64(c.N), []string{"status", string(c.Status)}})
	}
	e.add("tasks", "gauge", "Tasks on the board by status.", tasks...)
	agents, working := map[string]int{}, map[string]int{}
	for _, a := range v.Agents {
		agents[a.Role]++
		if a.Status == blackboard.AgentWorking {
			working[a.Role]++
		}
	}
	roles := []string{string(blackboard.RolePlanner), string(blackboard.RoleCoder), string(blackboard.RoleReviewer)}
	e.add("agents", "gauge", "Registered agents by role.", counted("role", roles, agents)...)
	e.add("agents_working", "gauge", "Agents with a program that runs, by role.", counted("role", roles, working)...)
	waiting := map[string]int{}
	for _, w := range v.Waiting {
		waiting[w.Kind]++
	}
	e.add("waiting_for_person", "gauge", "What waits for a person, by kind.",
		counted("kind", []string{"control", "integration", "goal", "breaker", "question", "blocked", "merge_approval", "hold", "draft"}, waiting)...)
	open := map[string]int{}
	for _, a := range alerts {
		open[a.Severity]++
	}
	e.add("alerts_open", "gauge", "Open alerts by severity.", counted("severity", []string{findings.Info, findings.Warning, findings.Error}, open)...)
	completed := 0.0
	if v.Completed {
		completed = 1
	}
	e.add("goal_completed", "gauge", "1 when the goal is reached, else 0.", sample{value: completed})
}

// counted is a sample for each value of a label, zeros included, so that a series does not vanish.
func counted(label string, values []string, n map[string]int) []sample {
	list := make([]sample, 0, len(values))
	for _, v := range values {
		list = append(list, sample{float64(n[v]), []string{label, v}})
	}
	return list
}

// A family is a metric made of figures of the sprint (specs/protocol.md#12). Figures that add up become
// counters, which begin again with a sprint; Prometheus takes that for a restart.
type family struct {
	name, kind, help string
	of               []figure
	per              float64 // how much of the figure's unit is one of the metric's; 0 is 1
}

type figure struct{ name, label, value string }

var families = []family{
	{"sprint_tasks", "gauge", "Tasks of the sprint by how far they are.", []figure{{"tasks_done", "state", "done"}, {"tasks_in_progress", "state", "in_progress"}, {"tasks_blocked", "state", "blocked"}}, 0},
	{"iterations_total", "counter", "Iterations of coders in the sprint.", []figure{{"iterations_total", "", ""}}, 0},
	{"review_cycles_total", "counter", "Rejections in the sprint.", []figure{{"review_cycles_total", "", ""}}, 0},
	{"submissions_total", "counter", "Submissions for review in the sprint.", []figure{{"task_submitted_for_review_count", "", ""}}, 0},
	{"review_verdicts_total", "counter", "Verdicts of reviewers in the sprint.", []figure{{"review_verdict_approvals", "verdict", "approved"}, {"review_verdict_rejections", "verdict", "rejected"}}, 0},
	{"review_approval_ratio", "gauge", "Approvals among the verdicts of the sprint.", []figure{{"review_verdict_approval_rate_percent", "", ""}}, 100},
	{"task_approval_ratio", "gauge", "Merged tasks among those of the sprint that are merged, abandoned or superseded.", []figure{{"task_outcome_approval_rate_percent", "", ""}}, 100},
	{"task_events_total", "counter", "Setbacks of tasks in the sprint.", []figure{{"blocked_count", "event", "blocked"}, {"integration_failed_count", "event", "integration_failed"}, {"handoff_count", "event", "handoff"}}, 0},
	{"runs_failed_total", "counter", "Runs of agent programs that failed, in the sprint.", []figure{{"run_failed_count", "", ""}}, 0},
	{"lead_time_median_seconds", "gauge", "Median time from a finished draft of a task to its merge.", []figure{{"lead_time_median", "", ""}}, 0},
	{"lead_time_p90_seconds", "gauge", "Time from a finished draft to its merge that nine of ten tasks keep within.", []figure{{"lead_time_p90", "", ""}}, 0},
	{"task_time_seconds", "gauge", "Time of the sprint's tasks by what they spent it with.", []figure{{"work_time", "phase", "work"}, {"review_time", "phase", "review"}, {"wait_time", "phase", "wait"}}, 0},
	{"cost_dollars_total", "counter", "Known cost of the runs of agent programs in the sprint, in US dollars.", []figure{{"cost_cents", "", ""}}, 100},
	{"tokens_total", "counter", "Tokens of the sprint; input includes what came from a cache.", []figure{{"tokens_in", "type", "input"}, {"tokens_out", "type", "output"}}, 0},
	{"tokens_cached_total", "counter", "Input tokens of the sprint that came from a cache.", []figure{{"tokens_cached", "", ""}}, 0},
	{"run_seconds_total", "counter", "Time for which agent programs ran in the sprint.", []figure{{"seconds", "", ""}}, 0},
	{"runs_total", "counter", "Runs of agent programs in the sprint.", []figure{{"agent_runs", "", ""}}, 0},
	{"runs_unknown_cost_total", "counter", "Runs of the sprint whose cost nobody told.", []figure{{"unknown_cost_runs", "", ""}}, 0},
}

// sprint is the figures of the sprint. A figure that is unknown is left out: it is not zero.
func (e *exposition) sprint(figures dashboard.Metrics) {
	for _, f := range families {
		var samples []sample
		for _, part := range f.of {
			value, known := figures.Get(part.name)
			if !known {
				continue
			}
			s := sample{value: float64(value)}
			if f.per != 0 {
				s.value /= f.per
			}
			if part.label != "" {
				s.labels = []string{part.label, part.value}
			}
			samples = append(samples, s)
		}
		if len(samples) > 0 {
			e.add(f.name, f.kind, f.help, samples...)
		}
	}
}
