package agent

// A format knows how one program family writes its events. It translates; what the events
// mean for the run is the follower's.
type format interface {
	// decode translates one line of JSON. It reports whether it knows the line.
	decode(line []byte, emit func(Event)) (known bool)
}

// Names of the readers, as `output` of an entry.
const (
	formatText     = "text"
	formatScripted = "scripted"
)

type readerOptions struct {
	listen       func(Event) // may be nil
	dir          string      // that the program works in
	wholeSession bool
	answer       string // the field of formatObject
}
