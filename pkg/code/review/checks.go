// Package review has the deterministic side of a review: which changed files are sources
// and which are tests (Classify, CountGate), what a submission changed, line by line
// (Changes), what the checks find in it (Submission.Run), by which commands a project builds
// and tests itself (Detect), and how such a command is run (Command, Environment).
//
// One table of languages serves the test gate of a submission (specs/protocol.md#4.7) and the
// checks of specs/roles-and-knowledge.md#5.5. The checks ask a reviewer to look; only an error finding
// stops an approval. No finding has the value of a secret in it, and Redact takes it out of
// a diff. The package returns what it found; it writes nothing to the board.
package review

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"liza/pkg/board/blackboard"
)

// The names of the checks (specs/roles-and-knowledge.md#5.5).
const (
	Build        = "build_passes"
	Lint         = "lint_passes"
	Tests        = "tests_pass"
	TestCoverage = "test_coverage"
	E2E          = "e2e_tests"
	Security     = "security"
	Scope        = "scope"
	Weakened     = "tests_weakened"
	MergePreview = "merge_preview"
	SpecCurrency = "spec_currency"
	CodeQuality  = "code_quality"
	Exhibits     = "evidence"
)

// order is that in which the checks run and are shown.
var order = []string{Build, Lint, Tests, TestCoverage, E2E, Security, Scope, Weakened, MergePreview, SpecCurrency, CodeQuality, Exhibits}

// The statuses of a check.
const (
	Passed       = blackboard.CheckPassed
	Failed       = blackboard.CheckFailed
	Skipped      = blackboard.CheckSkipped
	CannotRun    = blackboard.CheckUnable
	ExemptStatus = blackboard.CheckExempt
)

// The severities of a finding.
const (
	Error   = "error"
	Warning = "warning"
	Info    = "info"
)

// Settings are the project's settings of the checks (section review of the configuration).
type Settings struct {
	Checks     map[string]Setting
	TestPaths  []string
	UserFacing []string
	E2E        []string
	Evidence   []Rule
}

// Setting has the settings of one check.
type Setting struct {
	Enabled  bool
	Severity string // the effective one
	Command  string // "": detected, for a check with commands
}

// Submission is the input of the checks.
type Submission struct {
	Task     *blackboard.Task
	Changes  []Changed
	Settings Settings

	// Known returns the name of a known secret whose value is in the text; nil: no secret is known.
	Known func(text string) (name string, is bool)
	// Conflicts are files that do not merge with the integration branch, or nil.
	Conflicts []string
	// Undone lists merged changes of others that the change removes.
	Undone []Undone
}

// Undone is a file in which a change removes merged changes of others.
type Undone struct {
	File string
	Of   []string // tasks, or commits of people
}

// Finding returns an error finding about it.
func (u Undone) Finding() *blackboard.Finding {
	return &blackboard.Finding{Severity: Error, Check: MergePreview, File: u.File, Message: "takes away what " + strings.Join(u.Of, ", ") + " merged",
		Fix: "merge the integration branch again and keep both sides"}
}

// Result is the result of a check, with its findings.
type Result struct {
	Check    blackboard.Check
	Findings []*blackboard.Finding
}

// files are the changed files as the test gate sees them.
func (s *Submission) files() []File { return Files(s.Changes) }

// paths are those of the changed files.
func (s *Submission) paths() (paths []string) {
	for _, c := range s.Changes {
		paths = append(paths, c.Path)
	}
	return paths
}

func (s *Submission) gate() Gate { return CountGate(s.files(), s.Task.Type, s.Settings.TestPaths) }

func (s *Submission) kind(file string) Kind { return Classify(file, s.Settings.TestPaths) }

// documentsOnly reports whether nothing but documentation was changed: then there is nothing
// to build either.
func (s *Submission) documentsOnly() bool {
	return !slices.ContainsFunc(s.Changes, func(c Changed) bool { return !isProse(c.Path) })
}

// isProse reports whether a file is documentation and no configuration.
func isProse(file string) bool {
	switch path.Ext(file) {
	case ".yaml", ".yml", ".toml", ".ini", ".json", ".editorconfig":
		return strings.HasPrefix(file, "docs/") || strings.HasPrefix(file, "specs/")
	}
	return isDocument(file) && path.Base(file) != ".gitignore"
}

// settled sets status, severity and message from the findings.
func (r Result) settled(severity string) Result {
	if r.Check.Severity == "" {
		r.Check.Severity = severity
	}
	if len(r.Findings) > 0 {
		if r.Check.Status != CannotRun {
			r.Check.Status = Failed
		}
		r.Check.Severity = worst(r.Findings)
		if first := r.Findings[0]; r.Check.Message == "" {
			r.Check.Message = strings.TrimPrefix(first.File+": "+first.Message, ": ")
		}
		if n := len(r.Findings); n > 1 {
			r.Check.Message = fmt.Sprintf("%s; and %d more", r.Check.Message, n-1)
		}
	}
	if r.Check.Status == "" {
		r.Check.Status = Passed
	}
	for _, f := range r.Findings {
		f.Check = r.Check.Name
	}
	return r
}

// rank orders severities, the worst first.
func rank(severity string) int { return slices.Index([]string{Error, Warning, Info}, severity) }

func worst(findings []*blackboard.Finding) string {
	out := Info
	for _, f := range findings {
		if rank(f.Severity) < rank(out) {
			out = f.Severity
		}
	}
	return out
}

// atMost is the milder of two severities.
func atMost(severity, limit string) string {
	if rank(severity) < rank(limit) {
		return limit
	}
	return severity
}

func (s *Submission) severity(check string) string { return s.Settings.Checks[check].Severity }

func exempted() Result { return Result{Check: blackboard.Check{Status: ExemptStatus}} }

func skipped(why string) Result {
	return Result{Check: blackboard.Check{Status: Skipped, Message: why}}
}

// testCoverage: changed code comes with changed tests.
func (s *Submission) testCoverage() Result {
	g := s.gate()
	switch {
	case g.Exempt:
		return exempted()
	case g.Passes():
		return Result{}
	}
	f := &blackboard.Finding{Severity: s.severity(TestCoverage), File: g.Sources[0],
		Message: fmt.Sprintf("changed without any test: %s", listed(g.Sources)), Fix: "add or change a test that exercises it"}
	if w := s.Task.NoTests; w != nil {
		f.Severity, f.Message, f.Fix = Info, "tests waived: "+w.Reason, ""
	}
	return Result{Findings: []*blackboard.Finding{f}}
}

// e2e: a change of user-facing files has an end-to-end test.
func (s *Submission) e2e() Result {
	if s.gate().Exempt {
		return exempted()
	}
	facing := ""
	for _, c := range s.Changes {
		if matchesAny(s.Settings.E2E, c.Path) {
			return Result{}
		}
		if facing == "" && c.Status != "D" && s.kind(c.Path) != Test && matchesAny(s.Settings.UserFacing, c.Path) {
			facing = c.Path
		}
	}
	if facing == "" {
		return Result{}
	}
	return Result{Findings: []*blackboard.Finding{{Severity: s.severity(E2E), File: facing, Message: "people see what was changed, and no end-to-end test was changed with it"}}}
}

func matchesAny(globs []string, file string) bool {
	return slices.ContainsFunc(globs, func(glob string) bool { return Match(glob, file) })
}

// mergePreview: the work merges with the present integration branch.
func (s *Submission) mergePreview() Result {
	var r Result
	for _, u := range s.Undone { // of no setting: nothing that was approved goes again unseen
		r.Findings = append(r.Findings, u.Finding())
	}
	for _, file := range s.Conflicts {
		r.Findings = append(r.Findings, &blackboard.Finding{Severity: s.severity(MergePreview), File: file, Message: "conflicts with the integration branch as it is now"})
	}
	return r
}

// specCurrency: the spec is unchanged since the work began.
func (s *Submission) specCurrency() Result {
	t := s.Task
	switch {
	case t.SpecHash == "" || t.ReviewSpecHash == "":
		return skipped("the spec file cannot be compared")
	case t.SpecHash == t.ReviewSpecHash:
		return Result{}
	}
	file, _, _ := strings.Cut(t.SpecRef, "#")
	return Result{Findings: []*blackboard.Finding{{Severity: s.severity(SpecCurrency), File: file, SpecRef: t.SpecRef, Message: "the spec changed since the task was claimed: judge against the spec as it is now"}}}
}

func listed(names []string) string {
	const most = 5
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

// look does the checks that need nothing but the change.
func (s *Submission) look() []Result {
	var out []Result
	for _, c := range []struct {
		name string
		look func() Result
	}{{TestCoverage, s.testCoverage}, {E2E, s.e2e}, {Security, s.security}, {Scope, s.scope}, {Weakened, s.weakened}, {MergePreview, s.mergePreview}, {SpecCurrency, s.specCurrency}} {
		if s.Settings.Checks[c.name].Enabled {
			r := c.look()
			r.Check.Name = c.name
			out = append(out, r.settled(s.Settings.Checks[c.name].Severity))
		}
	}
	return out
}

// ErrUncontained is the reason why a read-only command is not started.
var ErrUncontained = errors.New("no sandbox keeps the command from writing")

// Enclose contains a command in a sandbox and below a reaper, by setting its fields (specs/security.md). done releases the
// resources of the sandbox after the end of the command.
type Enclose func(ctx context.Context, c *Command) (done func(), err error)

// RunIn is Run with the containment of enclose; nil: without.
func (c Command) RunIn(ctx context.Context, enclose Enclose) Ran {
	if enclose == nil && c.ReadOnly {
		return Ran{ExitCode: -1, Err: ErrUncontained}
	}
	if enclose == nil {
		return c.Run(ctx)
	}
	began := time.Now()
	done, err := enclose(ctx, &c)
	waited := time.Since(began)
	if err != nil {
		return Ran{ExitCode: -1, Err: err, Waited: waited}
	}
	defer done()
	r := c.Run(ctx)
	r.Waited = waited
	return r
}

// File is one changed file of a submission.
type File struct {
	Path       string
	Status     string // A added, M modified, D deleted, R renamed
	AddedLines bool
	Head       []byte // its text, or the beginning of it
	Added      []byte // the text of its added lines; nil: not known, and Head stands in for it
	Tested     bool   // of Go's testdata: the package has a *_test.go, changed or not
}

// Gate has the files that the test gate counts in a submission (specs/protocol.md#4.7).
type Gate struct {
	Sources []string // changed sources
	Tests   []string // added or modified tests
	Exempt  bool
}

// Passes reports whether changed sources come with changed tests.
func (g Gate) Passes() bool { return g.Exempt || len(g.Sources) == 0 || len(g.Tests) > 0 }

// CountGate sorts the changed files. Generated and vendored files, pure deletions and
// renames are not sources. Go's testdata counts only beside a test of its package.
func CountGate(files []File, taskType string, extraTests []string) Gate {
	var g Gate
	for _, f := range files {
		if f.gone() {
			continue
		}
		switch Classify(f.Path, extraTests) {
		case Test:
			if f.countsAsTest(files, extraTests) {
				g.Tests = append(g.Tests, f.Path)
			}
		case Source:
			if !f.isSource() {
				continue
			}
			g.Sources = append(g.Sources, f.Path)
			if f.hasInlineTest() {
				g.Tests = append(g.Tests, f.Path)
			}
		}
	}
	g.Exempt = exempt(files, taskType, len(g.Sources))
	return g
}

// documents are the files of a change that needs no test.
var documents = []string{"*.md", "*.rst", "*.adoc", "*.txt", "LICENSE*", "*.yaml", "*.yml", "*.toml", "*.ini", "*.json", "*.editorconfig", ".gitignore"}

// codeless are the types of task that change no code.
var codeless = []string{"docs", "config", "spec"}

func exempt(files []File, taskType string, sources int) bool {
	if slices.Contains(codeless, taskType) {
		return sources == 0
	}
	for _, f := range files {
		if !isDocument(f.Path) {
			return false
		}
	}
	return true
}

func isDocument(file string) bool {
	if strings.HasPrefix(file, "docs/") || strings.HasPrefix(file, "specs/") {
		return true
	}
	return slices.ContainsFunc(documents, func(glob string) bool {
		ok, _ := path.Match(glob, path.Base(file))
		return ok
	})
}

// gone: a deletion or a rename without a change adds nothing that could be tested.
func (f File) gone() bool { return f.Status == "D" || f.Status == "R" && !f.AddedLines }

func (f File) isSource() bool { return f.AddedLines && !generated(f.Head) }

var generatedMark = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`Code generated .* DO NOT EDIT|@generated`) })

func generated(head []byte) bool {
	lines := bytes.SplitN(head, []byte("\n"), 6)
	return generatedMark().Match(bytes.Join(lines[:min(5, len(lines))], []byte("\n")))
}

func (f File) hasInlineTest() bool {
	if path.Ext(f.Path) != ".rs" {
		return false
	}
	text := f.Added
	if text == nil {
		text = f.Head
	}
	return inlineTest().Match(text)
}

// countsAsTest is true of every test file but testdata of a package without tests.
func (f File) countsAsTest(all []File, extraTests []string) bool {
	pkg, _, inside := strings.Cut("/"+f.Path, "/testdata/")
	if !inside || f.Tested || slices.ContainsFunc(extraTests, func(glob string) bool { return Match(glob, f.Path) }) {
		return true
	}
	return slices.ContainsFunc(all, func(o File) bool {
		return !o.gone() && strings.HasSuffix(o.Path, "_test.go") && path.Dir("/"+o.Path) == path.Clean("/"+pkg)
	})
}

// scope: all files of the change are among the task's files or, without any, among those of the intent and tests.
func (s *Submission) scope() Result {
	var r Result
	add := func(severity, file, message string) {
		r.Findings = append(r.Findings, &blackboard.Finding{Severity: severity, File: file, Message: message})
	}
	allowed, by, testsToo := []string(s.Task.Files), "the task's files", false
	if h, given := s.Task.LastIntent(); len(allowed) == 0 && given && h.Checkpoint != nil {
		allowed, by, testsToo = h.Checkpoint.FilesToModify, "the files of the intent", true
	}
	for _, c := range s.Changes {
		for _, name := range c.names() {
			switch {
			case s.foreign(name):
				add(Error, name, "belongs to Liza or git and may not be committed")
			case len(allowed) > 0 && !(testsToo && s.kind(name) == Test) && !slices.ContainsFunc(allowed, func(glob string) bool { return Within(glob, name) }):
				add(s.severity(Scope), name, "is outside of "+by+": "+listed(allowed))
			}
		}
	}
	if g := s.gate(); slices.Contains(codeless, s.Task.Type) && len(g.Sources) > 0 {
		add(atMost(s.severity(Scope), Warning), g.Sources[0], fmt.Sprintf("is code, and the task's type is %s", s.Task.Type))
	}
	if len(allowed) == 0 && len(r.Findings) == 0 {
		return skipped("neither `files` of the task nor the intent lists paths; what the scope says in words is for the reviewer")
	}
	return r
}

// names are the paths that a change concerns.
func (c Changed) names() []string {
	if c.OldPath != "" {
		return []string{c.OldPath, c.Path}
	}
	return []string{c.Path}
}

// ours are the parts of .liza/ that people track (specs/protocol.md#1.1).
var ours = []string{"config.yaml", "config.json", "roles", "skills", "instructions.md"}

// foreign reports whether nobody may commit a file: of Liza, but for its tracked
// configuration when the task is about it, and of git.
func (s *Submission) foreign(file string) bool {
	top, rest, _ := strings.Cut(file, "/")
	switch top {
	case ".git", ".worktrees":
		return true
	case ".liza":
		own, _, _ := strings.Cut(rest, "/")
		named := strings.Contains(s.Task.Scope, ".liza/"+own) || path.Ext(own) != "" && strings.Contains(s.Task.Scope, own) ||
			slices.ContainsFunc(s.Task.Files, func(glob string) bool { return Within(glob, file) })
		return !slices.Contains(ours, own) || !named
	}
	return false
}

// Within reports whether a file matches a glob, or is in a folder that matches it.
func Within(glob, file string) bool {
	glob = strings.TrimSuffix(strings.TrimPrefix(glob, "./"), "/")
	return glob == "." || Match(glob, file) || strings.HasPrefix(file, glob+"/")
}
