package verb

import (
	"context"
	"fmt"
	"path"
	"regexp"
	"strings"
	"sync"
	"unicode"

	"liza/pkg/blackboard"
)

// A rejection has to say enough to be mended. What that is depends on what is judged: a change
// of files needs a place and a defect, the output of a command or a message plain words.

// places recognises what names a place in a change besides a file that is there: a file that
// should be there, a function, a test.
var places = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:[\w.@~+/-]*\w\.[A-Za-z]\w{0,9}|(?:Test|Fuzz|Benchmark|Example)[A-Z_]\w*|test_\w+|\w+_test)$`)
})

var call = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\w\(.*\)`) })

// taste is what a reviewer would like better, which says nothing about what is wrong.
var taste = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)\b(?:i|we|one)(?:'d| would| might| could| personally)? (?:prefer|like|rather|favou?r)|\bmatter of taste\b|\bpersonal (?:taste|preference)\b`)
})

// rejectionProblem says what a rejection lacks, "" for nothing. files are those of the
// submission: a name without an extension is a place when it is one of them.
func rejectionProblem(t *blackboard.Task, in VerdictInput, files map[string]bool) string {
	text := in.Reason
	for _, x := range in.Inject {
		text += "\n" + x.Detail
	}
	if !t.ChangesFiles() {
		if len(in.Findings) == 0 && len(words(text)) < 2 {
			return "say in plain words what is wrong with the output"
		}
		return ""
	}
	if len(in.Findings) > 0 {
		return ""
	}
	place, defect := false, false
	for _, clause := range strings.FieldsFunc(strings.ReplaceAll(text, ". ", ";"), func(r rune) bool { return strings.ContainsRune(";\n", r) }) {
		var rest []string
		for _, w := range strings.Fields(clause) {
			if isPlace(w, files) {
				place = true
			} else {
				rest = append(rest, w)
			}
		}
		said := strings.Join(rest, " ")
		defect = defect || len(words(said)) >= 2 && !taste().MatchString(said)
	}
	switch {
	case !place:
		return "it names no place: say the file, better with the line, or give a finding"
	case !defect:
		return "it names no defect: say what is wrong there, and what is to be done"
	}
	return ""
}

// said is what findings and steps say: the reason of a rejection that gives none of its own.
func (in *VerdictInput) said() string {
	var parts []string
	for _, f := range in.Findings {
		parts = append(parts, strings.TrimSpace(f.File+" "+f.Message))
	}
	for _, x := range in.Inject {
		parts = append(parts, x.Detail)
	}
	return strings.Join(parts, "; ")
}

// incomplete is the refusal of a rejection that lacks something, nil when it is good enough.
func (d *Service) incomplete(ctx context.Context, t *blackboard.Task, in VerdictInput) error {
	if t == nil || in.Verdict != Reject || in.Checks {
		return nil
	}
	problem := rejectionProblem(t, in, d.filesOf(ctx, t))
	if problem == "" {
		return nil
	}
	example := "FILE:LINE what is wrong; what to do"
	if !t.ChangesFiles() {
		example = "what is wrong with the output"
	}
	return Refuse(fmt.Sprintf("liza verdict %s reject --reason '%s'", t.ID, example), "the rejection of %s cannot be mended as it is: %s", t.ID, problem)
}

// isPlace reports whether a word names a place: hello.go:12, Makefile, TestHello, hello().
func isPlace(word string, files map[string]bool) bool {
	if call().MatchString(word) && !strings.Contains(word, "(s)") {
		return true
	}
	word = strings.Trim(word, ".,:;()'\"`[]*")
	word, _, _ = strings.Cut(word, ":")
	word, _, _ = strings.Cut(word, "#")
	switch strings.ToLower(word) {
	case "", "e.g", "i.e", "etc", "a.k.a":
		return false
	}
	return files[strings.TrimSuffix(strings.TrimPrefix(word, "./"), "/")] || places().MatchString(word)
}

// words are the words of a text that have a letter or a digit.
func words(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '\'' })
}

// filesOf are the paths, the folders and the base names of what was submitted. Without them a
// name that needs them is not known; nothing else depends on it.
func (d *Service) filesOf(ctx context.Context, t *blackboard.Task) map[string]bool {
	names := map[string]bool{}
	if t == nil || !t.ChangesFiles() || t.ReviewCommit == "" {
		return names
	}
	list, err := d.Repo.ListCommit(ctx, t.ReviewCommit)
	if err != nil {
		return names
	}
	for _, f := range list {
		names[path.Base(f.Path)] = true
		for at := f.Path; at != "."; at = path.Dir(at) {
			names[at] = true
		}
	}
	return names
}
