package verb_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"gopkg.in/yaml.v3"

	"liza/pkg/base/yamldoc"
	"liza/pkg/board/blackboard"
	"liza/pkg/board/blackboard/audit"
	"liza/pkg/board/store"
	"liza/pkg/board/transition"
	"liza/pkg/verb/verb"
	"liza/pkg/verb/verb/verbtest"
)

// scene is a project with a task in each status, whose id is the status, and with one of each other thing that verbs are
// about. Verbs are tried on copies of its board in memory.
type scene struct {
	p     *verbtest.Place
	state *blackboard.State
	lines []string // of the state
	tries atomic.Int32
}

func newScene(t *testing.T) *scene {
	t.Helper()
	began := time.Now().Add(-time.Minute)
	p := verbtest.NewWith(t, verb.InitInput{Goal: "Measure", Now: began})
	p.Host, p.Now = "here", func() time.Time { return began }
	p.Config.Limits.MaxReviewCycles = 2
	ctx := t.Context()
	human, coder, reviewer := p.Service(""), p.Service("coder-1"), p.Service("code-reviewer-1")
	ok := func(_ any, err error) {
		t.Helper()
		done(p, err)
	}
	draft := aTask
	draft.ID = "draft"
	ok(human.AddTask(ctx, verb.NewTask{Task: draft, Draft: true}))
	for _, id := range []string{"unclaimed", "held", "abandoned", "submitted", "reviewed", "rejected", "approved", "blocked", "claimed"} {
		p.AddTask(id)
	}
	for _, kind := range []blackboard.Task{{ID: "message", Kind: blackboard.MessageTask}, {ID: "command", Kind: blackboard.ExecTask, Command: "true"}} {
		kind.Description, kind.SpecRef, kind.DoneWhen, kind.Scope = "Answer it", "specs/vision.md", "it prints 42", "IN: the answer"
		ok(human.AddTask(ctx, verb.NewTask{Task: kind}))
	}
	ok(human.Hold(ctx, "held", "not yet"))
	ok(human.Abandon(ctx, verb.WayOut{Task: "abandoned", Reason: "Nobody needs it"}))
	for _, id := range []string{"approved", "rejected", "reviewed", "submitted", "blocked", "claimed"} {
		ok(coder.Claim(ctx, id))
		switch id {
		case "claimed":
			p.Commit(id)
			continue
		case "blocked":
			in := blockInput
			in.Task = id
			ok(coder.Block(ctx, in))
			continue
		}
		p.Commit(id)
		ok(coder.Submit(ctx, verb.SubmitInput{Task: id}))
		if id == "submitted" {
			continue
		}
		ok(reviewer.Reviews.ClaimReview(ctx, id))
		switch id {
		case "approved":
			ok(reviewer.Reviews.Verdict(ctx, verb.VerdictInput{Task: id, Verdict: verb.Approve, Learn: []string{"The tests need a network that is open"}}))
		case "rejected":
			ok(reviewer.Reviews.Verdict(ctx, verb.VerdictInput{Task: id, Verdict: verb.Reject, Reason: "rejected.md:1 has no word"}))
		}
	}
	ok(p.Service("planner-1").Agents.Register(ctx, verb.RegisterInput{ID: "planner-1"}))
	ok(human.Knowledge.AddFact(ctx, "The build needs make 4 or later", ""))
	ok(human.Knowledge.AddFact(ctx, "The docs are built with sphinx", ""))
	ok(coder.Discover(ctx, blackboard.Discovery{During: "claimed", Description: "The parser is slow", Severity: "high", Urgency: "deferred"}))
	p.Now = func() time.Time { return began.Add(30 * time.Second) } // when all verbs are tried
	s := &scene{p: p, state: p.State()}
	s.lines = lines(s.state)
	return s
}

// try calls a verb on a copy of the scene, whose control files and history are its own.
func (s *scene) try(t *testing.T, c attempt, fails int) tried {
	t.Helper()
	d := s.p.Service(c.as)
	own := *s.p.Project
	own.Liza = filepath.Join(own.Root, "tries", fmt.Sprint(s.tries.Add(1)))
	if c.files {
		done(s.p, os.MkdirAll(own.Liza, 0o755))
	}
	d.Board.Project = &own
	x := tried{before: s.lines}
	x.board = store.NewMemory(s.state)
	if c.board != nil {
		state := s.state.Clone()
		c.board(state)
		x.board, x.before = store.NewMemory(state), lines(state)
	}
	x.board.Validate = func(after, before *blackboard.State) []blackboard.Violation {
		return audit.Validate(after, before, audit.Evidence{Now: d.Board.Now(), Write: true})
	}
	uses := &unreliable{Store: x.board, nth: fails}
	d.Board.Progress = func(text string) { x.told = append(x.told, text) }
	d.Board.Store, d.Board.Rehearsal, d.Board.Random = uses, true, strings.NewReader(strings.Repeat("0123456789abcdef", 99))
	if c.service != nil {
		c.service(d)
	}
	x.said, x.err = c.call(t.Context(), d)
	after, err := x.board.View(t.Context())
	done(s.p, err)
	x.after, x.uses, x.writes = after, uses.used, after.Revision-1
	if c.files {
		done(s.p, filepath.WalkDir(own.Liza, func(path string, f fs.DirEntry, err error) error {
			if err == nil && f.Type().IsRegular() && filepath.Ext(path) != ".lock" {
				text := strings.ReplaceAll(strings.TrimSpace(verbtest.Read(t, path)), "\n", "\n  | ")
				if head := strings.SplitAfterN(text, "\n", 6); !c.whole && len(head) == 6 {
					text = strings.Join(head[:5], "") + "  …"
				}
				x.files = append(x.files, strings.TrimPrefix(path, own.Liza+"/")+"\n  | "+text)
			}
			return err
		}))
	}
	return x
}

// attempt is a verb, who calls it, and what is different then.
type attempt struct {
	name    string // a method of the service, and what is special behind a comma
	as      string
	files   bool // it makes files in .liza
	whole   bool // what they say is on record as a whole
	board   func(s *blackboard.State)
	service func(d *verb.Service)
	call    func(ctx context.Context, d *verb.Service) (any, error)
}

// tried is what came of an attempt.
type tried struct {
	board  *store.Memory
	after  *blackboard.State
	uses   int // of the board: looks and writes
	writes int
	before []string // the lines of the board
	said   any
	told   []string // progress
	files  []string // in .liza, each with its name before it
	err    error
}

// String has what the verb returned, the lines of the board that it took away and added, and what the journal says of it.
func (x tried) String() string {
	var b strings.Builder
	if x.err != nil {
		fmt.Fprintf(&b, "refused: %s\n", refusal(x.err))
	} else if text, _ := json.Marshal(x.said); string(text) != "null" {
		fmt.Fprintf(&b, "returns %s\n", text)
	}
	for _, text := range x.told {
		fmt.Fprintf(&b, "says %s\n", text)
	}
	if x.writes > 0 {
		is := lines(x.after)
		without(&b, "-", x.before, is)
		without(&b, "+", is, x.before)
	}
	for _, f := range x.files {
		fmt.Fprintf(&b, "file %s\n", f)
	}
	for _, e := range x.board.Journal() {
		fmt.Fprintf(&b, "journal: %s %s %s: %s", e.Agent, e.Action, e.Task, e.Detail)
		if len(e.Extra) > 0 {
			text, _ := json.Marshal(e.Extra)
			fmt.Fprintf(&b, " %s", text)
		}
		b.WriteString("\n")
	}
	return plain(b.String())
}

// without writes the lines that are not among the others.
func without(b *strings.Builder, sign string, lines, others []string) {
	known := map[string]bool{}
	for _, l := range others {
		known[l] = true
	}
	for _, l := range lines {
		if !known[l] {
			fmt.Fprintf(b, "%s %s\n", sign, l)
		}
	}
}

func refusal(err error) string {
	r, ok := errors.AsType[*transition.Refusal](err)
	if !ok {
		return err.Error()
	}
	return fmt.Sprintf("exit %d %s: %s; next: %s", r.Exit, r.Guard, r.Message, r.Next)
}

// lines are the values of a board, each with its path.
func lines(s *blackboard.State) []string {
	var list []string
	var walk func(path string, n *yaml.Node)
	walk = func(path string, n *yaml.Node) {
		switch n.Kind {
		case yaml.MappingNode:
			for i := 0; i < len(n.Content); i += 2 {
				if key := n.Content[i].Value; key != "boot_id" && path+key != "revision" { // which some systems do not have
					walk(path+"."+key, n.Content[i+1])
				}
			}
		case yaml.SequenceNode:
			for i, x := range n.Content {
				name := fmt.Sprint(i)
				if x.Kind == yaml.MappingNode && len(x.Content) > 1 && x.Content[0].Value == "id" {
					name = x.Content[1].Value
				}
				walk(path+"."+name, x)
			}
		default:
			list = append(list, fmt.Sprintf("%s: %s", strings.TrimPrefix(path, "."), strings.ReplaceAll(n.Value, "\n", "\\n")))
		}
	}
	walk("", yamldoc.Encode(s))
	for t := range s.Tasks() {
		walk("tasks."+t.ID, yamldoc.Encode(t))
	}
	return list
}

// What differs from run to run: times, hashes, tokens, folders.
var differs = []struct {
	is   *regexp.Regexp
	name string
}{
	{regexp.MustCompile(`\w{3} \d{1,2} \w{3} \d\d:\d\d UTC`), "WHEN"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`), "TIME"},
	{regexp.MustCompile(`\d{8}T\d{6}Z`), "TIME"},
	{regexp.MustCompile(`sha256:[0-9a-f]{64}`), "HASH"},
	{regexp.MustCompile(`\b[0-9a-f]{40}\b`), "COMMIT"},
	{regexp.MustCompile(`\b(at|commit) [0-9a-f]{9}\b`), "$1 COMMIT"},
	{regexp.MustCompile(`\bg-[0-9a-f]{8}\b`), "GENERATION"},
	{regexp.MustCompile(`tries/\d+/`), ".liza/"},
	{regexp.MustCompile(`goal-\d{10}`), "GOAL"},
}

func plain(text string) string {
	for _, d := range differs {
		text = d.is.ReplaceAllString(text, d.name)
	}
	return text
}
