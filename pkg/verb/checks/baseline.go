package checks

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"liza/pkg/base/safefile"
	"liza/pkg/board/blackboard"
	"liza/pkg/board/transition"
	"liza/pkg/code/git"
	"liza/pkg/code/merge"
	"liza/pkg/code/review"
)

// The baseline of a check is what its command gives on the tree that the work began with. It is
// asked for only when the command failed on a submission or on a merge candidate, so that a
// project whose checks are green pays nothing. What a command gave on a tree is kept in
// .liza/baseline.json, which all processes of the project share; a lock keeps two of them from
// running the same command at the same time.

// maxBaseline is how many results are kept, the newest.
const maxBaseline = 200

// BaseResult is what a command of a check gave on the tree that work began with.
type BaseResult struct {
	Key       string          `json:"key"` // of tree, setup and command
	Check     string          `json:"check"`
	Command   string          `json:"command"`
	Commit    string          `json:"commit"`
	End       review.End      `json:"end"`
	Tail      string          `json:"tail,omitempty"` // the last lines, masked
	At        blackboard.Time `json:"at"`
	Candidate bool            `json:"candidate,omitempty"` // of a merge that waits: the work of a task is in it
	MendedBy  string          `json:"mended_by,omitempty"` // a submission on which it passed
	Where     string          `json:"where,omitempty"`     // the folders of programs that it had
}

// Text says in a few words how a command ended here, and what the person's checkout has that may be the reason.
func (e CheckEnd) Text() string {
	lacks := strings.Join(e.End.Lacks, ", ")
	switch {
	case e.End.Setup != "":
		return fmt.Sprintf("cannot run here: worktree.setup fails: %q", e.End.Setup)
	case e.End.Unable != "":
		return "cannot run here: " + e.End.Unable
	case !e.End.Failed:
		return "green here"
	case e.End.After != "":
		return fmt.Sprintf("no result here: %q, which comes before it, has not passed", e.End.After)
	case e.End.GreenInCheckout:
		return "red here, green in your checkout: that has " + lacks
	}
	text := fmt.Sprintf("red here, with exit code %d", e.End.ExitCode)
	switch {
	case e.End.TimedOut:
		text = "red here, without an end within its time limit"
	case e.End.ExitCode == 0: // see review.Failure
		text = "red here: it found no tests"
	case e.End.ExitCode < 0:
		text = "red here: it was killed"
	}
	if lacks != "" {
		text += "; your checkout has, and the worktree has not: " + lacks
	}
	return text
}

// RedBaseline lists the checks that fail without any change of an agent, as far as they have
// been run: what is mended on the integration branch is left out, and what comes after a red command.
func (c *Checks) RedBaseline(ctx context.Context) []BaseResult {
	var red []BaseResult
	known, err := c.readBaseline()
	if err != nil {
		c.board.Progressf("%v", err)
	}
	head, seen := "", map[string]bool{}
	passes := map[string]bool{} // keys
	for _, r := range known {
		passes[r.Key] = !r.End.Failed
	}
	for i := len(known) - 1; i >= 0; i-- { // the newest result of a command counts
		r := known[i]
		if seen[r.Command] || r.Candidate {
			continue
		}
		seen[r.Command] = true
		if !r.End.Failed || r.End.After != "" {
			continue
		}
		if head == "" {
			s, err := c.board.View(ctx)
			if err != nil {
				return red
			}
			if head, err = c.branch.TipHere(ctx, s); err != nil {
				return red
			}
		}
		if key, err := c.baseKey(ctx, head, r.Command); err == nil && passes[key] {
			continue
		}
		if r.MendedBy != "" {
			if merged, err := c.board.Repo.IsAncestor(ctx, r.MendedBy, head); err == nil && merged {
				continue
			}
		}
		red = append(red, r)
	}
	return red
}

// OnBase runs a command of a check on the base of the work, or remembers what it gave. A base
// that cannot be looked at excuses nothing.
func (c *Checks) OnBase(ctx context.Context, secrets []string, base, check, command string) (review.End, error) {
	if base == "" || !c.board.Config().Review.Baseline {
		return review.End{}, nil
	}
	ran := map[string]BaseResult{}
	commands, err := c.program(ctx, base, command)
	if err == nil {
		err = c.lookAtBase(ctx, secrets, base, review.Step{Check: check, Command: command}, commands, ran)
	}
	r := ran[command]
	if err != nil {
		if ctx.Err() != nil {
			return r.End, err
		}
		c.board.Progressf("cannot run %q on the base %.9s: %v", command, base, err)
		return review.End{}, nil
	}
	return r.End, nil
}

// list are the commands of a merge in their order. They are one program: each may need what those before it have built.
func (c *Checks) list() []string {
	return slices.Concat(c.board.Config().Integration.Checks, c.board.Config().Hooks.PreMerge)
}

// listed reports whether a command is one of the list.
func (c *Checks) listed(command string) bool { return slices.Contains(c.list(), command) }

// program are the commands that run in one tree of a commit for the sake of a command, which ends them: those of the list before it, or,
// where it is not in the list, what builds the tree. "" is worktree.setup alone.
func (c *Checks) program(ctx context.Context, commit, command string) ([]string, error) {
	if c.listed(command) || command == "" {
		return c.after(nil, command), nil
	}
	files, err := c.board.Repo.Files(ctx, commit)
	if err != nil {
		return nil, err
	}
	return c.after(c.steps(ctx, commit, files), command), nil
}

// after is a command after those that have to come before it among all steps of a tree, see program.
func (c *Checks) after(steps []review.Step, command string) (commands []string) {
	before := slices.Clone(c.list()[:max(0, slices.Index(c.list(), command))])
	if !c.listed(command) && !slices.Contains(steps, review.Step{Check: review.Build, Command: command}) {
		for _, s := range steps {
			if s.Check == review.Build {
				before = append(before, c.after(nil, s.Command)...)
			}
		}
	}
	for _, each := range append(before, command) {
		if !slices.Contains(commands, each) {
			commands = append(commands, each)
		}
	}
	return commands
}

// together are the commands that are run in one tree when those of all steps are: the list up to its last one, or all others.
func (c *Checks) together(steps []review.Step, command string) (commands []string) {
	for _, s := range steps {
		if c.listed(s.Command) == c.listed(command) {
			for _, each := range c.after(steps, s.Command) {
				if !slices.Contains(commands, each) {
					commands = append(commands, each)
				}
			}
		}
	}
	return commands
}

// baseKey names a command on the tree of a commit, after those that come before it.
func (c *Checks) baseKey(ctx context.Context, commit, command string) (string, error) {
	commands, err := c.program(ctx, commit, command)
	if err != nil {
		return "", err
	}
	return c.keyOf(ctx, commit, commands...)
}

// keyOf names commands on the tree of a commit.
func (c *Checks) keyOf(ctx context.Context, commit string, commands ...string) (string, error) {
	tree, err := c.board.Repo.TreeOf(ctx, commit)
	sum := sha256.Sum256([]byte(strings.Join(slices.Concat([]string{tree}, commands, c.board.Config().Worktree.Setup), "\x00")))
	return hex.EncodeToString(sum[:8]), err
}

// lookAtBase puts into ran what the command of a step gives on a commit: as it is known, or after commands were run there, of which it is one.
func (c *Checks) lookAtBase(ctx context.Context, secrets []string, base string, step review.Step, commands []string, ran map[string]BaseResult) error {
	key, err := c.baseKey(ctx, base, step.Command)
	if err != nil {
		return err
	}
	unlock, err := c.lockBaseline(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = unlock() }()
	known, err := c.readBaseline()
	if err != nil {
		return err
	}
	if i := slices.IndexFunc(known, func(r BaseResult) bool { return r.Key == key }); i >= 0 {
		_, err := os.Lstat(known[i].End.Log)
		if !known[i].End.Failed || err == nil { // what failed is compared with its log
			ran[step.Command] = known[i]
			return nil
		}
	}
	return c.runAndKeep(ctx, secrets, base, step, commands, ran)
}

// runAndKeep runs commands on a base, puts into ran what each gave, and remembers it. The caller has the lock.
func (c *Checks) runAndKeep(ctx context.Context, secrets []string, base string, step review.Step, commands []string, ran map[string]BaseResult) error {
	names, err := c.names(ctx, base, step)
	if err != nil {
		return err
	}
	left := commands
	begins := func() {
		if len(left) > 0 {
			c.board.Progressf("check %s: runs %q on the base %.9s", cmp.Or(names[left[0]], IntegrationCheck), left[0], base)
			left = left[1:]
		}
	}
	begins()
	return c.runProgram(ctx, secrets, "", base, step, commands, func(r BaseResult) error {
		defer begins()
		if ran[r.Command] = r; !r.End.Ran() || r.Command == "" {
			return nil // what could not run says nothing of the tree
		}
		return c.keepBase(ctx, r)
	})
}

// Now runs a command of a check on a base, whatever is known of it: what could not run with the work is looked at here and now
// without it. "" only sets the place up. A base that cannot be checked out prevents the command, too.
func (c *Checks) Now(ctx context.Context, secrets []string, base, check, command string) (review.End, error) {
	ran := map[string]BaseResult{}
	commands, err := c.program(ctx, base, command)
	if err == nil {
		err = c.tryNow(ctx, secrets, base, review.Step{Check: check, Command: command}, commands, ran)
	}
	if err != nil && ctx.Err() == nil {
		return review.End{Unable: err.Error()}, nil
	}
	return ran[command].End, err
}

// runProgram runs commands one after the other in one tree of a commit, which has the work of task in it ("": that of no task), and
// gives done what each gave. After one that is red the others are run as well, as a merge does. What is red then has no result of
// its own. step is that for whose sake they are run.
func (c *Checks) runProgram(ctx context.Context, secrets []string, task, base string, step review.Step, commands []string, done func(BaseResult) error) error {
	names, err := c.names(ctx, base, step)
	if err != nil {
		return err
	}
	limit := c.board.Config().Limits.CheckTimeout
	if c.listed(commands[0]) || step.Check == IntegrationCheck {
		limit = c.integrationTimeout(ctx)
	}
	var p *Place
	defer func() {
		if p == nil {
			return
		}
		if err := p.Close(ctx); err != nil {
			c.board.Progressf("cannot remove the worktree of the baseline: %v", err)
		}
	}()
	var red []string
	for _, command := range commands {
		before, err := c.program(ctx, base, command)
		if err != nil {
			return err
		}
		key, err := c.keyOf(ctx, base, before...)
		if err != nil {
			return err
		}
		log := c.board.Project.BaselineLog(key)
		if p == nil {
			p, err = c.openPlace(ctx, secrets, placeName(".base", task), base, log, limit) // no task can have this name
		} else if err = os.Remove(log); errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		if err != nil {
			return err
		}
		check := cmp.Or(names[command], IntegrationCheck)
		r := BaseResult{Key: key, Check: check, Command: command, Commit: base, At: blackboard.TimeOf(c.board.Now()), Where: c.where(), End: review.End{Log: p.log, Setup: p.Setup}}
		if p.Setup == "" && command != "" { // a setup that fails says nothing about the command
			p.log = log
			if r.End, err = c.runIn(ctx, p, check, command); err != nil {
				return err
			}
		}
		if r.End.Failed || !r.End.Ran() {
			r.Tail = review.TailOf(r.End.Log)
		}
		if r.End.Failed || r.End.Unable != "" {
			if i := slices.IndexFunc(before, func(each string) bool { return slices.Contains(red, each) }); i >= 0 {
				r.End.After = before[i]
			}
			red = append(red, command)
		}
		if err := done(r); err != nil {
			return err
		}
	}
	return nil
}

// names are the names of the checks of commands on a commit. A check of the review has its own name for a command that merges run
// too: what it gives is always judged and told in the same way.
func (c *Checks) names(ctx context.Context, commit string, step review.Step) (map[string]string, error) {
	files, err := c.board.Repo.Files(ctx, commit)
	if err != nil {
		return nil, err
	}
	names := map[string]string{}
	for _, s := range c.steps(ctx, commit, files) {
		names[s.Command] = s.Check
	}
	if step.Check != IntegrationCheck || names[step.Command] == "" {
		names[step.Command] = step.Check
	}
	return names, nil
}

// keepBase remembers a result in the place of an older one of the same command and tree. The caller has the lock.
func (c *Checks) keepBase(ctx context.Context, r BaseResult) error {
	known, err := c.readBaseline()
	if err != nil {
		return err
	}
	known = append(slices.DeleteFunc(known, func(k BaseResult) bool { return k.Key == r.Key || k.Key == triedPrefix+r.Key }), r)
	if !r.End.Failed {
		known = c.asGreen(known, r.Command, r.Commit, r.At)
		c.passes(ctx, r.Command)
	}
	return c.writeBaseline(known)
}

// GreenHere reports whether a command of a check has passed on this host with the programs of now: it is the same PATH, and the
// command's own program is there.
func (c *Checks) GreenHere(command string) bool {
	known, err := c.readBaseline()
	return err == nil && canStart(command) && slices.ContainsFunc(known, func(r BaseResult) bool { return r.Key == greenKey(command) && r.Where == c.where() })
}

// where names the folders in which commands find programs.
func (c *Checks) where() string {
	sum := sha256.Sum256([]byte(c.board.Path))
	return hex.EncodeToString(sum[:4])
}

// canStart reports whether the program that a command begins with is there, as far as it has a plain name.
func canStart(command string) bool {
	tool := review.ToolOf(command)
	if tool == "" || strings.Contains(tool, "/") {
		return true
	}
	_, err := exec.LookPath(tool)
	return err == nil
}

// greenKey is the key under which it is kept that a command has passed, on whatever tree.
func greenKey(command string) string { return "green: " + command }

// asGreen keeps for good that a command has passed. What waits because it failed may be tried again.
func (c *Checks) asGreen(known []BaseResult, command, commit string, at blackboard.Time) []BaseResult {
	known = slices.DeleteFunc(known, func(r BaseResult) bool { return r.Candidate && r.Command == command })
	green := func(r BaseResult) bool { return r.Key == greenKey(command) }
	if slices.ContainsFunc(known, func(r BaseResult) bool { return green(r) && r.Where == c.where() }) {
		return known
	}
	return append(slices.DeleteFunc(known, green), BaseResult{Key: greenKey(command), Commit: commit, At: at, Where: c.where()})
}

// runIn runs a command in a place.
func (c *Checks) runIn(ctx context.Context, p *Place, check, command string) (end review.End, err error) {
	shell := p.command(command)
	shell.Services = p.name
	ran := shell.RunIn(ctx, c.board.Enclose)
	if ctx.Err() != nil {
		return review.End{}, context.Cause(ctx)
	}
	output := review.OutputOf(p.log, command)
	end = review.End{ExitCode: ran.ExitCode, TimedOut: ran.TimedOut, Log: p.log, Unable: ran.Unable(output), Next: transition.NextOf(ran.Err)}
	if end.Unable != "" {
		return end, nil
	}
	if end.Failed = ran.Failed() || review.Failure(check, command, ran, output, p.limit) != ""; end.Failed {
		c.compareCheckout(ctx, p, command, &end)
	}
	return end, nil
}

// compareCheckout adds to a failure what the person's checkout has that the place has not, and whether the command passes there.
func (c *Checks) compareCheckout(ctx context.Context, p *Place, command string, end *review.End) {
	lacks, texts, err := p.Lacks(ctx)
	if err != nil {
		c.board.Progressf("cannot compare the checkout with %.9s: %v", p.Commit, err)
	}
	end.Lacks = texts
	end.GreenInCheckout = len(lacks) > 0 && !end.TimedOut && p.greenInCheckout(ctx, lacks, command)
}

// IntegrationCheck is the name under which the commands of a merge are remembered.
const IntegrationCheck = "integration"

func (c *Checks) integrationTimeout(ctx context.Context) time.Duration {
	s, err := c.board.View(ctx)
	if err != nil {
		return c.board.Config().Limits.CheckTimeout
	}
	return s.MergeCheckTimeout()
}

// Passed remembers that a command has passed on a commit, here, and so mends what is red on a base.
func (c *Checks) Passed(ctx context.Context, commit, command string) {
	c.passes(ctx, command)
	known, err := c.readBaseline()
	red := func(r BaseResult) bool { return r.Command == command && r.End.Failed }
	green := c.GreenHere(command)
	if err != nil || green && !slices.ContainsFunc(known, red) {
		return
	}
	err = c.changeBaseline(ctx, func(known []BaseResult) []BaseResult {
		for i := range known {
			if red(known[i]) {
				known[i].MendedBy = commit
			}
		}
		return c.asGreen(known, command, commit, blackboard.TimeOf(c.board.Now()))
	})
	if err != nil && ctx.Err() == nil {
		c.board.Progressf("%v", err)
	}
}

// passes ends the questions about a command that has passed.
func (c *Checks) passes(ctx context.Context, command string) {
	c.settled(ctx, blackboard.QuestionUnverified, command)
	c.settled(ctx, blackboard.QuestionUnable, command)
}

// PassedBefore reports whether all checks of a merge passed on the tree of a commit.
func (c *Checks) PassedBefore(ctx context.Context, commit string) bool {
	known, err := c.readBaseline()
	if err != nil {
		return false
	}
	key, err := c.keyOf(ctx, commit, c.mergeCommands())
	return err == nil && slices.ContainsFunc(known, func(r BaseResult) bool { return r.Key == key && !r.End.Failed })
}

// Passes remembers that all checks of a merge passed on the tree of a commit.
func (c *Checks) Passes(ctx context.Context, commit string) {
	r := BaseResult{Check: IntegrationCheck, Command: c.mergeCommands(), Commit: commit, At: blackboard.TimeOf(c.board.Now())}
	var err error
	if r.Key, err = c.keyOf(ctx, commit, r.Command); err != nil {
		return
	}
	err = c.changeBaseline(ctx, func(known []BaseResult) []BaseResult {
		return append(slices.DeleteFunc(known, func(k BaseResult) bool { return k.Key == r.Key }), r)
	})
	if err != nil && ctx.Err() == nil {
		c.board.Progressf("%v", err)
	}
}

// mergeCommands names all commands of a merge but the setup, as one.
func (c *Checks) mergeCommands() string {
	return strings.Join(slices.Concat([]string{"all checks of a merge:"}, c.board.Config().Integration.Checks, []string{"hooks:"}, c.board.Config().Hooks.PreMerge), "\n")
}

// changeBaseline changes the memory under its lock.
func (c *Checks) changeBaseline(ctx context.Context, change func([]BaseResult) []BaseResult) error {
	unlock, err := c.lockBaseline(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = unlock() }()
	known, err := c.readBaseline()
	if err != nil {
		return err
	}
	return c.writeBaseline(change(known))
}

func (c *Checks) lockBaseline(ctx context.Context) (func() error, error) {
	return safefile.LockIn(ctx, c.board.Project.BaselineLock(), safefile.Holder{PID: os.Getpid(), Host: c.board.Facts().Host, Agent: c.board.Caller.AgentID, Op: "baseline", Since: c.board.Now()})
}

// readBaseline reads the memory. One that is damaged is begun again: it can be made again.
func (c *Checks) readBaseline() ([]BaseResult, error) {
	data, err := safefile.Read(c.board.Project.Baseline())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read what checks gave before: %v", err)
	}
	var known []BaseResult
	if json.Unmarshal(data, &known) != nil {
		return nil, nil
	}
	return known, nil
}

func (c *Checks) writeBaseline(known []BaseResult) error {
	for len(known) > maxBaseline { // that a check was green once is never forgotten
		i := max(0, slices.IndexFunc(known, func(r BaseResult) bool { return !strings.HasPrefix(r.Key, "green: ") }))
		known = slices.Delete(known, i, i+1)
	}
	data, err := json.MarshalIndent(known, "", " ")
	if err == nil {
		err = safefile.Replace(c.board.Project.Baseline(), append([]byte(c.board.Mask(string(data))), '\n'), 0o644)
	}
	if err != nil {
		return fmt.Errorf("cannot keep what a check gave on its base: %w", err)
	}
	return nil
}

// A BaseCheck is a command that reviews or merges run, and what it gave on the head of the
// integration branch.
type BaseCheck struct {
	review.Step
	Result *BaseResult // nil: it has not been run there
	Cut    bool        // it was tried, and did not end within TryTime
	Late   bool        // it was not begun within TryTime
}

// TryTime bounds what trying the checks may take before work begins.
const TryTime = 30 * time.Second

// TryChecks is BaseChecks that tries, within TryTime, what has not passed here with the programs of now: that a command was green
// in another terminal says nothing of whether it can run in this one.
func (c *Checks) TryChecks(ctx context.Context, s *blackboard.State) ([]BaseCheck, string, error) {
	checks, head, err := c.BaseChecks(ctx, s, false)
	if err != nil {
		return checks, head, err
	}
	bounded, cancel := context.WithTimeout(ctx, cmp.Or(c.Try, TryTime))
	defer cancel()
	var steps, pending []review.Step
	var endless []string // commands that keep those after them from beginning
	for _, check := range checks {
		if steps = append(steps, check.Step); check.Cut {
			endless = append(endless, check.Command)
		}
	}
	isStuck := func(command string) bool {
		return slices.ContainsFunc(c.after(steps, command), func(each string) bool { return slices.Contains(endless, each) })
	}
	for _, s := range steps {
		if !isStuck(s.Command) {
			pending = append(pending, s)
		}
	}
	ran := map[string]BaseResult{}
	cut := false // a command was stopped that has no check yet
	for i := range checks {
		check := &checks[i]
		known := check.Result != nil && (check.Result.Where == c.where() || !check.Result.End.Ran()) && canStart(check.Command)
		_, done := ran[check.Command]
		if known || check.Cut || !done && c.GreenHere(check.Command) {
			continue
		}
		if !done && !isStuck(check.Command) && bounded.Err() == nil {
			err := c.tryNow(bounded, s.Secrets, head, check.Step, c.together(pending, check.Command), ran)
			if ctx.Err() != nil {
				return checks, head, ctx.Err()
			}
			if cut = err != nil; cut && bounded.Err() == nil {
				return checks, head, err
			}
		}
		r, done := ran[check.Command]
		switch {
		case done:
			check.Result = &r
		case cut:
			check.Cut, cut, endless = true, false, append(endless, check.Command)
		default:
			check.Late = true
		}
		if check.Cut || done && r.End.Setup != "" {
			if err := c.tried(ctx, head, *check); err != nil {
				return checks, head, err
			}
		}
	}
	return checks, head, nil
}

// tryNow runs commands on a base, whatever is known of that of the step.
func (c *Checks) tryNow(ctx context.Context, secrets []string, base string, step review.Step, commands []string, ran map[string]BaseResult) error {
	unlock, err := c.lockBaseline(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = unlock() }()
	return c.runAndKeep(ctx, secrets, base, step, commands, ran)
}

// triedPrefix begins the key under which it is kept that a command was tried on a tree and gave no result.
const triedPrefix = "tried: "

// tried keeps that a command gave no result on a commit, so that it is not tried there again without being asked for.
func (c *Checks) tried(ctx context.Context, commit string, check BaseCheck) error {
	key, err := c.baseKey(ctx, commit, check.Command)
	if err != nil {
		return err
	}
	r := BaseResult{Key: triedPrefix + key, Commit: commit, At: blackboard.TimeOf(c.board.Now())}
	if check.Result != nil {
		r.End, r.Tail = check.Result.End, check.Result.Tail
	}
	return c.changeBaseline(ctx, func(known []BaseResult) []BaseResult { return append(known, r) })
}

// A CheckedTree is what the commands of reviews and merges give on a commit.
type CheckedTree struct {
	Task   string     `json:"task,omitempty"` // whose work is in it; "": the integration branch as it is
	Commit string     `json:"commit"`
	Ends   []CheckEnd `json:"checks"`
	Lacks  []string   `json:"lacks"` // what the person's checkout has, and the worktree of the checks has not
}

// A CheckEnd is what one of them gave.
type CheckEnd struct {
	Check   string     `json:"check"`
	Command string     `json:"command"`
	End     review.End `json:"end"`
	Tail    string     `json:"tail,omitempty"`
}

// CheckNow runs the commands of reviews and merges on the work of a task as it would be merged, or, for "", on the integration branch,
// whatever is known of them. What the branch gives is remembered as its baseline.
func (c *Checks) CheckNow(ctx context.Context, s *blackboard.State, task string) (CheckedTree, error) {
	out := CheckedTree{Task: task, Ends: []CheckEnd{}, Lacks: []string{}}
	var err error
	if out.Commit, err = c.toCheck(ctx, s, task); err != nil {
		return out, err
	}
	files, err := c.board.Repo.Files(ctx, out.Commit)
	if err != nil {
		return out, err
	}
	unlock, err := c.lockBaseline(ctx)
	if err != nil {
		return out, err
	}
	defer func() { _ = unlock() }()
	steps := c.steps(ctx, out.Commit, files)
	for _, hook := range c.board.Config().Hooks.PreMerge {
		steps = append(steps, review.Step{Check: IntegrationCheck, Command: hook})
	}
	ran := map[string]BaseResult{}
	for _, step := range steps {
		if _, done := ran[step.Command]; !done {
			err := c.runProgram(ctx, s.Secrets, task, out.Commit, step, c.together(steps, step.Command), func(r BaseResult) error {
				ran[r.Command] = r
				return nil
			})
			if err != nil {
				return out, err
			}
		}
		r := ran[step.Command]
		out.Ends = append(out.Ends, CheckEnd{Check: step.Check, Command: step.Command, End: r.End, Tail: r.Tail})
		for _, l := range r.End.Lacks {
			if !slices.Contains(out.Lacks, l) {
				out.Lacks = append(out.Lacks, l)
			}
		}
		if task == "" && r.End.Ran() {
			if err := c.keepBase(ctx, r); err != nil {
				return out, err
			}
		}
	}
	return out, nil
}

// BaseChecks lists the commands of the checks, configured or detected, and what is known of them
// on the head of the integration branch. With run, those that have not been run there are run.
// Without, nothing is started.
func (c *Checks) BaseChecks(ctx context.Context, s *blackboard.State, run bool) (checks []BaseCheck, head string, err error) {
	if head, err = c.branch.TipHere(ctx, s); err != nil {
		return nil, "", err
	}
	files, err := c.board.Repo.Files(ctx, head)
	if err != nil {
		return nil, head, err
	}
	known, err := c.readBaseline()
	if err != nil {
		return nil, head, err
	}
	steps, ran := c.steps(ctx, head, files), map[string]BaseResult{}
	for _, step := range steps {
		check := BaseCheck{Step: step}
		key, err := c.baseKey(ctx, head, step.Command)
		if err != nil {
			return nil, head, err
		}
		if i := slices.IndexFunc(known, func(r BaseResult) bool { return r.Key == key }); i >= 0 {
			check.Result = &known[i]
		} else if i := slices.IndexFunc(known, func(r BaseResult) bool { return r.Key == triedPrefix+key }); i >= 0 && !run {
			if check.Cut = known[i].End.Setup == ""; !check.Cut {
				check.Result = &known[i]
			}
		} else if run {
			if _, done := ran[step.Command]; !done {
				if err := c.lookAtBase(ctx, s.Secrets, head, step, c.together(steps, step.Command), ran); err != nil {
					return checks, head, err
				}
			}
			r := ran[step.Command]
			check.Result = &r
		}
		checks = append(checks, check)
	}
	return checks, head, nil
}

// steps are the commands of reviews and merges for a commit, each once.
func (c *Checks) steps(ctx context.Context, commit string, files []git.Listed) []review.Step {
	var steps []review.Step
	add := func(s review.Step) {
		if !slices.ContainsFunc(steps, func(x review.Step) bool { return x.Command == s.Command }) {
			steps = append(steps, s)
		}
	}
	cfg := c.board.Config()
	if !cfg.Review.Disabled() {
		for _, s := range checkSettings(cfg.Review).Steps(c.treeAt(ctx, commit, files)) {
			add(s)
		}
	}
	commands := cfg.Integration.Checks
	if len(commands) == 0 && slices.ContainsFunc(files, func(f git.Listed) bool { return f.Path == merge.Script && f.Runs }) {
		commands = []string{"./" + merge.Script}
	}
	for _, command := range commands {
		add(review.Step{Check: IntegrationCheck, Command: command})
	}
	return steps
}
