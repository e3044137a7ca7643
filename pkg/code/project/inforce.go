package project

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"liza/pkg/base/safefile"
)

// settingsFiles are the names that the file of settings may have.
var settingsFiles = []string{"config.yaml", "config.json"}

// InForce returns the folder with a copy of the settings that the team last worked with. Git does not change it when a
// person switches branches.
func (p *Project) InForce() string { return p.inGit("in-force") }

// Settings returns the name and the text of the file of settings in a folder: .liza or InForce. The name is "" if there is
// none.
func Settings(folder string) (name string, text []byte, err error) {
	for _, name := range settingsFiles {
		text, err := safefile.Read(filepath.Join(folder, name))
		if !errors.Is(err, fs.ErrNotExist) {
			return name, text, err
		}
	}
	return "", nil, nil
}

// PutInForce makes a text the settings that the team last worked with. Without a name there are none.
func (p *Project) PutInForce(name string, text []byte) error {
	for _, other := range settingsFiles {
		if other == name {
			continue
		}
		if err := os.Remove(filepath.Join(p.InForce(), other)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if name == "" {
		return nil
	}
	if err := safefile.MakeFolder(p.InForce(), 0o755); err != nil {
		return err
	}
	return safefile.Replace(filepath.Join(p.InForce(), name), text, 0o644)
}
