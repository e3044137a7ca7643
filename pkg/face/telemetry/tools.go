package telemetry

import (
	"fmt"
	"time"

	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"

	"liza/pkg/run/activity"
)

// toolSpans are the tool calls of a run, out of its activity file. They say more exactly, too, when the
// run began and ended.
func toolSpans(run *span, events []activity.Event) (list []span) {
	var open *span
	close := func(at time.Time) {
		if open != nil {
			open.to = at
			list, open = append(list, *open), nil
		}
	}
	for i, e := range events {
		switch e.Kind {
		case activity.Run:
			run.from = e.At
		case activity.Tool:
			close(e.At)
			open = &span{trace: run.trace, id: spanID(run.id.String(), "tool", fmt.Sprint(i)), parent: run.id, name: "execute_tool " + e.Tool, task: run.task, from: e.At,
				attributes: []attribute.KeyValue{semconv.GenAIOperationNameExecuteTool, semconv.GenAIToolName(e.Tool), semconv.GenAIAgentName(run.run.Agent)}}
			if run.task != "" {
				open.attributes = append(open.attributes, attribute.String("liza.task.id", run.task))
			}
		case activity.End:
			close(e.At)
			run.to = e.At
		default:
			close(e.At)
		}
	}
	close(run.to)
	return list
}

// eventsOf are the events of the run with that correlation id in an activity file, none when it is not there.
func eventsOf(path, id string) (list []activity.Event) {
	all, _, err := activity.Read(path, 0)
	if err != nil {
		return nil // the run is told without its tools
	}
	within := false
	for _, e := range all {
		if e.Kind == activity.Run {
			within = e.ID == id
		}
		if within {
			list = append(list, e)
		}
	}
	return list
}
