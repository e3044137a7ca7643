package verb

import (
	"io"
)

// Mask takes every secret that is known out of a text (specs/roles-and-knowledge.md#9.6).
func (d *Service) Mask(text string) string {
	d.loadSecrets()
	return d.Secrets.Mask(text)
}

// MaskLog is a stream in which no secret gets to w. Closing it leaves w open.
func (d *Service) MaskLog(w io.Writer) io.WriteCloser {
	d.loadSecrets()
	return d.Secrets.Writer(w)
}

// loadSecrets learns the secrets that people put into their folder, for masking.
func (d *Service) loadSecrets() {
	if d.Secrets == nil {
		return
	}
	if err := d.Secrets.AddFolder(d.Project.Secrets()); err != nil {
		d.Progressf("%v", err)
	}
}
