package telemetry

import (
	"cmp"
	"context"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/trace"

	"liza/pkg/blackboard"
	"liza/pkg/history"
	"liza/pkg/project"
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
