package review

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"liza/pkg/blackboard"
)

// Names of the checks (specs/roles-and-knowledge.md#5.5).
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
)

// order is that in which the checks run and are shown.
var order = []string{Build, Lint, Tests, TestCoverage, E2E, Security, Scope, Weakened, MergePreview, SpecCurrency, CodeQuality}

// Statuses of a check.
const (
	Passed       = blackboard.CheckPassed
	Failed       = blackboard.CheckFailed
	Skipped      = blackboard.CheckSkipped
	ExemptStatus = blackboard.CheckExempt
)

// Severities of a finding.
const (
	Error   = "error"
	Warning = "warning"
	Info    = "info"
)

// Settings are what the project says about its checks (section review of the configuration).
type Settings struct {
	Checks     map[string]Setting
	TestPaths  []string
	UserFacing []string
	E2E        []string
}

// Setting is what it says about one.
type Setting struct {
	Enabled  bool
	Severity string // the effective one
	Command  string // "" = detected, where the check has commands
}

// Submission is what the checks look at.
type Submission struct {
	Task     *blackboard.Task
	Changes  []Changed
	Settings Settings

	// Known gives the name of a known secret whose value is in the text; nil: none is known.
	Known func(text string) (name string, is bool)
	// Conflicts are files that do not merge with the integration branch; nil: they do.
	Conflicts []string
	// Undone is what others have merged and the change takes away.
	Undone []Undone
}

// Undone is a file in which a change takes away what others have merged.
type Undone struct {
	File string
	Of   []string // tasks, or commits of people
}

// Finding says it, as an error.
func (u Undone) Finding() *blackboard.Finding {
	return &blackboard.Finding{Severity: Error, Check: MergePreview, File: u.File, Message: "takes away what " + strings.Join(u.Of, ", ") + " merged",
		Fix: "merge the integration branch again and keep both sides"}
}

// Result is a check with its findings.
type Result struct {
	Check    blackboard.Check
	Findings []*blackboard.Finding
}

// files are the changed files as the test gate sees them.
func (s *Submission) files() []File { return Files(s.Changes) }

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

// settled fills in what follows from the findings: status and severity, and a message.
func (r Result) settled(severity string) Result {
	if r.Check.Severity == "" {
		r.Check.Severity = severity
	}
	if len(r.Findings) > 0 {
		r.Check.Status = Failed
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

// e2e: what people see comes with a test from end to end.
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

// mergePreview: the work merges with what is on the integration branch now.
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

// specCurrency: the spec is what it was when the work began.
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
