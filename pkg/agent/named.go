package agent

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Settings is a file of a program's own settings, below the person's home folder, with the fields by which people name what the
// program needs besides. Whatever is written there as ${NAME} or {env:NAME} is a variable, too.
type Settings struct {
	File      string   `yaml:"file"`
	Variables []string `yaml:"variables"` // the value is the name of one
	Servers   []string `yaml:"servers"`   // the value is a URL
	Commands  []string `yaml:"commands"`  // the value is a command line, or a list of its words
}

// Named is what one file of settings names.
type Named struct {
	File      string
	Variables []string
	Servers   []string   // HOST:PORT
	Commands  [][]string // the words of each
}

// Named is what the person's settings of the program name. A file that is missing names nothing.
func (n Needs) Named(home string, environ []string) (all []Named) {
	values := n.passed(environ)
	for _, s := range n.Settings {
		at := n.placed(s.File, home, values)
		text, err := os.ReadFile(at)
		if err != nil {
			continue
		}
		if rel, ok := within(home, at); ok {
			at = "~" + string(filepath.Separator) + rel
		}
		found := s.read(string(text))
		found.File = at
		all = append(all, found)
	}
	return all
}

var (
	comment  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^[ \t]*(?:#|//).*$`) })
	expanded = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?:\$\{(?:env:)?|\$\{\{ *secrets\.|\{env:)([A-Za-z_][A-Za-z0-9_]*)`)
	})
	variableName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Z_][A-Z0-9_]*$`) })
	commandWord  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[^\s"'\\,;|&()<>\[\]]+`) })
)

// read finds the fields in JSON, YAML and TOML alike: they are written NAME: VALUE or NAME = VALUE in all of them.
func (s Settings) read(text string) (found Named) {
	text = comment().ReplaceAllString(text, "")
	add := func(list *[]string, value string) {
		if value != "" && !slices.Contains(*list, value) {
			*list = append(*list, value)
		}
	}
	for _, name := range values(text, s.Variables) {
		if name = strings.TrimPrefix(name, "$"); variableName().MatchString(name) {
			add(&found.Variables, name)
		}
	}
	for _, m := range expanded().FindAllStringSubmatch(text, -1) {
		add(&found.Variables, m[1])
	}
	for _, url := range values(text, s.Servers) {
		add(&found.Servers, hostOf(url))
	}
	for _, line := range values(text, s.Commands) {
		if words := commandWord().FindAllString(line, -1); len(words) > 0 {
			found.Commands = append(found.Commands, words)
		}
	}
	return found
}

// values are those of fields: a text in quotes, a list as it is written, or a word.
func values(text string, fields []string) (all []string) {
	if len(fields) == 0 {
		return nil
	}
	form := regexp.MustCompile(fmt.Sprintf(`(?:^|[\s{,"'])(?:%s)["']?[ \t]*[:=]\s*(?:"((?:[^"\\]|\\.)*)"|'([^']*)'|(\[[^\]]*\])|([^\s"'\[{,}]+))`, strings.Join(fields, "|")))
	for _, m := range form.FindAllStringSubmatch(text, -1) {
		all = append(all, m[1]+m[2]+m[3]+m[4])
	}
	return all
}
