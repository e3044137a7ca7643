package telemetry

import (
	"cmp"
	"context"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/trace"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/history"
	"liza/pkg/code/project"
	"liza/pkg/face/dashboard/source"
)

// givenIDs gives a span the ids that its context holds.
type givenIDs struct{}

type idsKey struct{}

func (givenIDs) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	s, _ := ctx.Value(idsKey{}).(span)
	return s.trace, s.id
}

func (g givenIDs) NewSpanID(ctx context.Context, _ trace.TraceID) trace.SpanID {
	_, id := g.NewIDs(ctx)
	return id
}

// send gives a span to the SDK.
func (x *exporter) send(ctx context.Context, one span, s *blackboard.State) {
	tracer := x.traces.Tracer(scope, trace.WithInstrumentationVersion(x.Version))
	ctx = context.WithValue(ctx, idsKey{}, one)
	options := []trace.SpanStartOption{trace.WithTimestamp(one.from), trace.WithAttributes(one.attributes...), trace.WithAttributes(attribute.Int("liza.revision", x.journal.at(one, s)))}
	if one.link.IsValid() {
		options = append(options, trace.WithLinks(trace.Link{SpanContext: one.link}))
	}
	if one.parent.IsValid() {
		flags, known := x.flags[one.trace]
		if !known {
			// The root ends last. Whether the sampler takes its trace is asked by one that is never sent.
			_, probe := tracer.Start(ctx, "", trace.WithNewRoot())
			flags = probe.SpanContext().TraceFlags()
			x.flags[one.trace] = flags
		}
		ctx = trace.ContextWithRemoteSpanContext(ctx, trace.NewSpanContext(trace.SpanContextConfig{TraceID: one.trace, SpanID: one.parent, TraceFlags: flags, Remote: true}))
	}
	_, sdk := tracer.Start(ctx, one.name, options...)
	if one.failed != "" {
		sdk.SetStatus(codes.Error, one.failed)
		sdk.SetAttributes(semconv.ErrorTypeKey.String(one.failed))
	}
	sdk.End(trace.WithTimestamp(one.to))
}

// activityFile has the events of a run.
func activityFile(p *project.Project, l *history.UsageLine) string {
	return strings.TrimSuffix(p.Output(cmp.Or(l.Task, l.Agent)), ".log") + ".events"
}

// exporter is the SDK with what it has been given so far.
type exporter struct {
	Options
	traces  *sdktrace.TracerProvider
	meters  *metric.MeterProvider
	figures *figures
	sent    map[trace.SpanID]bool
	flags   map[trace.TraceID]trace.TraceFlags
	journal revisions
	seen    int // the revision that was looked at last
}

// scope names who made spans and metrics.
const scope = "liza"

// revisions are where the journal tells of something: by task and second, and by run.
type revisions struct {
	last int
	of   map[[2]string]int
}

func (r *revisions) read(j history.Journal, since time.Time) {
	if r.of == nil {
		r.of = map[[2]string]int{}
	}
	entries, err := j.Read(history.Filter{AfterRev: r.last, Since: since})
	if err != nil {
		return // the revision of the board is near enough
	}
	for _, e := range entries {
		r.last = max(r.last, e.Rev)
		r.of[[2]string{e.Task, string(e.Timestamp)}] = e.Rev
		if id, ok := e.Extra["run"].(string); ok {
			r.of[[2]string{"run", id}] = e.Rev
		}
	}
}

func (r *revisions) at(one span, s *blackboard.State) int {
	if one.run != nil {
		if rev, ok := r.of[[2]string{"run", one.run.ID}]; ok {
			return rev
		}
	}
	if rev, ok := r.of[[2]string{one.task, string(blackboard.TimeOf(one.to))}]; ok {
		return rev
	}
	return s.Revision
}

// Options says what is exported.
type Options struct {
	Source  *source.Source
	Version string
	Since   time.Time   // what ended before is not sent
	Problem func(error) // is told what goes wrong
}
