package forge

import (
	"fmt"
	"time"
)

// LimitError says that the forge takes no more calls for now.
type LimitError struct {
	Host  string
	Until time.Time
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("%s takes no more calls until %s", e.Host, e.Until.UTC().Format(time.RFC3339))
}

// StatusError is an answer of the forge that is none of those that were hoped for.
type StatusError struct {
	What   string // method and path
	Status int
	Text   string // what the forge says
}

func (e *StatusError) Error() string {
	text := ""
	if e.Text != "" {
		text = ": " + e.Text
	}
	return fmt.Sprintf("%s answered %d%s", e.What, e.Status, text)
}

// RefusedError says why the forge does not merge a request now.
type RefusedError struct{ Reason string }

func (e *RefusedError) Error() string { return "the forge does not merge it: " + e.Reason }
