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

	"mvdan.cc/sh/v3/pattern"

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
	if expression, err := pattern.Regexp(text, pattern.Filenames|pattern.GlobLeadingDot); err == nil {
		if g, err := regexp.Compile("^(?:" + expression + ")(?:/.*)?$"); err == nil {
			return g
		}
	}
	return regexp.MustCompile(`^\z.`) // matches nothing
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

const (
	maxKeywords  = 20
	scannedFiles = 5000
	scannedSize  = 256 << 10
	scannedBytes = 32 << 20
	leastScore   = 3
)

// RelevantFiles returns the files that the task names, then those that its words find, at most limit. read returns the
// content of a file; ok is false if it cannot be read.
func RelevantFiles(t *blackboard.Task, tracked []string, limit int, read func(path string) (text string, ok bool)) []File {
	if t == nil || limit <= 0 {
		return nil
	}
	tracked = slices.Sorted(slices.Values(tracked))
	list := named(t, tracked)
	if len(list) < limit {
		list = append(list, found(t, tracked, list, read)...)
	}
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

// keywords are the words by which files are looked for.
func keywords(t *blackboard.Task) []string {
	var list []string
	text := t.Title + "\n" + t.Description + "\n" + t.DoneWhen + "\n" + strings.Join(t.AcceptanceCriteria, "\n")
	for _, w := range strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) }) {
		for _, part := range camel(w) {
			part = strings.ToLower(part)
			if utf8.RuneCountInString(part) >= 4 && !slices.Contains(list, part) {
				if list = append(list, part); len(list) == maxKeywords {
					return list
				}
			}
		}
	}
	return list
}

// camel splits a word where a capital follows a small letter.
func camel(word string) []string {
	var parts []string
	start, last := 0, rune(0)
	for i, r := range word {
		if unicode.IsUpper(r) && unicode.IsLower(last) {
			parts = append(parts, word[start:i])
			start = i
		}
		last = r
	}
	return append(parts, word[start:])
}

// found are the files that the words of the task find, the best first.
func found(t *blackboard.Task, tracked []string, but []File, read func(string) (string, bool)) []File {
	words := keywords(t)
	if len(words) == 0 {
		return nil
	}
	type hit struct {
		File
		score int
	}
	var hits []hit
	budget := scannedBytes
	for i, p := range tracked {
		text := ""
		if i < scannedFiles && budget > 0 {
			if content, ok := read(p); ok && len(content) <= scannedSize && !strings.ContainsRune(content, 0) {
				budget -= len(content)
				text = strings.ToLower(content)
			}
		}
		score, why := scoreOf(words, strings.ToLower(p), text)
		if score >= leastScore && !slices.ContainsFunc(but, func(f File) bool { return f.Path == p }) {
			hits = append(hits, hit{File{p, "has " + strings.Join(why, ", ")}, score})
		}
	}
	slices.SortStableFunc(hits, func(a, b hit) int { return cmp.Or(b.score-a.score, strings.Compare(a.Path, b.Path)) })
	var list []File
	for _, h := range hits {
		list = append(list, h.File)
	}
	return list
}

func scoreOf(words []string, file, text string) (score int, why []string) {
	folders, base := path.Split(file)
	for _, w := range words {
		before := score
		if strings.Contains(base, w) {
			score += 5
		}
		if strings.Contains(folders, w) {
			score += 3
		}
		if strings.Contains(text, w) {
			score++
		}
		if score > before && len(why) < 5 {
			why = append(why, w)
		}
	}
	return score, why
}

func (in *Input) relevant() string {
	var l lines
	for _, f := range in.Relevant {
		l.add("- %s (%s)", quoted(f.Path), f.Why)
	}
	return l.String()
}
