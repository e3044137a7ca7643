package broker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/time/rate"
)

// open serves a handler and returns its socket.
func open(t *testing.T, h Handler) (*Server, string) {
	t.Helper()
	f, err := MakeFolder(short(t), t.Name(), "coder-1")
	if err != nil {
		t.Fatal(err)
	}
	s := Serve(f.Listener, h, nil)
	t.Cleanup(func() {
		if !s.Close() {
			t.Error("commands are still under way")
		}
	})
	return s, filepath.Join(f.Path, Socket)
}

// short is a folder whose path leaves room for a socket.
func short(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "b")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func call(t *testing.T, socket, stdin string, args ...string) (code int, stdout, stderr string, err error) {
	t.Helper()
	var out, errs bytes.Buffer
	c := &Client{Socket: socket, Stdin: strings.NewReader(stdin), Stdout: &out, Stderr: &errs,
		Open: func(name string) (io.ReadCloser, error) { return os.Open(name) }}
	code, err = c.Do(t.Context(), Request{Args: args, Dir: "/work"})
	return code, out.String(), errs.String(), err
}

func TestACommandIsCarriedOutOutside(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "plan")
	large := strings.Repeat("0123456789", 20_000)
	if err := os.WriteFile(file, []byte(large), 0o600); err != nil {
		t.Fatal(err)
	}
	_, socket := open(t, func(_ context.Context, c *Call) int {
		switch c.Args[0] {
		case "where":
			fmt.Fprintf(c.Stdout, "%s %q", c.Dir, c.Args)
			fmt.Fprint(c.Stderr, "a note")
			return 7
		case "panic":
			panic("ouch")
		}
		text, err := io.ReadAll(c.Open(strings.TrimPrefix(c.Args[0], "-")))
		fmt.Fprintf(c.Stdout, "%s", text)
		if err != nil {
			fmt.Fprint(c.Stderr, err)
			return 2
		}
		return 0
	})
	for _, tt := range []struct {
		args           []string
		stdin          string
		code           int
		stdout, stderr string
	}{
		{args: []string{"where", "a b", "ü"}, code: 7, stdout: `/work ["where" "a b" "ü"]`, stderr: "a note"},
		{args: []string{"-"}, stdin: large, stdout: large},
		{args: []string{"-"}},
		{args: []string{file}, stdout: large},
		{args: []string{file + "2"}, code: 2, stderr: "open " + file + "2: no such file or directory"},
		{args: []string{"panic"}, code: 1, stderr: "error: this is a bug in liza: ouch\nnext: liza status\n"},
	} {
		code, stdout, stderr, err := call(t, socket, tt.stdin, tt.args...)
		if err != nil || code != tt.code || stdout != tt.stdout || stderr != tt.stderr {
			t.Errorf("%q: %d, %.80q, %q, %v; want %d, %.80q, %q", tt.args, code, stdout, stderr, err, tt.code, tt.stdout, tt.stderr)
		}
	}
	if _, _, _, err := call(t, socket, "", strings.Repeat("x", maxRequest)); !errors.Is(err, ErrTooLong) {
		t.Errorf("a command line that is too long: %v", err)
	}
}

// What the command does not read stays with the one who called it: a shell's `while read` goes on.
func TestStdinIsReadOnlyWhenTheCommandReadsIt(t *testing.T) {
	t.Parallel()
	_, socket := open(t, func(context.Context, *Call) int { return 0 })
	in := strings.NewReader("for somebody else")
	c := &Client{Socket: socket, Stdin: in}
	if code, err := c.Do(t.Context(), Request{}); code != 0 || err != nil || in.Len() != len("for somebody else") {
		t.Errorf("%d, %v; %d bytes are left", code, err, in.Len())
	}
}

func TestAConversationGoesBothWays(t *testing.T) {
	t.Parallel()
	_, socket := open(t, func(_ context.Context, c *Call) int {
		buffer := make([]byte, 100)
		for {
			n, err := c.Stdin.Read(buffer)
			if err != nil {
				return 3
			}
			fmt.Fprintf(c.Stdout, "<%s>", buffer[:n])
		}
	})
	asks, questions := io.Pipe()
	answers, says := io.Pipe()
	ended := make(chan int)
	go func() {
		code, _ := (&Client{Socket: socket, Stdin: asks, Stdout: says}).Do(t.Context(), Request{})
		ended <- code
	}()
	for _, word := range []string{"one", "two"} {
		if _, err := io.WriteString(questions, word); err != nil {
			t.Fatal(err)
		}
		got := make([]byte, len(word)+2)
		if _, err := io.ReadFull(answers, got); err != nil || string(got) != "<"+word+">" {
			t.Errorf("%s is answered with %q, %v", word, got, err)
		}
	}
	_ = questions.Close()
	if code := <-ended; code != 3 {
		t.Errorf("it ends with %d", code)
	}
}

func TestAClientThatGoesAwayIsToldToTheCommand(t *testing.T) {
	t.Parallel()
	began, told := make(chan struct{}), make(chan error, 1)
	_, socket := open(t, func(ctx context.Context, c *Call) int {
		close(began)
		<-c.Gone
		_, err := c.Stdin.Read(make([]byte, 1))
		told <- errors.Join(ctx.Err(), err)
		return 0
	})
	ctx, leave := context.WithCancel(t.Context())
	go func() {
		<-began
		leave()
	}()
	if _, err := (&Client{Socket: socket}).Do(ctx, Request{}); !errors.Is(err, context.Canceled) {
		t.Errorf("the client ends with %v", err)
	}
	if err := <-told; !errors.Is(err, errGone) || errors.Is(err, context.Canceled) {
		t.Errorf("the command is told %v", err)
	}
}

func TestAtTheEndOfTheRunCommandsEndAndNobodyAnswers(t *testing.T) {
	t.Parallel()
	began := make(chan struct{})
	s, socket := open(t, func(ctx context.Context, c *Call) int {
		close(began)
		_, err := c.Stdin.Read(make([]byte, 1))
		<-ctx.Done()
		fmt.Fprint(c.Stdout, err)
		return 130
	})
	silent := raw(t, socket) // it never says what it wants
	hangs, _ := io.Pipe()
	var out bytes.Buffer
	ended := make(chan int)
	go func() {
		code, err := (&Client{Socket: socket, Stdin: hangs, Stdout: &out}).Do(t.Context(), Request{})
		if err != nil {
			t.Error(err)
		}
		ended <- code
	}()
	<-began
	if !s.Close() {
		t.Error("commands are still under way")
	}
	if code := <-ended; code != 130 || out.String() != errGone.Error() {
		t.Errorf("it ends with %d, %q", code, &out)
	}
	if _, err := silent.Read(make([]byte, 100)); err != nil {
		t.Error(err)
	}
	if _, _, _, err := call(t, socket, ""); !errors.Is(err, ErrGone) {
		t.Errorf("after the end: %v", err)
	}
}

func raw(t *testing.T, socket string) net.Conn {
	t.Helper()
	conn, err := net.Dial("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// A client that breaks the protocol, hangs or floods costs its own command, and nobody else's.
func TestABadClientHarmsNobody(t *testing.T) {
	t.Parallel()
	var under atomic.Int32
	_, socket := open(t, func(_ context.Context, c *Call) int {
		under.Add(1)
		defer under.Add(-1)
		switch c.Args[0] {
		case "flood":
			for range 10_000 {
				if _, err := c.Stdout.Write(make([]byte, maxChunk)); err != nil {
					return 1
				}
			}
		case "read":
			_, _ = io.ReadAll(c.Stdin)
		case "wait":
			<-c.Gone
		}
		return 0
	})
	request := func(word string) []byte {
		return appendFrame(nil, kindRequest, []byte(`{"args":["`+word+`"]}`))
	}
	for name, bytes := range map[string][]byte{
		"nothing":                {},
		"noise":                  []byte(strings.Repeat("noise ", 100)),
		"half a header":          {version, 1},
		"another version":        {9, 1, 0, 0, 0, 0},
		"a kind that is not":     {version, 99, 0, 0, 0, 0},
		"more than is allowed":   {version, 1, 0xff, 0xff, 0xff, 0xff},
		"half a request":         request("wait")[:10],
		"no JSON":                appendFrame(nil, kindRequest, []byte("{")),
		"data for a request":     appendFrame(nil, kindData, []byte("x")),
		"two requests":           append(request("wait"), request("wait")...),
		"what nobody asked for":  append(request("wait"), appendFrame(nil, kindData, []byte("x"))...),
		"an answer that is long": append(request("read"), appendFrame(nil, kindData, make([]byte, maxChunk+1))...),
		"flooding":               append(request("wait"), make([]byte, 8<<20)...),
		"reading nothing":        request("flood"),
	} {
		conn := raw(t, socket)
		go func() { _, _ = conn.Write(bytes) }()
		if code, _, _, err := call(t, socket, "", "fine"); code != 0 || err != nil {
			t.Errorf("beside %s: %d, %v", name, code, err)
		}
		if strings.HasPrefix(name, "what") || strings.HasPrefix(name, "two") || name == "flooding" || name == "another version" || name == "more than is allowed" {
			_ = conn.SetReadDeadline(time.Now().Add(opening / 2))
			if _, err := io.Copy(io.Discard, conn); errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("%s: the connection stays open", name)
			}
		}
		_ = conn.Close()
	}
	for deadline := time.Now().Add(opening); under.Load() > 0; {
		if time.Now().After(deadline) {
			t.Fatalf("%d commands of clients that are gone are under way", under.Load())
		}
	}
}

func TestMoreCommandsThanAreAllowedAtOnceWait(t *testing.T) {
	t.Parallel()
	var at, most atomic.Int32
	_, socket := open(t, func(context.Context, *Call) int {
		for now := at.Add(1); ; {
			if was := most.Load(); now <= was || most.CompareAndSwap(was, now) {
				break
			}
		}
		at.Add(-1)
		return 0
	})
	var all sync.WaitGroup
	for range 4 * maxCalls {
		all.Go(func() {
			if code, _, _, err := call(t, socket, ""); code != 0 || err != nil {
				t.Errorf("%d, %v", code, err)
			}
		})
	}
	all.Wait()
	if most.Load() > maxCalls {
		t.Errorf("%d at once", most.Load())
	}
}

func FuzzReadFrame(f *testing.F) {
	f.Add(appendFrame(nil, kindRequest, []byte(`{"args":["status"]}`)))
	f.Add(appendFrame(appendFrame(nil, kindData, nil), kindExit, []byte{0}))
	f.Add([]byte{version, 1, 0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, data []byte) {
		r := bytes.NewReader(data)
		for {
			before := r.Len()
			k, content, err := readFrame(r, maxChunk)
			if err != nil {
				return
			}
			if len(content) > maxChunk || k == 0 || k >= kinds {
				t.Fatalf("a frame of kind %d with %d bytes", k, len(content))
			}
			if want := data[len(data)-before : len(data)-r.Len()]; !bytes.Equal(appendFrame(nil, k, content), want) {
				t.Fatal("a frame that is written again is another one")
			}
		}
	})
}

// A run that calls in a loop takes the board's lock from the others: after some commands each waits
// for its turn.
func TestARunThatCallsWithoutEndIsSlowedDown(t *testing.T) {
	t.Parallel()
	f, err := MakeFolder(short(t), t.Name(), "coder-1")
	if err != nil {
		t.Fatal(err)
	}
	var carriedOut atomic.Int32
	never := rate.NewLimiter(0, 3) // three, and no more
	s := serve(f.Listener, func(context.Context, *Call) int { carriedOut.Add(1); return 0 }, nil, never)
	socket := filepath.Join(f.Path, Socket)
	for range 3 {
		if code, _, _, err := call(t, socket, "", "status"); code != 0 || err != nil {
			t.Fatalf("exit code %d, %v", code, err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	c := &Client{Socket: socket, Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: io.Discard, Open: func(string) (io.ReadCloser, error) { return nil, io.EOF }}
	if code, err := c.Do(ctx, Request{Args: []string{"status"}, Dir: "/work"}); err == nil && code == 0 {
		t.Error("the fourth was carried out at once")
	}
	if !s.Close() {
		t.Error("a command that waits for its turn keeps the end of the run waiting")
	}
	if n := carriedOut.Load(); n != 3 {
		t.Errorf("%d were carried out", n)
	}
}
