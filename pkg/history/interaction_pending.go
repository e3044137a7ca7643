package history

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"liza/pkg/safefile"
)

// Owner is the process in which a run takes place.
type Owner struct {
	PID      int    `json:"pid"`
	PIDStart int64  `json:"pid_start"`
	Host     string `json:"host"`
	BootID   string `json:"boot_id"`
}

// pending is a request whose response is still to come.
type pending struct {
	Owner       Owner       `json:"owner"`
	Interaction Interaction `json:"interaction"`
}

// Begin puts the request of a run on disk before the program starts, and returns the
// number that its interaction will have unless another run of the same folder ends first.
func (h Interactions) Begin(ctx context.Context, in Interaction, owner Owner) (sequence int, err error) {
	unlock, err := h.lock(ctx)
	if err != nil {
		return 0, err
	}
	defer unlock()
	_, last, err := h.settle()
	if err != nil {
		return 0, err
	}
	waiting, err := h.pending()
	if err != nil {
		return 0, err
	}
	for _, n := range waiting {
		last = max(last, n)
	}
	in.Sequence = last + 1
	data, err := json.Marshal(pending{Owner: owner, Interaction: in.masked(h.Mask)})
	if err != nil {
		return 0, fmt.Errorf("cannot write the history: %v", err)
	}
	return in.Sequence, safefile.Replace(h.pendingFile(in.Sequence), data, 0o600)
}

// Finish turns the request that Begin has written under that number into an interaction.
func (h Interactions) Finish(ctx context.Context, begun int, in Interaction) error {
	unlock, err := h.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if _, err := h.append(in); err != nil {
		return err
	}
	return h.forget(begun)
}

// Recover turns requests whose process is gone into interactions that failed, and tells
// how many there were.
func (h Interactions) Recover(ctx context.Context, alive func(Owner) bool) (int, error) {
	if waiting, err := h.pending(); err != nil || len(waiting) == 0 {
		return 0, err
	}
	unlock, err := h.lock(ctx)
	if err != nil {
		return 0, err
	}
	defer unlock()
	waiting, err := h.pending()
	if err != nil {
		return 0, err
	}
	n := 0
	for _, number := range waiting {
		p, err := h.readPending(number)
		if err != nil {
			return n, err
		}
		if p == nil || alive(p.Owner) {
			continue
		}
		p.Interaction.Response.Status = Failed
		p.Interaction.Liza.Error = "its supervisor ended before the run did"
		if _, err := h.append(p.Interaction); err != nil {
			return n, err
		}
		if err := h.forget(number); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

func (h Interactions) pendingFile(n int) string {
	return filepath.Join(h.Dir, fmt.Sprintf("pending-%d.json", n))
}

func (h Interactions) forget(n int) error {
	if err := os.Remove(h.pendingFile(n)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cannot write the history: %v", err)
	}
	return nil
}

// pending lists the numbers of the requests that wait.
func (h Interactions) pending() ([]int, error) { return h.numbered("pending-", ".json") }

// readPending reads a request; one that is no longer there, or is damaged, is nil. A
// damaged one is renamed, so that it is not met again.
func (h Interactions) readPending(n int) (*pending, error) {
	data, err := safefile.Read(h.pendingFile(n))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read the history: %v", err)
	}
	var p pending
	if json.Unmarshal(data, &p) != nil {
		return nil, os.Rename(h.pendingFile(n), h.pendingFile(n)+".corrupt")
	}
	return &p, nil
}

// Retire moves the interactions to another folder, and starts over with event (rerun). The
// numbers go on.
func (h Interactions) Retire(ctx context.Context, to string, event Interaction) error {
	unlock, err := h.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	_, last, err := h.settle()
	if err != nil {
		return err
	}
	if err := safefile.MakeFolder(to, 0o700); err != nil {
		return fmt.Errorf("cannot move the history: %v", err)
	}
	entries, err := os.ReadDir(h.Dir)
	if err != nil {
		return fmt.Errorf("cannot move the history: %v", err)
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), "jobHistory.") {
			continue
		}
		if err := os.Rename(filepath.Join(h.Dir, e.Name()), filepath.Join(to, e.Name())); err != nil {
			return fmt.Errorf("cannot move the history: %v", err)
		}
	}
	event.Sequence = last + 1
	line, err := encode(event.masked(h.Mask))
	if err != nil {
		return err
	}
	return h.write(0, line)
}
