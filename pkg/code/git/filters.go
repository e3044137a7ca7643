package git

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"liza/pkg/base/safefile"
)

// attributesFile names the filters of files.
const attributesFile = ".gitattributes"

// FiltersOff returns the filters that the top .gitattributes of a commit, or info/attributes, names and that nobody allowed
// (git.filters). Liza's git does not run them.
func (r *objects) FiltersOff(ctx context.Context, commit string) ([]string, error) {
	text, err := r.ReadFile(ctx, commit, attributesFile)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return nil, err
	}
	names := filtersIn(string(text) + "\n" + r.ownAttributes())
	return slices.DeleteFunc(names, func(name string) bool { return slices.Contains(r.Filters, name) }), nil
}

func (r *objects) ownAttributes() string {
	text, err := safefile.Read(filepath.Join(r.place.CommonDir, "info", "attributes"))
	if err != nil {
		return ""
	}
	return string(text)
}

// filtersIn lists the filters that a text of attributes names, in order.
func filtersIn(text string) (names []string) {
	for line := range strings.Lines(text) {
		if strings.HasPrefix(strings.TrimSpace(line), "#") {
			continue
		}
		for word := range strings.FieldsSeq(line) {
			if name, ok := strings.CutPrefix(word, "filter="); ok && name != "" {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// An UnfilteredError lists files that came into a commit without the filter that .gitattributes names for them.
type UnfilteredError struct {
	Filter string
	Files  []string
	Off    bool // nobody allowed the filter, so that whether it would change the files is unknown
}

func (e *UnfilteredError) Error() string {
	const most = 5
	files := strings.Join(e.Files[:min(most, len(e.Files))], ", ")
	if more := len(e.Files) - most; more > 0 {
		files += fmt.Sprintf(" and %d more", more)
	}
	if e.Off {
		return fmt.Sprintf("the filter %s of .gitattributes is not in force, so %s must not be merged", e.Filter, files)
	}
	return fmt.Sprintf("%s: stored as the filter %s of .gitattributes would not store it; run git add --renormalize, and commit", files, e.Filter)
}

// Next is the command that helps, for a filter that is off.
func (e *UnfilteredError) Next() string {
	if !e.Off {
		return ""
	}
	return "liza config git.filters " + e.Filter
}

// Unfiltered returns an *UnfilteredError if a file that base has not is in commit otherwise than the filter that
// .gitattributes names for it would store it.
func (r *Repo) Unfiltered(ctx context.Context, base, commit string) error {
	changes, err := r.ChangedFiles(ctx, base, commit)
	if err != nil {
		return err
	}
	var files []string
	for _, c := range changes {
		if c.Status != "D" && strings.HasPrefix(c.Mode, "100") {
			files = append(files, c.Path)
		}
	}
	if some, err := r.mayFilter(ctx, commit, files); err != nil || !some {
		return err
	}
	err = r.unfiltered(ctx, commit, files)
	if unfiltered := (*UnfilteredError)(nil); err != nil && !errors.As(err, &unfiltered) {
		return fmt.Errorf("cannot see which files of %.9s have filters: %w", commit, err)
	}
	return err
}

// mayFilter reports whether attributes for one of the files name a filter. It starts no process.
func (r *objects) mayFilter(ctx context.Context, commit string, files []string) (bool, error) {
	if len(files) > 0 && len(filtersIn(r.ownAttributes())) > 0 {
		return true, nil
	}
	seen := map[string]bool{}
	for _, file := range files {
		for folder := path.Dir(file); !seen[folder]; folder = path.Dir(folder) {
			seen[folder] = true
			text, err := r.ReadFile(ctx, commit, path.Join(folder, attributesFile))
			if err != nil && !errors.Is(err, ErrNotFound) {
				return false, err
			}
			if len(filtersIn(string(text))) > 0 {
				return true, nil
			}
		}
	}
	return false, nil
}

// unfiltered checks the files out in a folder of their own, through their filters, and lets git store them again.
func (r *Repo) unfiltered(ctx context.Context, commit string, files []string) (err error) {
	base := filepath.Join(r.place.CommonDir, helpFolder)
	if err := safefile.MakeFolder(base, 0o700); err != nil {
		return err
	}
	dir, err := os.MkdirTemp(base, "filters.")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, safefile.RemoveTree(dir)) }()
	tree, objects := filepath.Join(dir, "tree"), filepath.Join(dir, "objects")
	if err := errors.Join(os.Mkdir(tree, 0o700), os.Mkdir(objects, 0o700)); err != nil {
		return err
	}
	ask := func(stdin []string, args ...string) (string, error) {
		o, err := r.configured(ctx, r.place.CommonDir, r.place.CommonDir)
		if err != nil {
			return "", err
		}
		c := call{dir: tree, args: args, env: []string{"GIT_INDEX_FILE=" + filepath.Join(dir, "index"), "GIT_LITERAL_PATHSPECS=1", "GIT_LFS_SKIP_SMUDGE=1",
			"GIT_OBJECT_DIRECTORY=" + objects, "GIT_ALTERNATE_OBJECT_DIRECTORIES=" + quoted(filepath.Join(r.place.CommonDir, "objects"))}}
		if stdin != nil {
			c.stdin = strings.Join(stdin, "\x00") + "\x00"
		}
		return r.start(ctx, c, o.options, slices.Concat(o.env, gitFolders(r.place.CommonDir, r.place.CommonDir, tree)))
	}
	if _, err := ask(nil, "read-tree", commit); err != nil {
		return err
	}
	out, err := ask(files, "check-attr", "--cached", "-z", "--stdin", "filter")
	if err != nil {
		return err
	}
	by := map[string][]string{} // files by filter
	for f := fields(out); len(f) >= 3; f = f[3:] {
		if name := f[2]; name != "unspecified" && name != "unset" && name != "set" {
			by[name] = append(by[name], f[0])
		}
	}
	for name, files := range by {
		if !slices.Contains(r.Filters, name) {
			return &UnfilteredError{Filter: name, Files: files, Off: true}
		}
	}
	if len(by) == 0 {
		return nil
	}
	for name, files := range by {
		if _, err := ask(files, "checkout-index", "-q", "-z", "--stdin"); err != nil {
			return err
		}
		if _, err := ask(files, "add", "--renormalize", "--pathspec-from-file=-", "--pathspec-file-nul"); err != nil {
			return err
		}
		out, err := ask(nil, append([]string{"diff-index", "--cached", "--name-only", "-z", commit, "--"}, files...)...)
		if err != nil {
			return err
		}
		if changed := fields(out); len(changed) > 0 {
			return &UnfilteredError{Filter: name, Files: changed}
		}
	}
	return nil
}
