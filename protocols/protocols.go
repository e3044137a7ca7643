// Package protocols has the texts that agents and people read, embedded in the binary
// and shown by `liza help protocol NAME`. They explain; what holds is the code.
package protocols

import (
	"embed"
	"strings"
)

//go:embed *.md
var files embed.FS

// Names lists the texts in alphabetical order.
func Names() []string {
	entries, err := files.ReadDir(".")
	if err != nil {
		panic("protocols: the embedded folder cannot be read: " + err.Error())
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = strings.TrimSuffix(e.Name(), ".md")
	}
	return names
}

// Text gives a text by its name; ok is false when there is none of that name.
func Text(name string) (text string, ok bool) {
	data, err := files.ReadFile(name + ".md")
	return string(data), err == nil
}
