package telemetry

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/contrib/exporters/autoexport"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/trace"

	"liza/pkg/base/safefile"
	"liza/pkg/board/history"
)

const (
	between   = time.Second     // two looks at the board, at least: a busy team costs no more
	lastFlush = 2 * time.Second // for what is still to be sent at the end

	// overlap is what a process that takes over sends again: a span that comes twice has the same id,
	// one that is left out is lost.
	overlap = 5 * time.Second
)

// Export sends what happens until ctx ends, and then what is left, as long as lastFlush allows. The
// environment says where to, as for every program with OpenTelemetry's SDK. One process at a time does it
// for a project; others wait for that one to end.
func Export(ctx context.Context, o Options) error {
	o.Problem = once(o.Problem)
	otel.SetErrorHandler(otel.ErrorHandlerFunc(o.Problem))
	p := o.Source.Service.Board.Project
	unlock, err := safefile.LockIn(ctx, p.TelemetryLock(), safefile.Holder{PID: os.Getpid(), Op: "telemetry", Since: o.Source.Service.Board.Now()})
	if ctx.Err() != nil {
		return nil // it ends while another process sends
	}
	if err != nil {
		return err
	}
	defer func() { _ = unlock() }()
	x, err := start(context.WithoutCancel(ctx), o)
	if err != nil {
		return fmt.Errorf("cannot export telemetry: %w", err)
	}
	if at := readMark(p.TelemetryMark()); at.After(x.Since) {
		x.Since = at
	}
	done := make(chan error, 1)
	go func() {
		x.follow(ctx)
		bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastFlush)
		defer cancel()
		done <- x.end(bounded)
	}()
	select {
	case err = <-done:
	case <-ctx.Done():
		select {
		case err = <-done:
		case <-time.After(lastFlush + between/2): // the SDK waits for a collector that takes nothing
			err = errors.New("the collector did not take what was left in time")
		}
	}
	if err != nil {
		o.Problem(err)
	}
	return nil
}

// once passes each message on the first time that it comes: a collector that is away is told once.
func once(tell func(error)) func(error) {
	var mu sync.Mutex
	told := map[string]bool{}
	return func(err error) {
		mu.Lock()
		defer mu.Unlock()
		if text := err.Error(); !told[text] {
			told[text] = true
			tell(fmt.Errorf("cannot export telemetry: %w", err))
		}
	}
}

// The mark is a file that says until when everything was given to the SDK.
func readMark(path string) time.Time {
	text, err := safefile.Read(path)
	if err != nil {
		return time.Time{}
	}
	at, _ := time.Parse(time.RFC3339, strings.TrimSpace(string(text)))
	return at
}

func start(ctx context.Context, o Options) (*exporter, error) {
	about, err := resource.New(ctx, resource.WithAttributes(semconv.ServiceName("liza"), semconv.ServiceVersion(o.Version)), resource.WithTelemetrySDK(), resource.WithHost(), resource.WithFromEnv())
	if err != nil && !errors.Is(err, resource.ErrPartialResource) && !errors.Is(err, resource.ErrSchemaURLConflict) {
		return nil, err
	}
	spans, err := autoexport.NewSpanExporter(ctx)
	if err != nil {
		return nil, err
	}
	reader, err := autoexport.NewMetricReader(ctx)
	if err != nil {
		return nil, err
	}
	x := &exporter{Options: o, sent: map[trace.SpanID]bool{}, flags: map[trace.TraceID]trace.TraceFlags{}, journal: revisions{}, seen: -1}
	x.traces = sdktrace.NewTracerProvider(sdktrace.WithResource(about), sdktrace.WithIDGenerator(givenIDs{}), sdktrace.WithBatcher(spans, sdktrace.WithBlocking()))
	x.meters = metric.NewMeterProvider(metric.WithResource(about), metric.WithReader(reader))
	x.figures, err = newFigures(x.meters.Meter(scope))
	return x, err
}

// follow looks whenever the board may have changed, and for the last time when ctx has ended.
func (x *exporter) follow(ctx context.Context) {
	changed := x.Source.Watch(ctx)
	for ctx.Err() == nil {
		x.look(context.WithoutCancel(ctx))
		select {
		case <-ctx.Done():
		case <-time.After(between):
		}
		select {
		case <-ctx.Done():
		case <-changed:
		}
	}
	x.look(context.WithoutCancel(ctx))
}

// look gives the SDK what has ended since the last look.
func (x *exporter) look(ctx context.Context) {
	now := x.Source.Service.Board.Now()
	s, err := x.Source.State(ctx)
	if err != nil || s.Revision == x.seen {
		return // what a damaged board hides is found at the next look
	}
	// The ledger has the line of a run before the board has its end, so it is read later.
	p := x.Source.Service.Board.Project
	usage, err := history.ReadUsage(p.Usage())
	if err != nil {
		x.Problem(err)
	}
	x.journal.read(history.Journal{Path: p.Journal()}, x.Since)
	x.seen = s.Revision
	x.figures.set(s)
	for _, one := range spansOf(s, usage) {
		if one.to.Before(x.Since) || x.sent[one.id] {
			continue
		}
		x.sent[one.id] = true
		if one.run != nil {
			for _, tool := range toolSpans(&one, eventsOf(activityFile(p, one.run), one.run.ID)) {
				x.send(ctx, tool, s)
			}
		}
		x.send(ctx, one, s)
		x.figures.count(ctx, one)
	}
	if err := safefile.Replace(p.TelemetryMark(), []byte(now.Add(-overlap).UTC().Format(time.RFC3339)+"\n"), 0o644); err != nil {
		x.Problem(err)
	}
}

// end sends what is left.
func (x *exporter) end(ctx context.Context) error {
	return errors.Join(x.traces.Shutdown(ctx), x.meters.Shutdown(ctx))
}
