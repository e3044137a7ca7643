package review

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"liza/pkg/base/safefile"
	"liza/pkg/board/blackboard"
	"liza/pkg/code/git"
)

// NotRun is the message of a check that LookOnly did not run.
const NotRun = "not run yet"

// Environment has the settings and resources for the commands of the checks.
type Environment struct {
	Tree    Tree
	Log     func(check string) string                       // returns the file for the output of a check
	Timeout time.Duration                                   // time limit of each command
	Hide    []string                                        // variables that no command gets
	Environ []string                                        // environment of the commands; nil: that of this process
	Setup   []string                                        // commands that make a fresh worktree usable
	Seed    func(ctx context.Context, dir, log string) bool // does what Setup would do; false: Setup runs. nil: it always runs
	Hooks   []string                                        // commands after the checks
	Mask    func(text string) string                        // masks a quoted output; nil: nothing is masked
	MaskLog func(w io.Writer) io.WriteCloser
	Base    func(ctx context.Context, check, command string) (End, error) // returns the result without the change; nil: there are no baselines
	// Now is Base for a command that could not run, on the base as it is here and now, whatever is known of it; "" is worktree.setup alone. nil: there is no base.
	Now      func(ctx context.Context, check, command string) (End, error)
	Passed   func(command string)                                             // called for each command that passed; may be nil
	BaseLog  func(stored string) string                                       // returns the path of a log of the base that is in a check
	Before   []*blackboard.Check                                              // results that may be of the same commit
	Say      func(text string)                                                // reports the next command; may be nil
	LookOnly bool                                                             // runs nothing: a check that would have to run stays NotRun
	Worktree func(ctx context.Context) (dir string, err error)                // makes the throw-away worktree at the commit
	Changed  func(ctx context.Context, dir string) (map[string]string, error) // returns its tracked files that differ from the commit; nil: they are not compared
	// Evidence returns the evidence that is kept of the commit under the rules, or keeps what was made of it; nil: there is none.
	Evidence  func(ctx context.Context, rules []Rule, made *Gathered) (*Evidence, error)
	Enclose   Enclose                       // contains each command; may be nil
	Program   func(command string) []string // a command after those that come before it in its list; nil: each is run alone
	worktree  string
	ran       []string          // commands that were run there
	expected  map[string]string // changes that setup made
	setupTold bool
	setup     error // error of setup
	setupEnd  Ran   // how it ended
}

// Run runs all checks of a submission, in their order. It returns an error, and no result, if they could not be run, if
// others wrote to their worktree, or if ctx ended.
func (s *Submission) Run(ctx context.Context, b *Environment) ([]Result, error) {
	results, err := s.runAll(ctx, b)
	if err != nil {
		return nil, err
	}
	changed, err := b.disturbed(ctx)
	if err != nil || len(changed) == 0 {
		return results, err
	}
	// It may have been a neighbour: what was found in a disturbed worktree decides nothing.
	b.say("tracked files changed while the checks ran: " + namesOf(changed) + "; they run once more in a fresh checkout")
	again := *b
	again.worktree, again.ran, again.expected, again.setup, again.setupEnd, again.setupTold, again.Before = "", nil, nil, nil, Ran{}, false, nil
	if results, err = s.runAll(ctx, &again); err != nil {
		return nil, err
	}
	twice, err := again.disturbed(ctx)
	switch {
	case err != nil:
		return nil, err
	case len(twice) == 0:
		return results, nil
	case maps.Equal(changed, twice):
		b.say("the checks change tracked files: " + namesOf(twice) + "; what worktree.setup changes is expected, so do it there")
		return results, nil
	}
	return nil, fmt.Errorf("cannot trust the checks: tracked files changed twice while they ran, not in the same way: %s; "+
		"something else writes there, or the checks do", namesOf(twice))
}

func namesOf(changed map[string]string) string {
	return strings.Join(slices.Sorted(maps.Keys(changed)), ", ")
}

func (s *Submission) runAll(ctx context.Context, b *Environment) ([]Result, error) {
	results := s.look()
	detected := Detect(b.Tree)
	for _, name := range order {
		setting := s.Settings.Checks[name]
		commands := setting.commands(name, detected)
		var r Result
		var err error
		switch {
		case !setting.Enabled:
			continue
		case name == Build || name == Lint || name == Tests:
			r, err = s.runCheck(ctx, b, name, commands)
		case (name == Security || name == CodeQuality) && setting.Command != "":
			r, err = s.runCheck(ctx, b, name, commands)
			results = joined(results, r, name, setting.Severity)
			if err != nil {
				return nil, err
			}
			continue
		case name == CodeQuality:
			r = skipped("the reviewer judges it")
		default:
			continue
		}
		if err != nil {
			return nil, err
		}
		r.Check.Name = name
		results = append(results, r.settled(setting.Severity))
	}
	slices.SortStableFunc(results, func(a, c Result) int { return slices.Index(order, a.Check.Name) - slices.Index(order, c.Check.Name) })
	hooks, err := s.hooks(ctx, b)
	if results = append(results, hooks...); err != nil {
		return nil, err
	}
	r, is, err := s.evidence(ctx, b)
	if is && err == nil {
		r.Check.Name = Exhibits
		results = append(results, r.settled(s.severity(Exhibits)))
	}
	for i := range results {
		results[i].Check.Commit = s.Task.ReviewCommit
	}
	return results, err
}

// A Step is a command of a check.
type Step struct{ Check, Command string }

// Steps returns the commands of the enabled checks for a tree, configured or detected, in their order.
func (s Settings) Steps(t Tree) []Step {
	var steps []Step
	detected := Detect(t)
	for _, name := range []string{Build, Lint, Tests, Security, CodeQuality} {
		if setting := s.Checks[name]; setting.Enabled {
			for _, command := range setting.commands(name, detected) {
				steps = append(steps, Step{Check: name, Command: command})
			}
		}
	}
	return steps
}

// commands are those of the check of that name.
func (s Setting) commands(name string, detected map[string][]string) []string {
	if s.Command != "" {
		return []string{s.Command}
	}
	return detected[name]
}

// joined adds the result of a check's command to its result without one.
func joined(results []Result, r Result, name, severity string) []Result {
	r.Check.Name = name
	i := slices.IndexFunc(results, func(x Result) bool { return x.Check.Name == name })
	if i < 0 {
		return append(results, r.settled(severity))
	}
	seen := results[i]
	r.Findings = append(seen.Findings, r.Findings...)
	if r.Check.Status == Skipped && len(r.Findings) == 0 {
		r.Check.Status = "" // looking was enough
	}
	if r.Check.Status == CannotRun && len(seen.Findings) > 0 {
		r.Check.Status = "" // looking has found something
	}
	r.Check.Severity = ""
	results[i] = r.settled(severity)
	return results
}

// hooks are the project's commands after the checks: each that fails is an error.
func (s *Submission) hooks(ctx context.Context, b *Environment) ([]Result, error) {
	var results []Result
	for i, command := range b.Hooks {
		name := fmt.Sprintf("hook:%d", i+1)
		s.Settings.Checks[name] = Setting{Enabled: true, Severity: Error}
		r, err := s.runCheck(ctx, b, name, []string{command})
		if err != nil {
			return nil, err
		}
		r.Check.Name = name
		results = append(results, r.settled(Error))
	}
	return results, nil
}

// runCheck runs all commands of one check, or reuses their results on this commit.
func (s *Submission) runCheck(ctx context.Context, b *Environment, name string, commands []string) (Result, error) {
	if s.documentsOnly() && (name == Build || name == Lint || name == Tests) {
		return exempted(), nil
	}
	if len(commands) == 0 {
		return skipped("no command"), nil
	}
	log := b.Log(name)
	if c := b.before(name, s.Task.ReviewCommit, log, commands); c != nil {
		return s.resultOf(*c), nil
	}
	if b.LookOnly {
		return skipped(NotRun), nil
	}
	if r, ready, err := s.prepare(ctx, b, name, log); !ready {
		return r, err
	}
	b.say("check " + name + ": " + strings.Join(commands, "; "))
	total := blackboard.Check{Name: name, Status: Passed, Log: log}
	for _, command := range commands {
		for _, each := range b.program(command) {
			if err := s.runCommand(ctx, b, name, each, &total); err != nil {
				return Result{}, err
			}
		}
	}
	return s.resultOf(total), nil
}

// program are the commands that come before a command in its list and have not been run in the worktree yet, and the command.
func (b *Environment) program(command string) (commands []string) {
	if b.Program == nil {
		return []string{command}
	}
	for _, each := range b.Program(command) {
		if each == command || !slices.Contains(b.ran, each) {
			commands, b.ran = append(commands, each), append(b.ran, each)
		}
	}
	return commands
}

// prepare makes the worktree ready for a check and begins its log. Where it cannot, the result is that of the check.
func (s *Submission) prepare(ctx context.Context, b *Environment, name, log string) (r Result, ready bool, err error) {
	if err := b.open(ctx); err != nil {
		return r, false, err
	}
	if b.setup != nil {
		if b.setupTold {
			return skipped("worktree.setup failed"), false, nil
		}
		b.setupTold = true // the first check says it
		if why, err := s.prevented(ctx, b, name, "", outputFrom(b.Log("setup"), 0), b.setupEnd); why != "" || err != nil {
			return s.resultOf(blackboard.Check{Name: name, Status: CannotRun, Log: b.Log("setup"), Message: why}), false, err
		}
		return s.resultOf(blackboard.Check{Name: name, Status: Failed, ExitCode: 1, Log: log, Message: b.setup.Error()}), false, nil
	}
	if err := os.Remove(log); err != nil && !errors.Is(err, os.ErrNotExist) {
		return r, false, fmt.Errorf("cannot begin the log of the check %s: %v", name, err)
	}
	return r, true, nil
}

// command is one of a check.
func (b *Environment) command(s *Submission, shell, log string) Command {
	return Command{Shell: shell, Dir: b.worktree, Log: log, Timeout: b.Timeout, Hide: b.Hide, Environ: b.Environ, Mask: b.MaskLog, Services: s.Task.ID}
}

// runCommand runs one command of a check and adds its end to the result.
func (s *Submission) runCommand(ctx context.Context, b *Environment, name, command string, total *blackboard.Check) error {
	unable := func(why string) {
		if total.Status != Failed {
			total.Status, total.Message = CannotRun, fmt.Sprintf("%q could not run: %s", command, b.quote(why))
		}
	}
	if tool := ToolOf(command); tool != "" && !b.hasTool(tool) {
		Note(total.Log, "$ "+command+"\ntool not found: "+tool+"\n")
		unable("tool not found: " + tool)
		return nil
	}
	size := sizeOf(total.Log)
	ran := b.command(s, command, total.Log).RunIn(ctx, b.Enclose)
	if ran.Err != nil {
		return fmt.Errorf("cannot run the check %s (%q): %w", name, command, ran.Err)
	}
	output := outputFrom(total.Log, size)
	total.Seconds += ran.Seconds
	failure := Failure(name, command, ran, output, b.Timeout)
	if why, err := s.prevented(ctx, b, name, command, output, ran); err != nil {
		return err
	} else if why != "" {
		total.ExitCode = cmp.Or(total.ExitCode, ran.ExitCode)
		unable(why)
		return nil
	}
	if ran.ExitCode > 0 && failure != "" {
		failure += after(": ", b.quote(lastLine(output)))
	}
	base, isNew, err := s.onBase(ctx, b, name, command, failure, output, ran)
	if err != nil {
		return err
	}
	if len(isNew) > 0 {
		failure += "; " + b.quote("it breaks "+Names(isNew))
	}
	switch {
	case failure != "" && (total.Status != Failed || total.Baseline != "" && base == ""):
		total.Status, total.ExitCode, total.Message, total.Baseline = Failed, ran.ExitCode, failure, base
	}
	return nil
}

// prevented returns why a command of a check could not run, with the work and without it; "" if it ran, or can run without the work.
func (s *Submission) prevented(ctx context.Context, b *Environment, check, command, output string, ran Ran) (string, error) {
	why := ran.Unable(output)
	if why == "" && command != "" || b.Now == nil {
		return why, nil
	}
	end, err := b.Now(ctx, check, command)
	if err != nil {
		return "", err
	}
	return end.Prevented(ran, command, output, s.paths()), nil
}

// onBase returns the log of the base of the work if all failures occur there too, else "": such failures do not count against
// the work. isNew are the others.
func (s *Submission) onBase(ctx context.Context, b *Environment, check, command, failure, output string, ran Ran) (log string, isNew []string, err error) {
	if failure == "" && ran.ExitCode == 0 && b.Passed != nil {
		b.Passed(command)
	}
	if failure == "" || b.Base == nil || ran.TimedOut {
		return "", nil, nil
	}
	end, err := b.Base(ctx, check, command)
	if err != nil {
		return "", nil, err
	}
	red, isNew := end.NewFailures(ran, command, output, s.paths())
	if !red || len(isNew) > 0 {
		return "", isNew, nil
	}
	return end.Log, nil, nil
}

// resultOf makes the finding of a check that failed.
func (s *Submission) resultOf(c blackboard.Check) Result {
	r := Result{Check: c}
	r.Check.Severity = ""
	if c.Status == CannotRun {
		r.Findings = []*blackboard.Finding{{Severity: atMost(s.severity(c.Name), Warning), Message: c.Message + "; it verifies nothing of this change", Output: TailOf(c.Log)}}
	}
	if c.Status == Failed {
		f := &blackboard.Finding{Severity: s.severity(c.Name), Message: c.Message}
		f.File, f.Line = s.placeIn(outputFrom(c.Log, 0))
		f.Output = TailOf(c.Log)
		if c.Baseline != "" {
			f.Severity = atMost(f.Severity, Warning)
			f.Message += "; it fails on the base too, with the same failures, so it does not count against this change, and verifies nothing of it"
			f.Output += "\n--- and on the base:\n" + TailOf(c.Baseline)
		}
		r.Findings = []*blackboard.Finding{f}
	}
	return r
}

// placeIn is the first place of a changed file that an output names: file:line.
func (s *Submission) placeIn(output string) (file string, line int) {
	for _, m := range place().FindAllStringSubmatch(output, -1) {
		name := filepath.ToSlash(filepath.Clean(m[1]))
		for _, c := range s.Changes {
			if c.Status != "D" && (c.Path == name || strings.HasSuffix(c.Path, "/"+name)) {
				line, _ := strconv.Atoi(m[2])
				return c.Path, line
			}
		}
	}
	return "", 0
}

var place = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`([\w./\-]+\.\w+):(\d+)`) })

// before finds the result of the same commands on the same commit. Which commands they
// were is in the log.
func (b *Environment) before(name, commit, log string, commands []string) *blackboard.Check {
	i := slices.IndexFunc(b.Before, func(c *blackboard.Check) bool {
		return c != nil && c.Name == name && c.Commit == commit && (c.Status == Passed || c.Status == Failed)
	})
	if i < 0 {
		return nil
	}
	var ran []string
	for line := range strings.Lines(outputFrom(log, 0)) {
		if command, ok := strings.CutPrefix(line, "$ "); ok {
			ran = append(ran, strings.TrimSuffix(command, "\n"))
		}
	}
	if !slices.Equal(ran, commands) {
		return nil
	}
	c := *b.Before[i]
	c.Log = log
	if c.Baseline != "" && b.BaseLog != nil {
		c.Baseline = b.BaseLog(c.Baseline)
	}
	return &c
}

// open makes the worktree and prepares it, once for all checks.
func (b *Environment) open(ctx context.Context) (err error) {
	if b.worktree != "" {
		return nil
	}
	if b.worktree, err = b.Worktree(ctx); err != nil {
		return err
	}
	setup := b.Setup
	if b.Seed != nil && b.Seed(ctx, b.worktree, b.Log("setup")) {
		setup = nil
	}
	for _, command := range setup {
		ran := Command{Shell: command, Dir: b.worktree, Log: b.Log("setup"), Timeout: b.Timeout, Hide: b.Hide, Environ: b.Environ, Mask: b.MaskLog}.RunIn(ctx, b.Enclose)
		switch {
		case ran.Err != nil:
			return fmt.Errorf("cannot run worktree.setup (%q): %w", command, ran.Err)
		case ran.Failed():
			b.setupEnd = ran
			b.setup = fmt.Errorf("worktree.setup: %q ended with exit code %d, so nothing could be checked%s", command, ran.ExitCode, ran.Unreached())
			return nil
		}
	}
	if b.Changed != nil {
		b.expected, err = b.Changed(ctx, b.worktree)
	}
	return err
}

func (b *Environment) say(text string) {
	if b.Say != nil {
		b.Say(text)
	}
}

// disturbed lists the tracked files that changed since setup.
func (b *Environment) disturbed(ctx context.Context) (map[string]string, error) {
	if b.worktree == "" || b.Changed == nil {
		return nil, nil
	}
	now, err := b.Changed(ctx, b.worktree)
	return git.Disturbed(b.expected, now), err
}

// ToolOf is the program that a detected command begins with, "" when the shell has to say.
func ToolOf(command string) string {
	word, _, _ := strings.Cut(command, " ")
	if strings.ContainsAny(command, "|&;()<>$`'\"=") || slices.Contains([]string{"cd", "exit", "test", "true", "false", "export", "exec", "set", "if", "for", "while", "[", ".", "!"}, word) {
		return ""
	}
	return word
}

func (b *Environment) hasTool(name string) bool {
	if !strings.Contains(name, "/") {
		return b.Tree.Tool(name)
	}
	path := name
	if !filepath.IsAbs(path) {
		path = filepath.Join(b.worktree, name)
	}
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

const quoted = 300 // bytes of an output that are quoted

func (b *Environment) quote(text string) string {
	if b.Mask != nil {
		text = b.Mask(text)
	}
	for len(text) > quoted {
		_, size := utf8.DecodeLastRuneInString(text[:quoted+1])
		text = text[:quoted+1-size]
	}
	return text
}

func lastLine(output string) string {
	last := ""
	for line := range strings.Lines(output) {
		if text := strings.TrimSpace(line); text != "" && !strings.HasPrefix(text, "$ ") {
			last = text
		}
	}
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return -1
		}
		return r
	}, strings.ToValidUTF8(last, "\uFFFD"))
}

// Note adds a text to the log of a command.
func Note(log, text string) {
	if err := safefile.MakeFolder(filepath.Dir(log), 0o755); err != nil {
		return
	}
	f, err := safefile.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return // the result says it too
	}
	defer f.Close()
	_, _ = f.WriteString(text)
}
