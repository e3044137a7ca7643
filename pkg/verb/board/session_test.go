package board_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/history"
	"liza/pkg/board/store"
	"liza/pkg/board/transition"
	"liza/pkg/code/project"
	"liza/pkg/run/exitcmd"
	"liza/pkg/run/role"
	"liza/pkg/verb/board"
	"liza/pkg/verb/verb/verbtest"
)

// clocked makes a board in memory one that several hosts have.
type clocked struct{ *store.Memory }

func (clocked) Now() time.Time             { return verbtest.Noon }
func (clocked) ClockOffset() time.Duration { return 0 }

// titled gives a task a title, as a change that can be seen.
func titled(id, title string) func(*blackboard.State, transition.Actor) error {
	return func(s *blackboard.State, _ transition.Actor) error {
		s.Task(id).Title += title
		return nil
	}
}

var errRefused = errors.New("refused")

func refuse(*blackboard.State, transition.Actor) error { return errRefused }

func titleOf(t *testing.T, s store.Store, id string) (title string, revision int) {
	t.Helper()
	now, err := s.View(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return now.Find(id).Title, now.Revision
}

// What waits in a draft is written with the next change, ahead of it, in one write; until then only the draft's own reads have it.
func TestADraftIsPartOfTheNextWrite(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	d, kept := verbtest.OnMemory(t, verbtest.Board(verbtest.Task("a", blackboard.Unclaimed)))
	b := d.Board.Drafting()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(b.Later(ctx, "one", titled("a", "1")))
	must(b.Later(ctx, "two", titled("a", "2")))
	seen, err := b.View(ctx)
	must(err)
	if title, revision := titleOf(t, kept, "a"); title != "" || revision != 1 || seen.Find("a").Title != "12" {
		t.Errorf("before the write the board has %q in revision %d, and the draft reads %q; want nothing in 1, and 12", title, revision, seen.Find("a").Title)
	}
	if err := b.Update(ctx, "refused", refuse); !errors.Is(err, errRefused) {
		t.Errorf("a refused change: %v", err)
	}
	if title, revision := titleOf(t, kept, "a"); title != "" || revision != 1 {
		t.Errorf("a refused write left %q in revision %d", title, revision)
	}
	must(b.Update(ctx, "three", titled("a", "3")))
	if title, revision := titleOf(t, kept, "a"); title != "123" || revision != 2 {
		t.Errorf("the write left %q in revision %d; want 123 in 2: the draft first, in one write", title, revision)
	}
	must(b.Write(ctx, "rest"))
	must(b.Update(ctx, "four", titled("a", "4")))
	if title, revision := titleOf(t, kept, "a"); title != "1234" || revision != 3 {
		t.Errorf("then the board has %q in revision %d; want 1234 in 3: what was written is not written again", title, revision)
	}
	must(b.Later(ctx, "five", titled("a", "5")))
	must(b.Write(ctx, "rest"))
	must(d.Board.Later(ctx, "six", titled("a", "6")))
	if title, revision := titleOf(t, kept, "a"); title != "123456" || revision != 5 {
		t.Errorf("the board has %q in revision %d; want 123456 in 5: Write writes what is left, and without a draft Later writes at once", title, revision)
	}
}

// What follows a write comes last in it. When it cannot be done yet, the write is made without it, and it waits for the next one.
func TestWhatFollowsAWriteWaitsUntilItCanBeDone(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	d, kept := verbtest.OnMemory(t, verbtest.Board(verbtest.Task("a", blackboard.Unclaimed)))
	b := d.Board.Drafting()
	ended := 0
	f := &board.Following{Ended: func() { ended++ }, Change: func(s *blackboard.State, _ transition.Actor) error {
		if !strings.Contains(s.Find("a").Title, "2") {
			return errRefused
		}
		s.Task("a").Title += "!"
		return nil
	}}
	b.Then(f)
	for _, c := range []struct {
		write, want string
		followed    bool
	}{{"1", "1", false}, {"2", "12!", true}, {"3", "12!3", true}} {
		if err := b.Update(ctx, "test", titled("a", c.write)); err != nil {
			t.Fatal(err)
		}
		if title, _ := titleOf(t, kept, "a"); title != c.want || f.Done != c.followed {
			t.Errorf("after the write of %s the board has %q, followed %t; want %q, %t", c.write, title, f.Done, c.want, c.followed)
		}
	}
	b.Then(&board.Following{Change: titled("a", "?")})
	b.ThenNothing()
	if err := b.Update(ctx, "test", titled("a", "4")); err != nil {
		t.Fatal(err)
	}
	if title, _ := titleOf(t, kept, "a"); title != "12!34" || ended != 1 {
		t.Errorf("the board has %q; want 12!34: what was taken back does not follow", title)
	}
}

func TestARepetitionIsSuccessWithTheStatusOfNow(t *testing.T) {
	t.Parallel()
	d, _ := verbtest.OnMemory(t, verbtest.Board(verbtest.Task("a", blackboard.Approved)))
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"done":    {nil, "APPROVED false <nil>"},
		"again":   {fmt.Errorf("task a: %w", transition.ErrAlreadyDone), "APPROVED true <nil>"},
		"refused": {errRefused, " false refused"},
	} {
		done, err := d.Board.Event(context.Background(), "test", "a", func(s *blackboard.State, _ transition.Actor) error { s.Task("a").Title += "x"; return c.err })
		if got := fmt.Sprint(done.Status, " ", done.Already, " ", err); got != c.want || done.Task != "a" {
			t.Errorf("%s: %s of %s, want %s", name, got, done.Task, c.want)
		}
	}
}

// Of all that stops work here one is named, and which one does not depend on the order in which it was said.
func TestTheOrderThatWins(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		files string
		want  string
	}{
		{"", ""}, {"PAUSE", "paused"}, {"CHECKPOINT", "at a checkpoint"}, {"ABORT", "aborted"}, {"PAUSE CHECKPOINT", "at a checkpoint"}, {"PAUSE ABORT", "aborted"}, {"CHECKPOINT ABORT", "aborted"}, {"PAUSE CHECKPOINT ABORT", "aborted"},
	} {
		d, _ := verbtest.OnMemory(t, verbtest.Board())
		for _, f := range strings.Fields(c.files) {
			if err := d.Board.SetControl(project.Control(f), "because of "+f); err != nil {
				t.Fatal(err)
			}
		}
		want := c.want
		if want != "" {
			want = fmt.Sprintf("%s since 2026-01-19T12:00:00Z: because of %s", c.want, map[string]string{"paused": "PAUSE", "at a checkpoint": "CHECKPOINT", "aborted": "ABORT"}[c.want])
		}
		if got := d.Board.Control(); got != want {
			t.Errorf("with %q: %q, want %q", c.files, got, want)
		}
		if got := d.Board.Input().Control; got != want {
			t.Errorf("with %q the rules are told %q, want %q", c.files, got, want)
		}
	}
}

// On a board of several hosts its own orders hold on each of them; a control file stops only its host, and none is made.
func TestOrdersOfABoardThatHostsShare(t *testing.T) {
	t.Parallel()
	s := verbtest.Board()
	s.Sprint.Status = blackboard.AtCheckpoint
	s.Sprint.Timeline.CheckpointAt = verbtest.At(-5)
	s.Sprint.Checkpoints = []*blackboard.Checkpoint{{N: 1, Message: "look"}}
	d, kept := verbtest.OnMemory(t, s)
	if err := d.Board.SetControl(project.Pause, "this host"); err != nil {
		t.Fatal(err)
	}
	if err := d.Board.SetControl(project.Checkpoint, "an old file"); err != nil {
		t.Fatal(err)
	}
	if got := d.Board.Control(); got != "at a checkpoint since 2026-01-19T12:00:00Z: an old file" {
		t.Errorf("the board of one host: %q, want its file", got)
	}
	d.Board.Store = clocked{kept}
	var got []string
	for _, o := range d.Board.Orders(s) {
		got = append(got, o.String())
	}
	if g := strings.Join(got, "; "); g != "at a checkpoint since 2026-01-19T11:55:00Z: look; paused since 2026-01-19T12:00:00Z: this host" {
		t.Errorf("the shared board: %s; want the board's order in place of the file of its name, then this host's", g)
	}
	if err := d.Board.SetControl(project.Abort, "not a file"); err != nil {
		t.Fatal(err)
	}
	if _, set := d.Board.Project.Controls().Order(project.Abort); set {
		t.Error("a shared board was given a control file")
	}
	if d.Board.ThisHost() != "here" || !d.Board.Shared() {
		t.Errorf("this host is %q on a shared board", d.Board.ThisHost())
	}
	if lone, _ := verbtest.OnMemory(t, s); lone.Board.ThisHost() != "" || lone.Board.Shared() {
		t.Errorf("this host is %q on a board of its own, want no name", lone.Board.ThisHost())
	}
}

// Approved work is merged while the sprint waits for nothing but its planner.
func TestMergesGoOnWhileOnlyThePlannerIsStuck(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		message, cause, files string
		merges                bool
	}{
		{"", "", "", true}, {"", "", "PAUSE", false}, {"", "", "CHECKPOINT", false},
		{"look at it", "", "CHECKPOINT", false}, {"planner stuck: says somebody", "", "CHECKPOINT", false},
		{"no way", blackboard.CausePlanner, "CHECKPOINT", true},
		{"no way", blackboard.CausePlanner, "CHECKPOINT PAUSE", false}, {"no way", blackboard.CausePlanner, "ABORT", false},
	} {
		s := verbtest.Board()
		if c.message != "" {
			s.Sprint.Status, s.Sprint.Checkpoints = blackboard.AtCheckpoint, []*blackboard.Checkpoint{{N: 1, By: blackboard.System, Cause: c.cause, Message: c.message}}
		}
		d, _ := verbtest.OnMemory(t, s)
		for _, f := range strings.Fields(c.files) {
			if err := d.Board.SetControl(project.Control(f), "wait"); err != nil {
				t.Fatal(err)
			}
		}
		if got := d.Board.MergeControl(); (got == "") != c.merges {
			t.Errorf("a checkpoint %q with files %q: merges wait for %q, want them to go on: %t", c.message, c.files, got, c.merges)
		}
	}
}

// Whose runs can be read: those of a task that is, was, or left a history; of anybody else the nearest name is told.
func TestWhoseHistoryThereIs(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	d, _ := verbtest.OnMemory(t, verbtest.Board(verbtest.Task("parser", blackboard.Unclaimed)))
	h := d.Board.Histories()
	if _, err := h.Interactions("gone").Append(ctx, history.Interaction{Timestamp: verbtest.At(0)}); err != nil {
		t.Fatal(err)
	}
	for task, want := range map[string]string{
		"parser": "", board.PlannerRuns: "", board.SummarizerRuns: "", "gone": "",
		"parsr":   "4 no task 'parsr'; did you mean 'parser'? (next: liza status)",
		"_plannr": "4 no task '_plannr'; did you mean '_planner'? (next: liza status)",
		"x":       "4 no task 'x' (next: liza status)",
		"../gone": "4 no task '../gone' (next: liza status)",
		"":        "4 no task '' (next: liza status)",
	} {
		if got := verbtest.Advice(h.Known(ctx, task)); got != want {
			t.Errorf("the history of %q: %q, want %q", task, got, want)
		}
	}
	if runs, err := h.History(ctx, "gone"); err != nil || len(runs) != 1 || runs[0].Sequence != 1 {
		t.Errorf("the history of gone is %+v, %v", runs, err)
	}
	if _, err := h.ArchivedSprint("sprint-9"); verbtest.Advice(err) != "4 the archive has no sprint 'sprint-9' (next: liza goal --list)" {
		t.Errorf("a sprint that was not: %v", err)
	}
	if g, err := h.ArchivedGoal("goal-9"); g != nil || err != nil {
		t.Errorf("a goal that was not: %+v, %v; want nothing", g, err)
	}
}

func TestAnInteractionIsNamedByItsNumber(t *testing.T) {
	t.Parallel()
	list := []history.Interaction{{Sequence: 3}, {Sequence: 4}}
	for number, want := range map[string]string{"3": "", "4": "", "2": "3 to 4", "5": "3 to 4", "x": "3 to 4", "": "3 to 4", "0x3": "3 to 4"} {
		in, err := board.InteractionOf(list, "a", number)
		if want == "" && (err != nil || fmt.Sprint(in.Sequence) != number) {
			t.Errorf("%q is %d, %v", number, in.Sequence, err)
		}
		if full := "2 --run '" + number + "' must be one of the runs of a: " + want + " (next: liza show a --runs)"; want != "" && verbtest.Advice(err) != full {
			t.Errorf("%q: %q, want %q", number, verbtest.Advice(err), full)
		}
	}
	if _, err := board.InteractionOf(nil, "a", "1"); verbtest.Advice(err) != "2 --run 1: a has no run yet (next: liza show a --runs)" {
		t.Errorf("of no interactions: %v", err)
	}
}

// A role that a new task names must exist, be one of coders, and be named by a task that has one.
func TestTheRoleOfANewTask(t *testing.T) {
	t.Parallel()
	d, _ := verbtest.OnMemory(t, verbtest.Board())
	for _, c := range []struct {
		task blackboard.Task
		want string // beginning
	}{
		{blackboard.Task{}, ""}, {blackboard.Task{Role: "implement"}, ""}, {blackboard.Task{ModelRole: "implement"}, ""},
		{blackboard.Task{Role: "painter"}, "role: cannot use the role 'painter'"}, {blackboard.Task{ModelRole: "painter"}, "model: "},
		{blackboard.Task{Role: "implement", Kind: blackboard.MessageTask}, "role: 'implement' is given, but only code tasks have a role"},
		{blackboard.Task{Role: "review"}, "role: cannot use the role 'review'"},
	} {
		got := d.Board.Roles().NewProblem(&c.task)
		if (got == "") != (c.want == "") || !strings.HasPrefix(got, c.want) {
			t.Errorf("a task with role %q, model %q and kind %q: %q, want %q", c.task.Role, c.task.ModelRole, c.task.Kind, got, c.want)
		}
	}
}

// A role that cannot be used is told once, however many tasks wait for it, and only when something waits.
func TestRolesThatWorkWaitsForAndCannotHave(t *testing.T) {
	t.Parallel()
	with := func(st blackboard.Status, kind blackboard.TaskKind) *blackboard.Task {
		return verbtest.Task("t", st, func(t *blackboard.Task) { t.Role, t.Kind = "painter", kind })
	}
	for _, c := range []struct {
		name  string
		tasks []*blackboard.Task
		want  string
	}{
		{"nothing to do", nil, ""},
		{"work for it", []*blackboard.Task{with(blackboard.Unclaimed, ""), with(blackboard.Blocked, ""), with(blackboard.Claimed, "")}, "painter"},
		{"work that is over", []*blackboard.Task{with(blackboard.Merged, ""), with(blackboard.Abandoned, "")}, ""},
		{"a command, which has none", []*blackboard.Task{with(blackboard.Unclaimed, blackboard.ExecTask)}, ""},
	} {
		d, _ := verbtest.OnMemory(t, verbtest.Board(c.tasks...))
		var got []string
		for _, u := range d.Board.Roles().Unusable(verbtest.Board(c.tasks...)) {
			got = append(got, u.Name)
		}
		if g := strings.Join(got, " "); g != c.want {
			t.Errorf("%s: cannot be used: %q, want %q", c.name, g, c.want)
		}
		told := 0
		check := d.Board.Roles().Check(func(error) { told++ })
		for _, x := range c.tasks {
			usable := x.Kind == blackboard.ExecTask
			if why := check(x); (why == "") != usable {
				t.Errorf("%s: the check says %q of a task of kind %q", c.name, why, x.KindOf())
			}
		}
		if told > len(c.tasks) {
			t.Errorf("%s: %d defects of %d tasks", c.name, told, len(c.tasks))
		}
	}
}

func TestARefusedRoleLeadsToWhatMendsIt(t *testing.T) {
	t.Parallel()
	task := &blackboard.Task{ID: "a"}
	for _, c := range []struct {
		rule, file string
		task       *blackboard.Task
		next       string
	}{{"", "", task, "liza roles"}, {"kind", "", task, "liza doctor"}, {"default", "painter.md", task, "liza doctor"}} {
		err := board.RoleRefusal(c.task, &role.UnusableError{Name: "painter", Rule: c.rule, File: c.file, Why: "it is not there"})
		var r *transition.Refusal
		if !errors.As(err, &r) || r.Guard != "G30" || r.Exit != transition.ExitRefused || r.Next != c.next {
			t.Errorf("%+v: %v, want G30 and next: %s", c, err, c.next)
		}
	}
	if err := board.RoleRefusal(task, errRefused); err != errRefused {
		t.Errorf("another error became %v", err)
	}
}

// The values of a plan's secrets are in files that only the person reads, and masked from then on; what is wrong with them is said before anything is kept.
func TestTheSecretsOfAPlanAreKeptOrRefusedWhole(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	d, _ := verbtest.OnMemory(t, verbtest.Board())
	v, at := d.Board.Vault(), d.Board.Project
	verbtest.Write(t, filepath.Join(at.Liza, "prompts", "a.md"), "the key is tok-12345678\n")
	verbtest.Write(t, filepath.Join(at.Liza, "config.yaml"), "# tok-12345678\n")
	plan := func(pairs ...string) *exitcmd.Plan {
		p := &exitcmd.Plan{Secrets: map[string]string{}}
		for i := 0; i < len(pairs); i += 2 {
			p.Secrets[pairs[i]] = pairs[i+1]
		}
		return p
	}
	for name, p := range map[string]*exitcmd.Plan{"a name with a dash": plan("my-key", "value-1"), "an empty value": plan("key", " "), "a path": plan("../key", "value-1"), "a mask of nothing known": plan("token", "[REDACTED:token]")} {
		if _, err := v.KeepSecrets(ctx, p); !strings.HasPrefix(verbtest.Advice(err), "2 the plan cannot be applied: ") || strings.Contains(verbtest.Advice(err), "value-1") {
			t.Errorf("%s: %v, want exit 2 without the value", name, err)
		}
	}
	if _, err := os.Stat(at.Secrets()); err == nil {
		t.Error("refused secrets made a folder")
	}
	warnings, err := v.KeepSecrets(ctx, plan("token", "tok-12345678", "pin", "123"))
	if err != nil || strings.Join(warnings, "; ") != "secret pin has less than four characters: it is not masked" {
		t.Fatalf("kept: %v, %v", warnings, err)
	}
	for name, want := range map[string]string{"token": "tok-12345678", "pin": "123"} {
		info, err := os.Stat(filepath.Join(at.Secrets(), name))
		if err != nil || info.Mode().Perm() != 0o600 || verbtest.Read(t, filepath.Join(at.Secrets(), name)) != want {
			t.Errorf("%s: %v, %v; want the value with mode 0600", name, info, err)
		}
	}
	if _, err := os.Stat(filepath.Join(at.Secrets(), ".scrub")); err == nil {
		t.Error("the mark of a scrub is left")
	}
	if got := verbtest.Read(t, filepath.Join(at.Liza, "prompts", "a.md")); got != "the key is [REDACTED:token]\n" {
		t.Errorf("what was written before says %q", got)
	}
	if got := verbtest.Read(t, filepath.Join(at.Liza, "config.yaml")); got != "# tok-12345678\n" {
		t.Errorf("a file of people was rewritten: %q", got)
	}
	if got := d.Board.Mask("x tok-12345678 y"); got != "x [REDACTED:token] y" {
		t.Errorf("masked: %q", got)
	}
	// A planner that gives back what it was shown changes nothing: the value is known.
	if _, err := v.KeepSecrets(ctx, plan("token", "[REDACTED:token]")); err != nil || verbtest.Read(t, filepath.Join(at.Secrets(), "token")) != "tok-12345678" {
		t.Errorf("the mask of a known secret: %v", err)
	}
	// A value that people set in the environment goes before the file of its name.
	d.Board.Held = &board.HeldSecrets{}
	d.Board.Held.Hold("pin", "456")
	values, missing, err := v.SecretsOf([]string{"token", "pin", "other", "../config.yaml"})
	if err != nil || values["token"] != "tok-12345678" || values["pin"] != "456" || len(values) != 2 || strings.Join(missing, " ") != "other ../config.yaml" {
		t.Errorf("values %v, missing %v, %v", values, missing, err)
	}
}

// A scrub that a crash cut off is finished by the next process, and only then.
func TestAScrubThatWasCutOffIsFinished(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	d, _ := verbtest.OnMemory(t, verbtest.Board())
	at := d.Board.Project
	prompt := filepath.Join(at.Liza, "prompts", "a.md")
	verbtest.Write(t, prompt, "the key is tok-12345678\n")
	verbtest.Write(t, filepath.Join(at.Secrets(), "token"), "tok-12345678\n")
	if err := d.Board.Vault().RecoverScrub(ctx); err != nil || !strings.Contains(verbtest.Read(t, prompt), "tok-12345678") {
		t.Errorf("without a mark: %v, and the file says %q", err, verbtest.Read(t, prompt))
	}
	verbtest.Write(t, filepath.Join(at.Secrets(), ".scrub"), "")
	if err := d.Board.Vault().RecoverScrub(ctx); err != nil || verbtest.Read(t, prompt) != "the key is [REDACTED:token]\n" {
		t.Errorf("with a mark: %v, and the file says %q", err, verbtest.Read(t, prompt))
	}
	if _, err := os.Stat(filepath.Join(at.Secrets(), ".scrub")); err == nil {
		t.Error("the mark is left")
	}
	if values, _, _ := d.Board.Vault().SecretsOf([]string{"token"}); values["token"] != "tok-12345678" {
		t.Errorf("the value is %q, want it without the newline that an editor adds", values["token"])
	}
}

func TestSecretsThatNoFileMayHoldNeedAProcessThatStays(t *testing.T) {
	t.Parallel()
	d, _ := verbtest.OnMemory(t, verbtest.Board())
	d.Board.Config().Secrets.Store = "memory"
	p := &exitcmd.Plan{Secrets: map[string]string{"token": "tok-12345678"}}
	for _, held := range []*board.HeldSecrets{nil, {}} {
		d.Board.Held = held
		if _, err := d.Board.Vault().KeepSecrets(context.Background(), p); !strings.Contains(verbtest.Advice(err), "2 the plan has secrets, and with secrets.store: memory only `liza run` can keep them") {
			t.Errorf("a process that ends at once: %v", err)
		}
	}
	d.Board.Held = &board.HeldSecrets{Memory: true}
	if _, err := d.Board.Vault().KeepSecrets(context.Background(), p); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(d.Board.Project.Secrets(), "token")); err == nil {
		t.Error("a file has the value")
	}
	if values, _, _ := d.Board.Vault().SecretsOf([]string{"token"}); values["token"] != "tok-12345678" {
		t.Errorf("the values are %v", values)
	}
}

// The write that ends a goal takes the secrets of its plans along; what people put into the folder themselves stays.
func TestTheWriteThatEndsAGoalEndsItsSecrets(t *testing.T) {
	t.Parallel()
	s := verbtest.Board()
	s.Secrets = blackboard.List{"token", "../config.yaml"}
	d, kept := verbtest.OnMemory(t, s)
	for _, name := range []string{"token", "mine"} {
		verbtest.Write(t, filepath.Join(d.Board.Project.Secrets(), name), "value-"+name)
	}
	verbtest.Write(t, filepath.Join(d.Board.Project.Liza, "config.yaml"), "x: 1\n")
	there := func(name string) bool {
		_, err := os.Stat(filepath.Join(d.Board.Project.Secrets(), name))
		return err == nil
	}
	end := func(status string, err error) error {
		return d.Board.Update(context.Background(), "test", func(s *blackboard.State, _ transition.Actor) error {
			s.Goal.Status = status
			return err
		})
	}
	if err := end(blackboard.Completed, errRefused); !errors.Is(err, errRefused) || !there("token") {
		t.Errorf("a write that was refused: %v, the secret is there: %t; want it kept", err, there("token"))
	}
	if err := end(blackboard.Completed, nil); err != nil || there("token") || !there("mine") {
		t.Errorf("the goal has ended: %v; token is there: %t, mine: %t; want only mine", err, there("token"), there("mine"))
	}
	if now, _ := kept.View(context.Background()); len(now.Secrets) != 0 || verbtest.Read(t, filepath.Join(d.Board.Project.Liza, "config.yaml")) != "x: 1\n" {
		t.Errorf("the board has %v; want no names, and no file outside of the folder touched", now.Secrets)
	}
}

// gaps adds anomalies that make a pattern.
func gaps(n int) func(*blackboard.State, transition.Actor) error {
	return func(s *blackboard.State, _ transition.Actor) error {
		for range n {
			transition.AddAnomaly(s, "a", "coder-1", "spec_ambiguity", blackboard.Settings{"question": "which?", "spec_ref": "specs/vision.md#names"}, verbtest.Noon)
		}
		return nil
	}
}

// The circuit breaker looks after each write that adds an anomaly. When it trips, report, summary and the file CHECKPOINT follow.
func TestTheBreakerLooksAfterTheWriteThatAddsAnAnomaly(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	d, kept := verbtest.OnMemory(t, verbtest.Board(verbtest.Task("a", blackboard.Unclaimed)))
	state := func() *blackboard.State {
		s, err := kept.View(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	if err := d.Board.Update(ctx, "test", gaps(1)); err != nil {
		t.Fatal(err)
	}
	if s := state(); s.CircuitBreaker == nil || s.CircuitBreaker.Status != "OK" || d.Board.Control() != "" {
		t.Fatalf("one anomaly: the breaker is %+v, the order %q; want OK and none", s.CircuitBreaker, d.Board.Control())
	}
	if err := d.Board.Update(ctx, "test", titled("a", "x")); err != nil {
		t.Fatal(err)
	}
	if err := d.Board.Update(ctx, "test", gaps(1)); err != nil {
		t.Fatal(err)
	}
	s := state()
	if s.CircuitBreaker.Status != blackboard.BreakerTripped || s.Sprint.Status != blackboard.AtCheckpoint {
		t.Fatalf("two anomalies: the breaker is %+v and the sprint %s; want it tripped at a checkpoint", s.CircuitBreaker, s.Sprint.Status)
	}
	pattern := s.CircuitBreaker.CurrentTrigger.Pattern
	order, _ := d.Board.Project.Controls().Order(project.Checkpoint)
	if order.Reason != "breaker: "+pattern {
		t.Errorf("the file CHECKPOINT says %q, want breaker: %s", order.Reason, pattern)
	}
	summary := filepath.Join(d.Board.Project.Root, s.Sprint.Checkpoints[0].File)
	for _, path := range []string{d.Board.Project.BreakerReport(), summary, d.Board.Project.SprintSummary()} {
		if !strings.Contains(verbtest.Read(t, path), pattern) {
			t.Errorf("%s does not name %s", path, pattern)
		}
	}
	// Who follows makes up for a writer that ended before its files were there, and does nothing afterwards.
	for _, c := range []struct {
		name          string
		lose          func() error
		shared, makes bool
	}{
		{"all is there", func() error { return nil }, false, false},
		{"the order is lost", func() error { return d.Board.Project.Controls().Clear(project.Checkpoint) }, false, true},
		{"the summary is lost too", func() error {
			return errors.Join(os.Remove(summary), d.Board.Project.Controls().Clear(project.Checkpoint))
		}, false, true},
		{"a board of several hosts has no files", func() error { return d.Board.Project.Controls().Clear(project.Checkpoint) }, true, false},
	} {
		if err := c.lose(); err != nil {
			t.Fatal(err)
		}
		d.Board.Store = kept
		if c.shared {
			d.Board.Store = clocked{kept}
		}
		made, err := d.Board.Breaker().FollowBreaker(ctx, state())
		_, set := d.Board.Project.Controls().Order(project.Checkpoint)
		if err != nil || made != c.makes || set == c.shared {
			t.Errorf("%s: made up for it %t, %v, the order is there %t; want %t", c.name, made, err, set, c.makes)
		}
		if _, err := os.Stat(summary); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// An agent in its run may not act for another: the refusal comes before the board is read.
func TestAnAgentActsForItselfOnly(t *testing.T) {
	t.Parallel()
	d, _ := verbtest.OnMemory(t, verbtest.Board())
	both := d.With(func(s *board.Session) { s.Caller = board.Caller{AgentID: "coder-1", Token: "t", As: "coder-2"} })
	if _, err := both.Board.Identify(); verbtest.Advice(err) != "4 coder-1 may not use --as: an agent acts for itself only (next: liza help agents)" {
		t.Errorf("an agent with --as: %v", err)
	}
	acting := d.With(func(s *board.Session) { s.Caller = board.Caller{As: "coder-2", Person: "ada"} })
	id, err := acting.Board.Identify()
	if err != nil {
		t.Fatal(err)
	}
	a := id.Actor(verbtest.Board())
	if a.ID != "coder-2" || !a.Via || a.Register == nil || a.Register.Terminal != "none" || a.Register.Host != "here" {
		t.Errorf("a person who acts for coder-2 is %+v", a)
	}
	if again := id.Actor(verbtest.Board()); again.Register == a.Register || again.Register.Generation != a.Register.Generation {
		t.Error("an update that runs twice registers the agent twice, or shares the entry")
	}
	if a := id.Unregistered().Actor(verbtest.Board()); a.Register != nil {
		t.Errorf("without a registration: %+v", a.Register)
	}
	token := d.With(func(s *board.Session) { s.Caller = board.Caller{AgentID: "coder-1", Token: "t"} })
	if id, err = token.Board.Identify(); err != nil {
		t.Fatal(err)
	}
	if a := id.Actor(verbtest.Board()); a.ID != "coder-1" || a.Via || a.TokenHash != board.HashToken("t") {
		t.Errorf("an agent with its token is %+v", a)
	}
}

// Random bytes that cannot be read stop a registration; nothing predictable takes their place.
func TestWithoutRandomBytesNobodyIsRegistered(t *testing.T) {
	t.Parallel()
	d, _ := verbtest.OnMemory(t, verbtest.Board())
	d.Board.Random = strings.NewReader("too short")
	if _, _, err := d.Board.NewRegistration(true); err == nil || !strings.Contains(err.Error(), "cannot read random bytes") {
		t.Errorf("%v, want an error about the random bytes", err)
	}
	d.Board.Random = strings.NewReader(strings.Repeat("x", 20))
	e, token, err := d.Board.NewRegistration(true)
	if err != nil || len(token) != 32 || e.TokenHash != board.HashToken(token) || e.Generation != "g-78787878" || e.Terminal != "" {
		t.Errorf("%+v, %q, %v; want 16 random bytes as token and 4 as generation", e, token, err)
	}
}

// The hash of a spec follows its content, and a spec that cannot be read has none.
func TestTheHashOfASpecFollowsItsContent(t *testing.T) {
	t.Parallel()
	d, _ := verbtest.OnMemory(t, verbtest.Board())
	first := d.Board.SpecHash("specs/vision.md#names")
	if !strings.HasPrefix(first, "sha256:") || first != d.Board.SpecHash("specs/vision.md") || d.Board.SpecHash("specs/gone.md") != "" || d.Board.SpecHash("../x") != "" {
		t.Errorf("the hashes are %q and %q", first, d.Board.SpecHash("specs/gone.md"))
	}
	verbtest.Write(t, filepath.Join(d.Board.Project.Root, "specs", "vision.md"), "# Another\n")
	if now := d.Board.SpecHash("specs/vision.md"); now == first {
		t.Error("another text has the same hash")
	}
	if text, err := d.Board.SpecText("specs/vision.md#names"); err != nil || text != "# Another\n" {
		t.Errorf("the text is %q, %v", text, err)
	}
	in := d.Board.Input()
	if !in.SpecExists("specs/vision.md") || in.SpecExists("specs/gone.md") {
		t.Error("the rules are told another spec file")
	}
	if d.Board.NoSpecFiles = true; d.Board.Input().SpecExists != nil {
		t.Error("a scratch project is asked for spec files")
	}
}

// A board that cannot be read leaves what is known: nothing, where there is no older one.
func TestWithoutAReadableBoardNobodyIsAnAgent(t *testing.T) {
	t.Parallel()
	d, kept := verbtest.OnMemory(t, verbtest.Board(verbtest.Task("a", blackboard.Unclaimed)))
	d.Board.Store = unreadable{kept}
	if s := d.Board.LastState(context.Background()); s == nil || s.TaskCount() != 0 {
		t.Errorf("the last state has %d tasks, want an empty one", s.TaskCount())
	}
	if err := d.Board.PersonOnly(context.Background(), "restore"); err != nil {
		t.Errorf("a person is refused on a board that cannot be read: %v", err)
	}
	if d.Board.InRun(context.Background()) {
		t.Error("a person is in a run")
	}
}

type unreadable struct{ *store.Memory }

func (unreadable) View(context.Context) (*blackboard.State, error) { return nil, errRefused }

// What may not be started is said with the part of the command; the project's own list counts besides.
func TestWhichCommandsAreStartedForATask(t *testing.T) {
	t.Parallel()
	d, _ := verbtest.OnMemory(t, verbtest.Board())
	d.Board.Config().Policy.Deny = []string{"^deploy"}
	for command, good := range map[string]bool{"make test": true, "sudo make install": false, "make && deploy now": false, "echo deploy": true, "": false} {
		if err := d.Board.MayRun("a", command); (err == nil) != good {
			t.Errorf("%q: %v, want it allowed: %t", command, err, good)
		}
	}
}
