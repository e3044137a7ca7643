package history

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"liza/pkg/safefile"
)

// maxUnpacked bounds what is read of one compressed file.
const maxUnpacked = 1 << 30

// Read returns all interactions, those that were put away first. A history that is not
// there has none. It changes no file.
func (h Interactions) Read() ([]Interaction, error) {
	var all []Interaction
	last := 0
	add := func(path string) error {
		list, err := ReadInteractions(path)
		for _, in := range list {
			if in.Sequence > last { // a writer that was killed leaves what it put away in both files
				all, last = append(all, in), in.Sequence
			}
		}
		return err
	}
	for _, n := range h.away() {
		if err := add(h.awayFile(n)); err != nil {
			return all, err
		}
	}
	if err := add(h.File()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return all, err
	}
	return all, nil
}

// ReadInteractions reads a jobHistory.json, also a compressed one, or a file with a single
// interaction. The end that a killed writer left in half is left out.
func ReadInteractions(path string) ([]Interaction, error) {
	data, err := safefile.Read(path)
	if err != nil {
		return nil, fmt.Errorf("cannot read the history: %w", err)
	}
	if strings.HasSuffix(path, ".gz") {
		z, err := gzip.NewReader(bytes.NewReader(data))
		if err != nil {
			return nil, fmt.Errorf("cannot read the history %s: %v", path, err)
		}
		if data, err = io.ReadAll(io.LimitReader(z, maxUnpacked)); err != nil {
			return nil, fmt.Errorf("cannot read the history %s: %v", path, err)
		}
	}
	list, ok := parseInteractions(data)
	if !ok {
		return nil, fmt.Errorf("cannot read the history %s: it is not a list of interactions", path)
	}
	return list, nil
}

// parseInteractions reads whatever is whole. ok is false for a text that is not a history.
func parseInteractions(data []byte) (list []Interaction, ok bool) {
	var whole struct {
		Interactions *[]Interaction `json:"interactions"`
		Interaction
	}
	if json.Unmarshal(data, &whole) == nil {
		if whole.Interactions != nil {
			return *whole.Interactions, true
		}
		return []Interaction{whole.Interaction}, whole.Sequence > 0
	}
	rest, ours := bytes.CutPrefix(data, []byte(opening))
	if !ours && !strings.HasPrefix(opening, string(data)) {
		return nil, false
	}
	for line := range bytes.Lines(rest) {
		var in Interaction
		if json.Unmarshal(bytes.TrimRight(line, ",\r\n "), &in) == nil && in.Sequence > 0 {
			list = append(list, in)
		}
	}
	return list, true
}
