package project

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"liza/pkg/base/safefile"
)

// Control is the name of a control file in .liza (specs/protocol.md#13.5, specs/decisions.md#D15). People may make and remove
// these files with `touch` and `rm`.
type Control string

// The control files. ABORT wins over the others.
const (
	Abort      Control = "ABORT"
	Checkpoint Control = "CHECKPOINT"
	Pause      Control = "PAUSE"
)

// Rank returns the rank of a control; the lowest one wins.
func (c Control) Rank() int { return slices.Index(controls, c) }

var controls = []Control{Abort, Checkpoint, Pause}

// Order is an existing control file.
type Order struct {
	Control  Control
	Since    time.Time // the time in the file, else its modification time
	Modified time.Time // modification time of the file: its age for alerts
	Reason   string
}

// String returns why nothing new may start: "paused since 2026-01-19T14:00:00Z: lunch".
func (o Order) String() string {
	state := map[Control]string{Abort: "aborted", Checkpoint: "at a checkpoint", Pause: "paused"}[o.Control]
	text := fmt.Sprintf("%s since %s", state, o.Since.UTC().Format(time.RFC3339))
	if o.Reason != "" {
		text += ": " + o.Reason
	}
	return text
}

// Controls are the control files of a project.
type Controls struct {
	dir  string              // .liza
	mask func(string) string // masks reasons; may be nil
}

// Controls returns the control files of the project.
func (p *Project) Controls() Controls { return Controls{p.Liza, p.Mask} }

func (f Controls) path(c Control) string { return filepath.Join(f.dir, string(c)) }

// Orders returns the existing control files, the winning one first. An unreadable file counts: it is safer to stop than to go
// on.
func (f Controls) Orders() []Order {
	var out []Order
	for _, c := range controls {
		if o, ok := f.Order(c); ok {
			out = append(out, o)
		}
	}
	return out
}

// Order reads one control file; ok is false if it does not exist.
func (f Controls) Order(c Control) (o Order, ok bool) {
	path := f.path(c)
	info, err := os.Lstat(path)
	if err != nil {
		return Order{}, false
	}
	at := info.ModTime().UTC()
	o = Order{Control: c, Since: at, Modified: at}
	if !info.Mode().IsRegular() {
		return o, true
	}
	lines := firstLines(path)
	if since, err := time.Parse(time.RFC3339, lines[0]); err == nil {
		o.Since, o.Reason = since.UTC(), lines[1]
	} else if o.Reason = lines[0]; o.Reason == "" { // a person wrote the reason only
		o.Reason = lines[1]
	}
	return o, true
}

// firstLines returns the first two lines of a small file, or "" for missing ones.
func firstLines(path string) [2]string {
	var out [2]string
	f, err := safefile.Open(path)
	if err != nil {
		return out
	}
	defer f.Close()
	data, _ := io.ReadAll(io.LimitReader(f, 4096)) // what could be read is what counts
	for i, line := range strings.SplitN(string(data), "\n", 3) {
		if i < len(out) {
			out[i] = strings.TrimSpace(strings.ToValidUTF8(line, ""))
		}
	}
	return out
}

// Set makes or replaces a control file.
func (f Controls) Set(c Control, reason string, at time.Time) error {
	if f.mask != nil {
		reason = f.mask(reason)
	}
	text := at.UTC().Format(time.RFC3339) + "\n" + strings.Join(strings.Fields(reason), " ") + "\n"
	return safefile.Replace(f.path(c), []byte(text), 0o644)
}

// Clear removes a control file, if it exists.
func (f Controls) Clear(c Control) error {
	if err := os.Remove(f.path(c)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cannot remove the control file %s: %v", c, err)
	}
	return nil
}
