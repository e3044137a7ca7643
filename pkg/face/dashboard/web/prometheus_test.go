package web_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"liza/pkg/board/blackboard"
	"liza/pkg/face/dashboard"
	"liza/pkg/face/dashboard/web"
	"liza/pkg/verb/verb/verbtest"
)

// scrape reads /metrics as Prometheus does.
func scrape(t *testing.T, p *verbtest.Place, change func(*web.Options)) map[string]*dto.MetricFamily {
	t.Helper()
	page := ask(t, serve(t, p, change), "GET", "/metrics", "")
	if got := page.header.Get("Content-Type"); page.status != 200 || !strings.HasPrefix(got, "text/plain; version=0.0.4") {
		t.Fatalf("status %d, type %q", page.status, got)
	}
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(page.text))
	if err != nil {
		t.Fatalf("the page is not of Prometheus' format: %v\n%s", err, page.text)
	}
	problems, err := promlint.New(strings.NewReader(page.text)).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, problem := range problems {
		t.Errorf("%s: %s", problem.Metric, problem.Text)
	}
	return families
}

// value is that of the sample with a label, "" for one without labels.
func value(t *testing.T, families map[string]*dto.MetricFamily, name, label string) float64 {
	t.Helper()
	for _, m := range families[name].GetMetric() {
		labels := []string{}
		for _, l := range m.GetLabel() {
			labels = append(labels, l.GetName()+"="+l.GetValue())
		}
		if strings.Join(labels, ",") == label {
			return m.GetGauge().GetValue() + m.GetCounter().GetValue()
		}
	}
	t.Errorf("there is no %s{%s}", name, label)
	return 0
}

func TestMetricsAreAsPrometheusExpectsThem(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	p.AddTask("task-1")
	if _, err := p.Service("coder-1").Claim(t.Context(), "task-1"); err != nil {
		t.Fatal(err)
	}
	families := scrape(t, p, func(o *web.Options) {
		o.Version = "odd \"version\" \\ of\ntwo lines ü"
		o.Metrics = func(*blackboard.State) (dashboard.Metrics, error) {
			list := dashboard.MetricsOf(nil, nil, nil, time.Now())
			for i := range list {
				n := blackboard.Amount(100 * (i + 1))
				list[i].Value = &n
			}
			return list, nil
		}
	})
	for name, kind := range map[string]dto.MetricType{"liza_tasks": dto.MetricType_GAUGE, "liza_agents_working": dto.MetricType_GAUGE, "liza_cost_dollars_total": dto.MetricType_COUNTER,
		"liza_tokens_total": dto.MetricType_COUNTER, "liza_alerts_open": dto.MetricType_GAUGE, "liza_runs_total": dto.MetricType_COUNTER} {
		if f := families[name]; f == nil || f.GetType() != kind || f.GetHelp() == "" {
			t.Errorf("%s: %v, want type %v with help", name, f, kind)
		}
	}
	list := dashboard.MetricsOf(nil, nil, nil, time.Now())
	at := slices.IndexFunc(list, func(m dashboard.Metric) bool { return m.Name == "cost_cents" })
	for name, want := range map[string]float64{"liza_tasks{status=CLAIMED}": 1, "liza_agents{role=coder}": 1, "liza_agents_working{role=coder}": 1, "liza_agents_working{role=planner}": 0,
		"liza_build_info{version=odd \"version\" \\ of\ntwo lines ü}": 1, "liza_goal_completed{}": 0, "liza_cost_dollars_total{}": float64(at + 1), "liza_review_approval_ratio{}": 10} {
		metric, label, _ := strings.Cut(strings.TrimSuffix(name, "}"), "{")
		if got := value(t, families, metric, label); got != want {
			t.Errorf("%s = %v, want %v", name, got, want)
		}
	}
}

// A figure of the report is on the page too, unless others add up to it.
func TestEveryFigureOfTheSprintIsAMetric(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	one := blackboard.Amount(1)
	for _, m := range dashboard.MetricsOf(nil, nil, nil, time.Now()) {
		if m.Name == "tokens" || m.Name == "review_verdict_count" {
			continue
		}
		families := scrape(t, p, func(o *web.Options) {
			o.Metrics = func(*blackboard.State) (dashboard.Metrics, error) {
				return dashboard.Metrics{{Name: m.Name, Value: &one}}, nil
			}
		})
		if len(families) != 8 {
			t.Errorf("%s is not on the page, or more than once: %d families", m.Name, len(families))
		}
	}
}

func TestAnUnknownFigureIsNotZero(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	families := scrape(t, p, func(o *web.Options) {
		o.Metrics = func(*blackboard.State) (dashboard.Metrics, error) {
			return dashboard.Metrics{{Name: "cost_cents"}, {Name: "tokens_in", Value: new(blackboard.Amount)}}, nil
		}
	})
	if families["liza_cost_dollars_total"] != nil || families["liza_tokens_total"] == nil {
		t.Errorf("an unknown cost is shown, or tokens are not: %v", families)
	}
}
