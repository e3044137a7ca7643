package agent

import (
	"os"
	"testing"
	"time"
)

// A heard reader tells of each line that it got.
type heard struct {
	Reader
	lines chan string
}

func (h heard) Line(line []byte) bool {
	h.lines <- string(line)
	return false
}

func TestOutputKnowsWhatStderrSaidAfterTheLastLineOfStdout(t *testing.T) {
	t.Parallel()
	var from, to [2]*os.File
	for i := range from {
		var err error
		if from[i], to[i], err = os.Pipe(); err != nil {
			t.Fatal(err)
		}
	}
	said := make(chan string, 9)
	o := &output{reader: heard{lines: said}, to: writerFunc(func(p []byte) { said <- string(p) }), began: time.Now(), from: from}
	o.start()
	say := func(which int, text string) {
		t.Helper()
		if _, err := to[which].WriteString(text); err != nil {
			t.Fatal(err)
		}
		<-said // by the log; the next one comes after it
	}
	say(stderr, "long past\n")
	say(stdout, "it works\n")
	<-said // by the reader
	say(stderr, "refused\n")
	say(stderr, "waits\n")
	to[stdout].Close()
	to[stderr].Close()
	o.finish(time.Minute)
	if got := string(o.after.bytes()); got != "refused\nwaits\n" {
		t.Errorf("got %q", got)
	}
}

type writerFunc func(p []byte)

func (f writerFunc) Write(p []byte) (int, error) {
	f(p)
	return len(p), nil
}
