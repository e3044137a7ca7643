package verbs_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/history"
	"liza/pkg/board/store"
	"liza/pkg/board/transition"
	"liza/pkg/code/git"
	"liza/pkg/code/git/gittest"
	"liza/pkg/face/verbs"
	"liza/pkg/verb/sprint"
	"liza/pkg/verb/verb"
	"liza/pkg/verb/verb/verbtest"
)

func TestMain(m *testing.M) { os.Exit(gittest.Main(m)) }

// failing is the board of a project whose disk is full from the nth use on.
type failing struct {
	store.Project
	from int32 // 0: it never is
	used atomic.Int32
}

func (f *failing) broken() bool { return f.from > 0 && f.used.Load() >= f.from }

// use counts a use, and says how it ends.
func (f *failing) use(what string) error {
	if n := f.used.Add(1); f.from > 0 && n >= f.from {
		return fmt.Errorf("cannot %s .liza/state.yaml: %w", what, syscall.ENOSPC)
	}
	return nil
}

func (f *failing) View(ctx context.Context) (*blackboard.State, error) {
	if err := f.use("read"); err != nil {
		return nil, err
	}
	return f.Project.View(ctx)
}

func (f *failing) Update(ctx context.Context, op store.Op, change func(*blackboard.State) error) error {
	if err := f.use("write"); err != nil {
		return err
	}
	return f.Project.Update(ctx, op, change)
}

func (f *failing) LastValid(ctx context.Context) (*blackboard.State, error) {
	if err := f.use("read"); err != nil {
		return nil, err
	}
	return f.Project.LastValid(ctx)
}

func (f *failing) Journal(ctx context.Context, which history.Filter) ([]blackboard.Entry, error) {
	if err := f.use("read"); err != nil {
		return nil, err
	}
	return f.Project.Journal(ctx, which)
}

func (f *failing) Forget(ctx context.Context, op store.Op, holds func(text []byte) bool) error {
	if err := f.use("write"); err != nil {
		return err
	}
	return f.Project.Forget(ctx, op, holds)
}

// A situation is one in which a verb is called.
type situation struct {
	as, in string // who calls, and the input as JSON
	before func(p *verbtest.Place)
	call   func(ctx context.Context, d *verb.Service) error // for what is not declared as a verb
	mode   string                                           // of reviews
	but    *regexp.Regexp                                   // lines that may differ when the verb was called twice
	goesOn bool                                             // what fails beside it is said, and left to people
}

func drop[T any](_ T, err error) error { return err }

// situations has each verb at least once; what is behind a comma says which situation it is.
var situations = map[string]situation{
	"answer":               {goesOn: true, in: `{"question": "q-1", "text": "The second"}`},
	"approve-merge":        {in: `{"task": "reviewed"}`, before: waits, mode: "normal"},
	"reject-merge":         {in: `{"task": "reviewed", "reason": "reviewed.md:1 has no word"}`, before: waits, mode: "normal"},
	"pick":                 {in: `{"task": "twice", "reason": "it is shorter"}`, before: twice},
	"release":              {as: "coder-1", in: `{"task": "claimed", "reason": "Somebody else"}`},
	"release, by force":    {in: `{"task": "claimed", "reason": "Somebody else", "force": true}`},
	"release, of a review": {as: "code-reviewer-1", in: `{"task": "reviewed", "reason": "Somebody else"}`},
	"resubmit":             {in: `{"task": "claimed", "limits": {"cost_cents": 900}}`, before: halted},
	"accept-integration":   {in: `{"reason": "it is mine"}`, before: pushed},
	"restore-integration":  {but: regexp.MustCompile(`by: (init|restore)|journal: \S+ integration_`), in: `{"reason": "it is not mine"}`, before: pushed},
	"sync": {before: func(p *verbtest.Place) {
		verbtest.Write(p.TB, filepath.Join(p.Dir, "base.md"), "a word\n")
		p.Git(p.Dir, "add", "base.md")
		p.Git(p.Dir, "commit", "-q", "-m", "base")
	}},
	"facts":                      {},
	"facts, added":               {in: `{"add": "Tests run with make test, never alone"}`},
	"facts, removed":             {in: `{"rm": ["fact-1"]}`},
	"approve, facts":             {in: `{"ids": ["fact-2"]}`},
	"approve, drafts":            {in: `{"ids": ["draft"]}`},
	"approve, an attempt":        {in: `{"ids": ["twice"], "reason": "it is shorter"}`, before: twice},
	"approve":                    {in: `{"ids": ["reviewed"]}`, before: waits, mode: "normal"},
	"reject":                     {in: `{"task": "reviewed", "reason": "reviewed.md:1 has no word"}`, before: waits, mode: "normal"},
	"reject, a fact":             {in: `{"task": "fact-2"}`},
	"retry":                      {but: regexp.MustCompile("refs/heads/task/blocked"), in: `{"task": "blocked", "reason": "It is text"}`},
	"retry, a claim":             {in: `{"task": "claimed", "reason": "Somebody else", "force": true}`},
	"retry, a limit":             {in: `{"task": "claimed", "limits": {"cost_cents": 900}}`, before: halted},
	"add":                        {but: regexp.MustCompile(`task-\d`), in: `{"text": "Write it", "done_when": "new.md has a word", "scope": "IN: new.md", "type": "docs", "from": "disc-1", "id": "new"}`},
	"abandon, replaced":          {in: `{"task": "blocked", "reason": "Simpler", "by": ["unclaimed"]}`},
	"abandon, put off":           {in: `{"task": "disc-1", "reason": "later", "later": true}`},
	"spec-change":                {in: `{"spec": "specs/vision.md", "change": "It is larger"}`},
	"add-task":                   {in: `{"id": "new", "description": "Write it", "spec_ref": "specs/vision.md", "done_when": "new.md has a word", "scope": "IN: new.md", "type": "docs"}`},
	"finalize":                   {in: `{"tasks": ["draft"]}`},
	"unblock":                    {but: regexp.MustCompile("refs/heads/task/blocked"), in: `{"task": "blocked", "reason": "It is text"}`},
	"supersede":                  {in: `{"task": "blocked", "reason": "Simpler", "by": ["unclaimed"]}`},
	"abandon":                    {in: `{"task": "blocked", "reason": "Nobody needs it"}`},
	"abandon, what was rejected": {in: `{"task": "rejected", "reason": "Nobody needs it"}`},
	"discover":                   {as: "coder-1", in: `{"text": "The parser is slow", "task": "claimed"}`},
	"convert":                    {in: `{"discovery": "disc-1", "task": "unclaimed"}`},
	"defer":                      {in: `{"discovery": "disc-1", "reason": "later"}`},
	"anomaly":                    {as: "coder-1", in: `{"type": "x-odd", "task": "claimed"}`},
	"anomaly, that is a pattern": {in: `{"type": "spec_ambiguity", "task": "unclaimed", "details": {"question": "which?", "spec_ref": "specs/vision.md#names"}}`, before: gap},
	"tell, the planner":          {in: `{"to": "planner", "text": "Mind the gap", "id": "note-1"}`},
	"tell, at a line":            {in: `{"to": "submitted", "at": ".", "text": "Which word?"}`},
	"tell":                       {in: `{"to": "claimed", "text": "Use argparse", "id": "tell-1"}`},
	"pause":                      {in: `{"reason": "lunch"}`},
	"resume":                     {before: func(p *verbtest.Place) { p.Must(sprint.Pause(context.Background(), p.Service(""), "lunch")) }},
	"resume, a checkpoint":       {in: `{"decision": "REPLAN", "note": "Drop it"}`, before: func(p *verbtest.Place) { p.Must(sprint.Checkpoint(context.Background(), p.Service(""), "look")) }},
	"stop, all":                  {in: `{"all": true, "reason": "wrong"}`},
	"stop, all and the goal":     {in: `{"all": true, "reason": "wrong", "goal": true}`},
	"pause, at a checkpoint":     {in: `{"checkpoint": true, "reason": "half time"}`},
	"pause, a task":              {in: `{"task": "unclaimed", "reason": "not yet"}`},
	"resume, a task":             {in: `{"name": "held"}`},
	"resume, an agent":           {in: `{"name": "coder-1"}`, before: stopped},
	"resume, the breaker":        {in: `{"note": "seen"}`, before: tripped},
	"sync, accept":               {in: `{"accept": true, "reason": "it is mine"}`, before: pushed},
	"sync, restore":              {but: regexp.MustCompile(`by: (init|restore)|journal: \S+ integration_`), in: `{"restore": true, "reason": "it is not mine"}`, before: pushed},
	"stop":                       {in: `{"agent": "coder-1", "reason": "it loops"}`},
	"restart":                    {in: `{"agent": "coder-1"}`, before: stopped},
	"hold":                       {in: `{"task": "unclaimed", "reason": "not yet"}`},
	"unhold":                     {in: `{"task": "held"}`},
	"edit":                       {in: `{"task": "unclaimed", "title": "Another"}`},
	"resume, the next sprint": {in: `{"planned": []}`, before: func(p *verbtest.Place) {
		p.Must(sprint.Abort(context.Background(), p.Service(""), "enough", false))
		p.Must(p.Service("coder-1").Release(context.Background(), verb.ReleaseInput{Task: "claimed", Reason: "enough"}))
		p.Must(p.Service("code-reviewer-1").Release(context.Background(), verb.ReleaseInput{Task: "reviewed", Reason: "enough", Reviewer: true}))
	}},
	"merge":      {in: `{"task": "approved"}`},
	"merge, all": {},
	"merge, again": {in: `{"task": "approved", "again": true}`, before: func(p *verbtest.Place) {
		p.Merge("approved")
		p.Git(p.Dir, "update-ref", "refs/heads/integration", "main")
		p.Accept()
	}},
	"claim":           {but: failedBefore, as: "coder-2", in: `{"task": "unclaimed"}`},
	"claim, the best": {but: failedBefore, as: "coder-2"},
	"claim, what was rejected": {but: failedBefore, as: "coder-1", in: `{"task": "rejected"}`, before: func(p *verbtest.Place) {
		p.Must(p.Service("coder-1").Release(context.Background(), verb.ReleaseInput{Task: "claimed", Reason: "the other first"}))
	}},
	"claim-review":           {as: "code-reviewer-2", in: `{"task": "submitted"}`},
	"claim-review, the next": {as: "code-reviewer-2"},
	"heartbeat":              {as: "coder-1"},
	"register":               {as: "coder-3"},
	"unregister":             {as: "planner-1"},
	"unregister, by force":   {as: "coder-1", in: `{"force": true}`},
	"intent":                 {as: "coder-1", in: `{"task": "claimed", "intent": "Write a word", "validation": "read it"}`},
	"submit":                 {as: "coder-1", in: `{"task": "claimed", "summary": "It is done"}`},
	"verdict, approve":       {as: "code-reviewer-1", in: `{"task": "reviewed", "verdict": "approve", "learn": ["The parser reads one line at a time"]}`},
	"verdict, reject":        {as: "code-reviewer-1", in: `{"task": "reviewed", "verdict": "reject", "reason": "reviewed.md:1 has no word"}`},
	"verdict, replan":        {as: "code-reviewer-1", in: `{"task": "reviewed", "verdict": "replan", "reason": "It takes two tasks"}`},
	"verdict, stuck":         {as: "code-reviewer-1", in: `{"task": "reviewed", "verdict": "stuck", "reason": "I cannot start it"}`},
	"block":                  {as: "coder-1", in: `{"task": "claimed", "reason": "The format is not said", "questions": ["Which format?"]}`},
	"handoff":                {as: "coder-1", in: `{"task": "claimed", "summary": "Half of it", "next_action": "The other half"}`},

	"archive": {before: func(p *verbtest.Place) { p.Merges(2) }, call: func(ctx context.Context, d *verb.Service) error { return drop(sprint.Archive(ctx, d, 0)) }},
	"config set, on the board": {call: func(ctx context.Context, d *verb.Service) error {
		return drop(d.SetSetting(ctx, "max_review_cycles", "7"))
	}},
}

// halted lets a limit stop a task.
func halted(p *verbtest.Place) {
	p.Must(nil, p.Store.Update(context.Background(), store.Op{Name: "halt"}, func(s *blackboard.State) error {
		return transition.HaltTask(s, "claimed", transition.SystemActor(p.Service("").Board.Facts()), transition.Input{Halt: &blackboard.Halt{Kind: "cost", Limit: 5}}, p.Now())
	}))
}

// failedBefore are lines of a claim that failed once.
var failedBefore = regexp.MustCompile(`journal: \S+ claim_failed`)

// twice are two attempts at one task, both handed in.
func twice(p *verbtest.Place) {
	ctx := context.Background()
	p.Must(p.Service("").AddTask(ctx, verb.NewTask{Attempts: 2, Task: blackboard.Task{ID: "twice", Description: "Write it", SpecRef: "specs/vision.md", DoneWhen: "it is there", Scope: "IN: it", Type: "docs"}}))
	for i, id := range []string{"twice", "twice-2"} {
		c := p.Service(fmt.Sprint("coder-", 5+i))
		p.Must(c.Claim(ctx, id))
		p.Commit(id)
		p.Must(c.Submit(ctx, verb.SubmitInput{Task: id}))
	}
}

// waits approves what is reviewed, which then waits for a person.
func waits(p *verbtest.Place) {
	p.Must(p.Service("code-reviewer-1").Reviews.Verdict(context.Background(), verb.VerdictInput{Task: "reviewed", Verdict: verb.Approve}))
}

func stopped(p *verbtest.Place) {
	p.Must(p.Service("").Agents.StopAgent(context.Background(), verb.AgentOrder{Agent: "coder-1"}))
}

func pushed(p *verbtest.Place) { p.Push("word.md", "a word\n") }

// gap is an anomaly of a minute ago; two of them are a pattern.
func gap(p *verbtest.Place) {
	now := p.Now
	p.Now = func() time.Time { return now().Add(-time.Minute) }
	defer func() { p.Now = now }()
	p.Must(p.Service("").Anomaly(context.Background(), verb.AnomalyInput{Type: "spec_ambiguity", Task: "held", Details: map[string]string{"question": "which?", "spec_ref": "specs/vision.md#names"}}))
}

func tripped(p *verbtest.Place) { gap(p); gap(p) }

// busy is a project with a task in each status, whose id is the status.
func busy(t *testing.T) *verbtest.Place {
	t.Helper()
	p := verbtest.NewWith(t, verb.InitInput{Goal: "Measure", Now: time.Now().Add(-time.Hour)})
	ctx := t.Context()
	human, coder, reviewer := p.Service(""), p.Service("coder-1"), p.Service("code-reviewer-1")
	p.Config.Facts.Review = true
	p.Must(human.AddTask(ctx, verb.NewTask{Draft: true, Task: blackboard.Task{ID: "draft", Description: "Write it", SpecRef: "specs/vision.md", DoneWhen: "it is there", Scope: "IN: it", Type: "docs"}}))
	for _, id := range []string{"unclaimed", "held", "submitted", "reviewed", "rejected", "approved", "blocked", "claimed"} {
		p.AddTask(id)
	}
	p.Must(human.Hold(ctx, "held", "not yet"))
	for _, id := range []string{"approved", "rejected", "reviewed", "submitted", "blocked", "claimed"} {
		p.Must(coder.Claim(ctx, id))
		p.Commit(id)
		switch id {
		case "claimed":
			continue
		case "blocked":
			p.Must(coder.Block(ctx, verb.BlockInput{Task: id, Reason: "The format is not said", Questions: []string{"Which format?"}}))
			continue
		}
		p.Must(coder.Submit(ctx, verb.SubmitInput{Task: id}))
		if id == "submitted" {
			continue
		}
		p.Must(reviewer.Reviews.ClaimReview(ctx, id))
		switch id {
		case "approved":
			p.Must(reviewer.Reviews.Verdict(ctx, verb.VerdictInput{Task: id, Verdict: verb.Approve}))
		case "rejected":
			p.Must(reviewer.Reviews.Verdict(ctx, verb.VerdictInput{Task: id, Verdict: verb.Reject, Reason: "rejected.md:1 has no word", Learn: []string{"The docs are built with sphinx alone"}}))
		}
	}
	p.Must(p.Service("planner-1").Agents.Register(ctx, verb.RegisterInput{ID: "planner-1"}))
	p.Must(human.Knowledge.AddFact(ctx, "The build needs make 4 or later", ""))
	p.Must(coder.Discover(ctx, blackboard.Discovery{During: "claimed", Description: "The parser is slow", Severity: "high", Urgency: "deferred"}))
	return p
}

// world is what is in the folders of Liza and git but for objects, by path.
type world map[string]entry

type entry struct {
	mode fs.FileMode
	text string
}

func worldOf(p *verbtest.Place) world {
	p.TB.Helper()
	is := world{}
	for _, top := range []string{".liza", ".worktrees", ".git"} {
		err := filepath.WalkDir(filepath.Join(p.Dir, top), func(path string, e fs.DirEntry, err error) error {
			name, _ := filepath.Rel(p.Dir, path)
			switch {
			case errors.Is(err, fs.ErrNotExist):
				return nil
			case err != nil:
				return err
			case name == ".git/objects" || name == ".git/test-keys":
				return fs.SkipDir
			}
			info, err := e.Info()
			if err != nil {
				return err
			}
			is[name] = entry{mode: info.Mode()}
			if info.Mode().IsRegular() {
				is[name] = entry{info.Mode(), verbtest.Read(p.TB, path)}
			}
			return nil
		})
		p.Must(nil, err)
	}
	return is
}

// as reports whether two worlds are the same but for locks, and for what git notes for itself.
func (w world) as(other world) bool {
	own := func(name string, _ entry) bool {
		return filepath.Ext(name) == ".lock" || filepath.Base(name) == "index" || strings.HasPrefix(name, ".git/logs")
	}
	a, b := maps.Clone(w), maps.Clone(other)
	maps.DeleteFunc(a, own)
	maps.DeleteFunc(b, own)
	return maps.Equal(a, b)
}

// back makes everything as it was in w, and opens the project again.
func (w world) back(p *verbtest.Place) {
	p.TB.Helper()
	now := worldOf(p)
	for _, name := range slices.Sorted(maps.Keys(now)) {
		if want, there := w[name]; !there || now[name].mode != want.mode {
			p.Must(nil, os.RemoveAll(filepath.Join(p.Dir, name)))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(w)) {
		path, want := filepath.Join(p.Dir, name), w[name]
		switch {
		case now[name] == want:
		case want.mode.IsDir():
			p.Must(nil, os.MkdirAll(path, want.mode.Perm()))
		case want.mode.IsRegular():
			p.Must(nil, os.WriteFile(path, []byte(want.text), want.mode.Perm()))
		default:
			p.TB.Fatalf("%s is %s", name, want.mode)
		}
	}
	p.Open()
}

// What differs from run to run: times, hashes, random names.
var differs = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z|\d{8}T\d{6}Z|\b[0-9a-f]{9,64}\b|\bg-[0-9a-f]{8}\b|revision: \d+`)

// effects tells what a verb came to. Files of commits are asked once.
type effects struct{ files map[string]string }

// of is the board, what the journal says, the files of the branches, what is saved, and the orders to the team.
func (x effects) of(p *verbtest.Place) string {
	p.TB.Helper()
	var b strings.Builder
	b.WriteString(verbtest.Read(p.TB, p.Project.State()))
	entries, err := p.Store.Journal(context.Background(), history.Filter{})
	p.Must(nil, err)
	for _, e := range entries {
		fmt.Fprintf(&b, "journal: %s %s %s: %s\n", e.Agent, e.Action, e.Task, e.Detail)
	}
	for line := range strings.Lines(p.Git(p.Dir, "for-each-ref", "--format=%(objectname) %(refname)")) {
		commit, ref, _ := strings.Cut(strings.TrimSpace(line), " ")
		if x.files[commit] == "" {
			x.files[commit] = fmt.Sprint(strings.Fields(p.Git(p.Dir, "ls-tree", "-r", "--name-only", commit)))
		}
		fmt.Fprintf(&b, "%s: %s\n", ref, x.files[commit])
	}
	fmt.Fprintf(&b, "orders: %d\n", len(p.Project.Controls().Orders()))
	return differs.ReplaceAllString(b.String(), "X")
}

// differences are the lines that only one of two texts has, but for those that may differ.
func differences(is, want string, but *regexp.Regexp) string {
	var b strings.Builder
	i, w := strings.Split(is, "\n"), strings.Split(want, "\n")
	for _, side := range []struct {
		sign      string
		all, less []string
	}{{"+", i, w}, {"-", w, i}} {
		for _, l := range side.all {
			if !slices.Contains(side.less, l) && (but == nil || !but.MatchString(l)) {
				fmt.Fprintf(&b, "   %s %s\n", side.sign, l)
			}
		}
	}
	return b.String()
}

// run calls the verb and returns its result in JSON.
func (s situation) run(t *testing.T, name string, d *verb.Service) (string, error) {
	t.Helper()
	if s.call != nil {
		return "", s.call(t.Context(), d)
	}
	name, _, _ = strings.Cut(name, ",")
	v := verbs.Find(name)
	in, err := v.Decode(verbs.CLI, []byte(s.in), nil)
	if err != nil {
		t.Fatal(err)
	}
	said, err := v.Run(t.Context(), d, in)
	text, bad := json.Marshal(said)
	return string(text), errors.Join(err, bad)
}

// From the nth use of the board or of git on everything fails, for all n and all verbs: either a sentence says so, and the same verb
// again ends it when all is well, or it is done as a whole; what it could not do beside that is said, and the next command does it.
func TestEachVerbWhoseGitOrBoardGoesOnFailingSaysSo(t *testing.T) {
	t.Parallel()
	for _, v := range verbs.All() {
		if v.Does() && !slices.ContainsFunc(slices.Collect(maps.Keys(situations)), func(name string) bool {
			name, _, _ = strings.Cut(name, ",")
			return name == v.Name
		}) {
			t.Errorf("%s is in no situation here", v.Name)
		}
	}
	p := busy(t)
	now := time.Now()
	p.Now = func() time.Time { return now } // no lease ends, however slow the machine is
	first, x := worldOf(p), effects{map[string]string{}}
	for _, name := range slices.Sorted(maps.Keys(situations)) {
		t.Run(name, func(t *testing.T) {
			p.TB = t
			first.back(p)
			p.Config.Review.Mode = situations[name].mode
			situations[name].breaks(t, name, p, x)
		})
	}
}

func (s situation) breaks(t *testing.T, name string, p *verbtest.Place, x effects) {
	if s.before != nil {
		s.before(p)
	}
	start, begins := worldOf(p), x.of(p)
	good, err := s.run(t, name, p.Service(s.as))
	if err != nil {
		t.Fatal(err)
	}
	want := x.of(p)
	tidy(p)
	tidied := x.of(p)
	b := gittest.NewBreaker(t)
	for _, what := range []string{"the board", "git"} {
		start.back(p)
		first, step := gittest.Stride(t)
		for n := first; ; n += step {
			d, f, told := p.Service(s.as), &failing{Project: p.Store}, ""
			if what == "git" {
				repo, err := git.Open(t.Context(), p.Dir, b.Env())
				p.Must(nil, err)
				d.Board.Repo = repo
				b.BreakFrom(n)
			} else {
				f.from = int32(n)
			}
			d.Board.Store, d.Board.Progress = f, func(text string) { told += text + "\n" }
			said, err := s.run(t, name, d)
			failed := b.Mend() != "" || f.broken()
			is := x.of(p)
			if !failed {
				if err != nil || is != want {
					t.Errorf("nothing of %s failed; it ended with %v and differs by\n%s", what, err, differences(is, want, nil))
				}
				break
			}
			at := fmt.Sprintf("from use %d of %s on", n, what)
			if err != nil {
				message(t, at, err)
			}
			as := worldOf(p).as(start)
			switch {
			case err != nil && as:
			case err != nil:
				_, err = s.run(t, name, p.Service(s.as))
				if diff := differences(x.of(p), want, s.but); diff != "" {
					t.Errorf("%s: the same verb again ended with %v, and differs by\n%s", at, err, diff)
				}
			case want == begins && said != good:
				t.Errorf("%s: it shows %s, want %s", at, said, good)
			case is != want:
				if !lack.MatchString(said + told) {
					t.Errorf("%s: it says that it is done, and not that it differs by\n%s", at, differences(is, want, nil))
				}
				if s.goesOn {
					break
				}
				tidy(p)
				if diff := differences(x.of(p), tidied, s.but); diff != "" {
					t.Errorf("%s: it says that it is done, and when all is tidied up differs by\n%s", at, diff)
				}
			}
			if !as {
				start.back(p)
			}
		}
	}
}

// tidy does what a supervisor does when it begins.
func tidy(p *verbtest.Place) {
	p.TB.Helper()
	d := p.Service("")
	p.Must(d.Agents.Recover(context.Background()))
	p.Must(sprint.Follow(context.Background(), d, p.State()))
}

var (
	lack = regexp.MustCompile("no space left on device|out of memory")
	raw  = regexp.MustCompile(`\n|%!|<nil>|\b0x|\[[0-9]+\]|goroutine|broken pipe|damaged|exit status|signal:|\beof\b|git -|/tmp/|\*\w+\.|[0-9a-f]{40}`)
)

// message looks at what a person reads.
func message(t *testing.T, at string, err error) {
	t.Helper()
	text := err.Error()
	if r, ok := errors.AsType[*transition.Refusal](err); ok && r.Exit != transition.ExitFailure {
		t.Errorf("%s: exit %d: %s", at, r.Exit, text)
	}
	clauses := strings.Split(text, ": ")
	if !strings.HasPrefix(text, "cannot ") || !lack.MatchString(text) || raw.MatchString(text) || len(slices.Compact(slices.Clone(clauses))) != len(clauses) {
		t.Errorf("%s: it says %q", at, text)
	}
}
