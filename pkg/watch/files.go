package watch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"liza/pkg/blackboard"
	"liza/pkg/safefile"
)

// Files is the folder .liza with alerts.json, alerts.log and ESCALATION (specs/protocol.md#1.1), and
// how its files are changed: who knows safe files gives the functions.
type Files struct {
	Dir     string
	Lock    func(ctx context.Context) (unlock func() error, err error) // alerts.lock
	Replace func(path string, data []byte) error
	Append  func(path string, data []byte) error
}

func (f Files) open() string       { return filepath.Join(f.Dir, "alerts.json") }
func (f Files) log() string        { return filepath.Join(f.Dir, "alerts.log") }
func (f Files) escalation() string { return filepath.Join(f.Dir, "ESCALATION") }

// kept is the content of alerts.json.
type kept struct {
	Open []Alert `json:"open"`
}

// Open are the alerts that are open, as the last watcher has left them.
func (f Files) Open() ([]Alert, error) { return f.read() }

// read reads alerts.json. That is a cache: when it is missing or broken, alerts.log says
// what is open.
func (f Files) read() ([]Alert, error) {
	data, err := safefile.Read(f.open())
	var k kept
	if err == nil && json.Unmarshal(data, &k) == nil {
		return k.Open, nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("cannot read the open alerts: %v", err)
	}
	data, err = safefile.Read(f.log())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("cannot read the log of alerts: %v", err)
	}
	return replay(string(data)), nil
}

var (
	raisedLine  = regexp.MustCompile(`^(\S+) RAISED (\S+) (\S+): (.*)$`)
	clearedLine = regexp.MustCompile(`^(\S+) CLEARED (\S+) (\S+) after `)
)

// replay gives what is open by the lines of alerts.log; what is no such line is passed over.
func replay(log string) []Alert {
	var open []Alert
	for text := range strings.Lines(log) {
		text = strings.TrimRight(text, "\r\n")
		m := raisedLine.FindStringSubmatch(text)
		raised := m != nil
		if !raised {
			m = clearedLine.FindStringSubmatch(text)
		}
		if m == nil {
			continue
		}
		at, err := time.Parse(time.RFC3339, m[1])
		if err != nil {
			continue
		}
		kind := blackboard.AlertKind(m[2])
		a := Alert{Kind: kind, Subject: m[3], Severity: severityOf(kind), Since: at}
		open = slices.DeleteFunc(open, func(o Alert) bool { return o.id() == a.id() })
		if !raised {
			continue
		}
		if a.Message = m[4]; isNotice(a.Kind) {
			a.Until = at.Add(noticeLife)
		}
		open = append(open, a)
	}
	return open
}

func isNotice(kind blackboard.AlertKind) bool {
	for _, k := range Kinds {
		if k.Name == kind {
			return k.find == nil
		}
	}
	return false
}

// write notes what changed in alerts.log, then what is open: killed between the two, a line
// comes twice rather than never.
func (f Files) write(open []Alert, changes []Change, touched bool) error {
	if len(changes) > 0 {
		var b strings.Builder
		for _, c := range changes {
			b.WriteString(c.String() + "\n")
		}
		if err := f.Append(f.log(), []byte(b.String())); err != nil {
			return fmt.Errorf("cannot write the log of alerts: %w", err)
		}
	}
	if !touched {
		return nil
	}
	if open == nil {
		open = []Alert{}
	}
	data, err := json.MarshalIndent(kept{Open: open}, "", "  ")
	if err != nil {
		return err
	}
	if err := f.Replace(f.open(), append(data, '\n')); err != nil {
		return fmt.Errorf("cannot write the open alerts: %w", err)
	}
	return nil
}

// Report raises a one-time notice, or keeps it open for another day.
func (f Files) Report(ctx context.Context, n Alert) error {
	unlock, err := f.Lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	open, err := f.read()
	if err != nil {
		return err
	}
	for i, a := range open {
		if a.id() == n.id() {
			open[i].Message, open[i].Until = n.Message, n.Until
			return f.write(open, nil, true)
		}
	}
	return f.write(append(open, n), []Change{{Alert: n, At: n.Since}}, true)
}
