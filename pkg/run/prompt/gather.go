package prompt

import (
	"cmp"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"liza/pkg/board/blackboard"
)

// What the caller gathers from the repository is given a form here; nothing in this file
// reads anything itself (specs/roles-and-knowledge.md#2.5).

const (
	treeLines   = 200
	readmeBytes = 1500
)

// alwaysExcluded are paths that no prompt names, whatever context.excluded_paths has.
var alwaysExcluded = []string{".git", ".liza", ".worktrees"}

// Excluded returns the test for context.excluded_paths: a pattern without "/" and "*" excludes every path with that
// component, others are globs with "**".
func Excluded(patterns []string) func(path string) bool {
	names := map[string]bool{}
	var globs []*regexp.Regexp
	for _, p := range append(slices.Clone(alwaysExcluded), patterns...) {
		if !strings.ContainsAny(p, "/*") {
			names[p] = true
			continue
		}
		globs = append(globs, glob(strings.TrimSuffix(p, "/")))
	}
	return func(file string) bool {
		for _, part := range strings.Split(file, "/") {
			if names[part] {
				return true
			}
		}
		return slices.ContainsFunc(globs, func(g *regexp.Regexp) bool { return g.MatchString(file) })
	}
}

// glob compiles a pattern for paths: * stays within a folder, ** does not. A pattern that matches a folder matches everything
// in it.
func glob(text string) *regexp.Regexp {
	expression := strings.NewReplacer(`\*\*/`, `(?:.*/)?`, `\*\*`, `.*`, `\*`, `[^/]*`, `\?`, `[^/]`).Replace(regexp.QuoteMeta(text))
	return regexp.MustCompile("^(?s:" + expression + ")(?:/.*)?$")
}

var keyFile = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(README.*|CONTRIBUTING.*|Makefile|go\.mod|package\.json|pyproject\.toml|Cargo\.toml|pom\.xml|build\.gradle.*|Dockerfile|.*\.sln|CLAUDE\.md|AGENTS\.md)$`)
})

// Tree returns the repository in two levels, its key files, and the beginning of its README. tracked are all paths that are
// not excluded.
func Tree(tracked []string, readme string) string {
	tracked = slices.Sorted(slices.Values(tracked))
	var l lines
	n, left := 0, 0
	line := func(format string, args ...any) {
		if n++; n > treeLines {
			left++
			return
		}
		l.add(format, args...)
	}
	var keyFiles []string
	for i := 0; i < len(tracked); {
		top, _, folder := strings.Cut(tracked[i], "/")
		if !folder {
			line("%s", quoted(top))
			if keyFile().MatchString(top) {
				keyFiles = append(keyFiles, quoted(top))
			}
			i++
			continue
		}
		line("%s/", quoted(top))
		for prefix := top + "/"; i < len(tracked) && strings.HasPrefix(tracked[i], prefix); {
			sub, _, deeper := strings.Cut(tracked[i][len(prefix):], "/")
			if !deeper {
				line("  %s", quoted(sub))
				i++
				continue
			}
			from := i
			for i < len(tracked) && strings.HasPrefix(tracked[i], prefix+sub+"/") {
				i++
			}
			line("  %s/ (%s)", quoted(sub), fileCount(i-from))
		}
	}
	if left > 0 {
		l.add("[… %d lines left out: git ls-files]", left)
	}
	l.named("Key files", strings.Join(keyFiles, ", "))
	if readme = strings.TrimSpace(readme); readme != "" {
		l.add("README begins:\n%s", cutText(readme, readmeBytes, "README"))
	}
	return l.String()
}

func fileCount(n int) string {
	if n == 1 {
		return "1 file"
	}
	return fmt.Sprintf("%d files", n)
}

// quoted is a path that stays on its line.
func quoted(path string) string {
	if utf8.ValidString(path) && !strings.ContainsFunc(path, unicode.IsControl) {
		return path
	}
	return strconv.Quote(path)
}

// Readme returns the path of the README among the tracked files, or "".
func Readme(tracked []string) string {
	for _, p := range slices.Sorted(slices.Values(tracked)) {
		if strings.HasPrefix(p, "README") && !strings.Contains(p, "/") {
			return p
		}
	}
	return ""
}

// RelevantFiles returns the files that the task names, at most limit. What else matters an agent finds by itself.
func RelevantFiles(t *blackboard.Task, tracked []string, limit int) []File {
	if t == nil || limit <= 0 {
		return nil
	}
	list := named(t, slices.Sorted(slices.Values(tracked)))
	return list[:min(limit, len(list))]
}

// named are the files that the texts of the task name, in order of occurrence.
func named(t *blackboard.Task, tracked []string) []File {
	is := map[string]bool{}
	byBase := map[string][]string{}
	for _, p := range tracked {
		is[p] = true
		byBase[path.Base(p)] = append(byBase[path.Base(p)], p)
	}
	var list []File
	add := func(p, where string) {
		if !slices.ContainsFunc(list, func(f File) bool { return f.Path == p }) {
			list = append(list, File{p, "named in " + where})
		}
	}
	for _, text := range taskTexts(t) {
		for _, token := range tokens(text.text) {
			switch base := byBase[token]; {
			case is[token]:
				add(token, text.where)
			case len(base) == 1:
				add(base[0], text.where)
			}
		}
	}
	return list
}

type whereText struct{ where, text string }

// taskTexts are the texts in which a task may name files.
func taskTexts(t *blackboard.Task) []whereText {
	list := []whereText{{"the description", t.Description}, {"done_when", t.DoneWhen}, {"the criteria", strings.Join(t.AcceptanceCriteria, "\n")},
		{"the scope", t.Scope}, {"spec_ref", file(cmp.Or(t.SpecRef, "."))}, {"files", strings.Join(t.Files, "\n")}}
	if t.RejectionReason != nil {
		list = append(list, whereText{"the rejection", t.RejectionReason.Summary})
		for _, f := range t.RejectionReason.Findings {
			if f != nil {
				list = append(list, whereText{"the rejection", f.File + "\n" + f.Message})
			}
		}
	}
	return list
}

var placeInFile = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(:\d+)+$`) })

// tokens are the words of a text that may be paths.
func tokens(text string) []string {
	words := strings.FieldsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune("`'\"()[]{}<>,;|=!?*", r) })
	var list []string
	for _, w := range words {
		w = strings.TrimPrefix(strings.TrimRight(w, ".:/"), "./")
		if w = placeInFile().ReplaceAllString(w, ""); w != "" {
			list = append(list, w)
		}
	}
	return list
}

func (in *Input) relevant() string {
	var l lines
	for _, f := range in.Relevant {
		l.add("- %s (%s)", quoted(f.Path), f.Why)
	}
	return l.String()
}
