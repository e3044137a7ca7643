package mcp

import (
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
)

// Requests are read one after the other, each when the one before it is answered, and the end
// of the input comes after the last answer.
func TestTheNextRequestWaitsForTheAnswer(t *testing.T) {
	t.Parallel()
	input := `{"jsonrpc":"2.0","id":1,"method":"a"}` + "\n" + `{"jsonrpc":"2.0","method":"b"}` + "\n\n" + `{"jsonrpc":"2.0","id":"x","method":"c"}`
	o := newSequential(strings.NewReader(input), io.Discard)
	read := make(chan string)
	go func() {
		defer close(read)
		for {
			p := make([]byte, 1000)
			n, err := o.Read(p)
			if err != nil {
				return
			}
			read <- string(p[:n])
		}
	}()
	answer := func(text string) {
		if _, err := io.WriteString(o, text); err != nil {
			t.Error(err)
		}
	}
	if got := <-read; got != `{"jsonrpc":"2.0","id":1,"method":"a"}`+"\n" {
		t.Fatalf("first %q", got)
	}
	for _, other := range []string{`{"id":7,"method":"ping"}`, `{"method":"progress"}`, `{"id":2,"result":{}}`} {
		answer(other + "\n")
		select {
		case got := <-read:
			t.Fatalf("after %s, which is not an answer to it, came %q", other, got)
		default:
		}
	}
	answer(`{"id":1,"result":{}}` + "\n")
	if got := <-read + <-read + <-read; got != `{"jsonrpc":"2.0","method":"b"}`+"\n\n"+`{"jsonrpc":"2.0","id":"x","method":"c"}`+"\n" {
		t.Fatalf("then %q", got)
	}
	if o.ended() && o.asked == nil {
		t.Fatal("the end came before the last answer")
	}
	answer(`{"id":"x","error":{}}` + "\n")
	if got, more := <-read; more {
		t.Fatalf("after the end %q", got)
	}
	if !o.ended() {
		t.Error("it did not notice the end")
	}
}

func TestAReadThatWaitsIsLetGoByTheEndOfTheServer(t *testing.T) {
	t.Parallel()
	o := newSequential(strings.NewReader(strings.Repeat(`{"jsonrpc":"2.0","id":1,"method":"a"}`+"\n", 3)), io.Discard)
	done := make(chan error)
	go func() {
		_, err := io.Copy(io.Discard, o)
		done <- err
	}()
	if err := o.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Errorf("got %v", err)
	}
	if fmt.Sprint(o.ended()) != "true" {
		t.Error("it did not come to the end")
	}
}

// A line that is not a message is answered with an error of JSON-RPC, and what follows is served.
func TestWhatIsNoMessageIsAnswered(t *testing.T) {
	t.Parallel()
	good := `{"jsonrpc":"2.0","method":"b"}` + "\n"
	for line, want := range map[string]string{
		`{bad json`: `"code":-32700`,
		"caf\xe9":   `"code":-32700`,
		`[]`:        `"code":-32600`,
		`[{"jsonrpc":"2.0","id":1,"method":"a"}]`: `"code":-32600`,
		`42`:                                    `"code":-32600`,
		`{"jsonrpc":"2.0"}`:                     `"code":-32600`,
		`{"jsonrpc":"1.0","id":4,"method":"a"}`: `"id":4`,
		`{"jsonrpc":"2.0","id":null,"method":"a"}`:    `"id":null`,
		`{"jsonrpc":"2.0","id":{"a":1},"method":"a"}`: `"id":null`,
		`{"jsonrpc":"2.0","id":7,"method":["a","b"]}`: `"code":-32600`,
	} {
		var said strings.Builder
		o := newSequential(strings.NewReader(line+"\n"+good), &said)
		read, err := io.ReadAll(o)
		if err != nil || string(read) != good {
			t.Errorf("%s: the server reads %q, %v", line, read, err)
		}
		if got := said.String(); !strings.Contains(got, want) || !strings.HasSuffix(got, "}\n") {
			t.Errorf("%s: answered %q, want %s", line, got, want)
		}
	}
}

// endless is a line of so many bytes, and then what follows.
func endless(n int, then string) io.Reader {
	return io.MultiReader(io.LimitReader(repeated('x'), int64(n)), strings.NewReader("\n"+then))
}

type repeated byte

func (b repeated) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(b)
	}
	return len(p), nil
}

func TestALineWithoutEndIsNotKept(t *testing.T) {
	// Not parallel: what other tests allocate meanwhile would be counted.
	good := `{"jsonrpc":"2.0","method":"b"}` + "\n"
	var said strings.Builder
	o := newSequential(endless(20*maxLine, good), &said)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	read, err := io.ReadAll(o)
	runtime.ReadMemStats(&after)
	if err != nil || string(read) != good || !strings.Contains(said.String(), "the line has more than") {
		t.Errorf("the server reads %q, %v, and says %q", read, err, said.String())
	}
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 10*maxLine {
		t.Errorf("%d bytes were taken for a line of %d", grown, 20*maxLine)
	}
}
