// Package telemetry sends what a team does to a collector of OpenTelemetry: traces of task, attempt, run
// of an agent program, tool call and check, and metrics. It follows the files of a project from a process
// of its own (liza-telemetry), so that supervisors neither wait for a collector nor carry its libraries.
//
// A trace is a task; what planners do is the trace of the goal. Ids follow from goal, task and attempt, so
// that the supervisors of one board, and those of later days, add to the same traces. A span is made when
// what it shows has ended, with the times from the board. Names, numbers and outcomes are sent; texts of
// prompts, answers and tools are not.
package telemetry

import (
	"context"
	"strings"
	"sync"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"

	"liza/pkg/board/blackboard"
)

// figures are the metrics.
type figures struct {
	mu    sync.Mutex
	board *blackboard.State // that gauges show

	runs     metric.Int64Counter
	cost     metric.Float64Counter
	tokens   metric.Int64Histogram
	duration metric.Float64Histogram
	ofTask   metric.Float64Histogram
}

func newFigures(m metric.Meter) (*figures, error) {
	f := &figures{}
	var failed error
	note := func(err error) {
		if failed == nil {
			failed = err
		}
	}
	var err error
	f.runs, err = m.Int64Counter("liza.runs", metric.WithUnit("{run}"), metric.WithDescription("Runs of agent programs by outcome."))
	note(err)
	f.cost, err = m.Float64Counter("liza.cost", metric.WithUnit("USD"), metric.WithDescription("Known cost of runs."))
	note(err)
	f.tokens, err = m.Int64Histogram("gen_ai.client.token.usage", metric.WithUnit("{token}"), metric.WithDescription("Tokens of a run."))
	note(err)
	f.duration, err = m.Float64Histogram("gen_ai.client.operation.duration", metric.WithUnit("s"), metric.WithDescription("Duration of a run."))
	note(err)
	f.ofTask, err = m.Float64Histogram("liza.task.duration", metric.WithUnit("s"), metric.WithDescription("Time from the creation of a task to its end."))
	note(err)
	_, err = m.Int64ObservableGauge("liza.tasks", metric.WithUnit("{task}"), metric.WithDescription("Tasks on the board by status."), metric.WithInt64Callback(f.observeTasks))
	note(err)
	_, err = m.Int64ObservableGauge("liza.agents", metric.WithUnit("{agent}"), metric.WithDescription("Registered agents by role and status."), metric.WithInt64Callback(f.observeAgents))
	note(err)
	return f, failed
}

func (f *figures) set(s *blackboard.State) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.board = s
}

func (f *figures) state() *blackboard.State {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.board
}

func (f *figures) observeTasks(_ context.Context, o metric.Int64Observer) error {
	s := f.state()
	if s == nil {
		return nil
	}
	n := map[blackboard.Status]int64{}
	for t := range s.Tasks() {
		n[t.Status]++
	}
	for _, status := range blackboard.Statuses {
		o.Observe(n[status], metric.WithAttributes(attribute.String("liza.status", string(status))))
	}
	return nil
}

func (f *figures) observeAgents(_ context.Context, o metric.Int64Observer) error {
	s := f.state()
	if s == nil {
		return nil
	}
	n := map[[2]string]int64{}
	for _, a := range s.Agents {
		n[[2]string{string(a.Role), a.Status}]++
	}
	for key, count := range n {
		o.Observe(count, metric.WithAttributes(attribute.String("liza.role", key[0]), attribute.String("liza.status", key[1])))
	}
	return nil
}

// count adds a span that has ended.
func (f *figures) count(ctx context.Context, one span) {
	took := one.to.Sub(one.from).Seconds()
	if one.run == nil {
		if strings.HasPrefix(one.name, "task ") {
			f.ofTask.Record(ctx, took, metric.WithAttributes(attribute.String("liza.outcome", one.ended)))
		}
		return
	}
	l := one.run
	about := append(model(*l), semconv.GenAIOperationNameInvokeAgent, attribute.String("liza.role", l.Kind))
	ended := metric.WithAttributes(append(about[:len(about):len(about)], attribute.String("liza.outcome", l.Outcome))...)
	f.runs.Add(ctx, 1, ended)
	f.duration.Record(ctx, took, ended)
	if l.CostCents != nil {
		f.cost.Add(ctx, float64(*l.CostCents)/100, metric.WithAttributes(about...))
	}
	for kind, n := range map[attribute.KeyValue]*int{semconv.GenAITokenTypeInput: l.TokensIn, semconv.GenAITokenTypeOutput: l.TokensOut} {
		if n != nil {
			f.tokens.Record(ctx, int64(*n), metric.WithAttributes(append(about[:len(about):len(about)], kind)...))
		}
	}
}
