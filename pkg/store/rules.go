package store

import (
	"sync"

	"liza/pkg/seal"
	"liza/pkg/yamldoc"
)

// rules is what happens to a change before it is made durable, wherever that is.
type rules struct {
	o      Options
	reader *yamldoc.Reader

	mu     sync.Mutex
	key    *seal.Key
	judged judgement // what was found in the edit that was read last
}

func rulesOf(o Options) rules {
	if o.At == nil {
		o.At = func(string) {}
	}
	if o.Alert == nil {
		o.Alert = func(string, string) {}
	}
	return rules{o: o, reader: newReader()}
}
