package cli

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"liza/pkg/checklist"
	"liza/pkg/importer"
	"liza/pkg/safefile"
	"liza/pkg/transition"
	"liza/pkg/verb"
)

// Bounds of what is read of a folder.
const (
	maxListBytes = 1 << 20
	maxListDepth = 5
)

func noList(path, why string) error {
	return &transition.Refusal{Exit: transition.ExitFailure, Next: "liza help import", Message: "cannot import " + path + ": " + why}
}

// fileAt is the place of a file that a source names.
func fileAt(d *verb.Service, name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(d.Project.Root, filepath.FromSlash(name))
}

// listed is what check lists say.
type listed struct {
	items []importer.Outside
	whole []string // the files of which every item was taken
}

// listsAt has the items of a file, of one item FILE#KEY, or of each tasks.md in a folder.
func listsAt(d *verb.Service, path string) (all listed, err error) {
	only := ""
	info, err := os.Stat(path)
	if at := strings.LastIndex(path, "#"); err != nil && at > 0 {
		path, only = path[:at], path[at+1:]
		info, err = os.Stat(path)
	}
	if err != nil {
		return all, noList(path, "there is no such file, folder or tracker")
	}
	lists := []string{path}
	if info.IsDir() {
		if lists = tasksIn(path); len(lists) == 0 {
			return all, noList(path, "there is no tasks.md in it")
		}
	}
	for _, list := range lists {
		if err := all.add(d, list, only); err != nil {
			return all, err
		}
	}
	return all, nil
}

// tasksIn are the lists of a folder: its own, those of spec-kit's features, those of OpenSpec's changes that are not archived.
func tasksIn(dir string) []string {
	var found []string
	_ = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(dir, path)
		switch {
		case err != nil:
			return nil
		case e.IsDir() && path != dir && (strings.HasPrefix(e.Name(), ".") || e.Name() == "archive" || e.Name() == "node_modules" || strings.Count(rel, string(filepath.Separator)) >= maxListDepth):
			return fs.SkipDir
		case e.Name() == "tasks.md":
			found = append(found, path)
		}
		return nil
	})
	return found
}

func (l *listed) add(d *verb.Service, path, only string) error {
	data, err := safefile.Read(path)
	if err != nil {
		return err
	}
	if len(data) > maxListBytes {
		return noList(path, "it has more than 1 MB")
	}
	items := checklist.Parse(string(data))
	name := nameIn(d.Project.Root, path)
	spec := ""
	for _, beside := range []string{"spec.md", "proposal.md"} {
		at := filepath.Join(filepath.Dir(path), beside)
		if _, err := os.Stat(at); err == nil && spec == "" && !filepath.IsAbs(filepath.FromSlash(name)) {
			spec = nameIn(d.Project.Root, at)
		}
	}
	taken := false
	for _, i := range items {
		if only != "" && i.Key != only {
			continue
		}
		taken = true
		id := i.Key
		if i.ID && id[0] >= '0' && id[0] <= '9' {
			id = filepath.Base(filepath.Dir(path)) + "-" + id
		}
		text := i.Detail
		if i.Heading != "" {
			text = "Below the heading: " + i.Heading + "\n" + text
		}
		l.items = append(l.items, importer.Outside{Source: name + "#" + i.Key, ID: id, Title: i.Text, Text: text, Spec: spec, Closed: i.Done, Loose: !i.ID})
	}
	switch {
	case !taken && only != "":
		return noList(path, "it has no item "+only)
	case !taken:
		return noList(path, "it has no check list (- [ ] …)")
	case only == "":
		l.whole = append(l.whole, name)
	}
	return nil
}

// nameIn is how a file is known: by its path in the project, the same on every host, else by its whole path.
func nameIn(root, path string) string {
	if real, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
		path = filepath.Join(real, filepath.Base(path))
	}
	if rel, err := filepath.Rel(root, path); err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	return path
}
