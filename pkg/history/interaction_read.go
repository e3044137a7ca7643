package history

import (
	"errors"
	"io/fs"
)

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
