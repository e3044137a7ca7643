package history

import (
	"bytes"
	"fmt"
	"path/filepath"

	"gopkg.in/yaml.v3"

	"liza/pkg/safefile"
)

// Scrub masks the tasks of all sprints, and what is above them: a secret may become known
// as one after the task that told it was put away. The caller holds the lock of the state.
func (a *Archive) Scrub(mask func(string) string) error {
	paths, err := filepath.Glob(a.path("*"))
	if err != nil {
		return err
	}
	for _, path := range paths {
		if isRotated(filepath.Base(path)) {
			continue // Journal.Scrub masks it
		}
		data, err := safefile.Read(path)
		if err != nil {
			return fmt.Errorf("cannot mask secrets in the archive: %w", err)
		}
		if mask(string(data)) == string(data) {
			continue
		}
		var doc yaml.Node
		var out bytes.Buffer
		e := yaml.NewEncoder(&out)
		e.SetIndent(2)
		if err = yaml.Unmarshal(data, &doc); err == nil {
			maskScalars(&doc, mask)
			err = e.Encode(&doc)
		}
		if err == nil {
			err = safefile.Replace(path, out.Bytes(), 0o644)
		}
		if err != nil {
			return fmt.Errorf("cannot mask secrets in %s: %w", path, err)
		}
	}
	return nil
}

// maskScalars masks the texts of a document and its comments. What was masked is quoted.
func maskScalars(n *yaml.Node, mask func(string) string) {
	for _, text := range []*string{&n.HeadComment, &n.LineComment, &n.FootComment} {
		*text = mask(*text)
	}
	if masked := mask(n.Value); n.Kind == yaml.ScalarNode && masked != n.Value {
		n.SetString(masked)
		n.Style = yaml.DoubleQuotedStyle
	}
	for _, c := range n.Content {
		maskScalars(c, mask)
	}
}
