package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"liza/pkg/base/notify"
	"liza/pkg/board/blackboard"
	"liza/pkg/board/config"
	"liza/pkg/board/transition"
	"liza/pkg/run/agent"
	"liza/pkg/team/assembly"
	"liza/pkg/team/supervisor"
	"liza/pkg/verb/outcome"
	"liza/pkg/verb/sprint"
	"liza/pkg/verb/verb"
	"liza/pkg/verb/verb/verbtest"
)

// event is a project whose agents are functions.
type event struct {
	*verbtest.Place
	t *testing.T
}

func (e event) must(_ any, err error) {
	e.t.Helper()
	if err != nil {
		e.t.Fatal(err)
	}
}

// reviewed claims task-1, hands something in, and gives it to a reviewer.
func (e event) reviewed() *verb.Service {
	e.t.Helper()
	e.AddTask("task-1")
	coder, reviewer := e.Service("coder-1"), e.Service("code-reviewer-1")
	e.must(coder.Claim(e.t.Context(), "task-1"))
	e.Commit("task-1")
	e.must(coder.Submit(e.t.Context(), verb.SubmitInput{Task: "task-1"}))
	e.must(reviewer.Reviews.ClaimReview(e.t.Context(), "task-1"))
	return reviewer
}

// verdict judges the work of task-1.
func (e event) verdict(verdict string) {
	e.t.Helper()
	e.must(e.reviewed().Reviews.Verdict(e.t.Context(), verb.VerdictInput{Task: "task-1", Verdict: verb.Verdict(verdict), Reason: "the whole approach of it is wrong"}))
}

// run lets a coder do one unit of work; its program ends like that.
func (e event) run(r agent.Result) error {
	s := &supervisor.Supervisor{Service: e.Service(""), Role: blackboard.RoleCoder, CLI: "meter", PID: os.Getpid(), Liza: "/bin/true", Once: true,
		Adapter: func(string) (agent.Adapter, error) { return nil, nil },
		Start: func(_ context.Context, _ agent.Adapter, s agent.Spec) agent.Result {
			if err := s.Started(agent.Process{Pid: os.Getpid()}); err != nil {
				return agent.Result{Outcome: agent.Killed, Error: err.Error()}
			}
			return r
		}}
	s.PIDStart, _ = agent.ProcessStart(os.Getpid())
	return s.Run(context.Background(), context.Background())
}

// env is the environment of a command in the project.
func (e event) env() *Env {
	return &Env{System: assembly.Environment{Stdout: io.Discard, Stderr: io.Discard, Dir: e.Dir, Now: time.Now}}
}

// look is one pass of a watcher.
func (e event) look() {
	e.t.Helper()
	d, err := e.env().System.Reader(e.t.Context())
	if err == nil {
		_, err = e.env().watcherOf(d).Pass(e.t.Context())
	}
	e.must(nil, err)
}

// asks blocks task-1 with a question.
func (e event) asks() (again func()) {
	e.AddTask("task-1")
	coder := e.Service("coder-1")
	e.must(coder.Claim(e.t.Context(), "task-1"))
	e.must(coder.Block(e.t.Context(), verb.BlockInput{Task: "task-1", Reason: "two specs contradict", Questions: []string{"Which one holds?"}}))
	return func() {
		e.must(e.Service("").Hold(e.t.Context(), "task-1", "wait"))
		e.look()
	}
}

// raising makes each event of specs/roles-and-knowledge.md#9.1, and alert of specs/protocol.md#10.1, happen.
// again does what might raise it a second time; nil: nothing might.
var raising = map[string]func(e event) (again func()){
	"output": func(e event) func() {
		e.Config.Messenger.Mode = "verbatim"
		e.must(e.Service("").AddTask(e.t.Context(), verb.NewTask{Task: blackboard.Task{ID: "tell", Kind: "msg", Description: "It is ready", Notify: true}}))
		e.must(nil, e.run(agent.Result{}))
		return nil
	},
	"replan": func(e event) func() { e.verdict("replan"); return nil },
	"replan_stopped": func(e event) func() {
		e.verdict("replan")
		e.must(nil, outcome.StopReplan(e.t.Context(), e.Supervised("planner-1"), transition.Trigger{Kind: "REPLAN", IDs: []string{"task-1"}}, "stuck after 3 replans"))
		return nil
	},
	"planning_failed": func(e event) func() {
		e.must(outcome.Unanswered(e.t.Context(), e.Supervised("planner-1"), outcome.Run{Kind: "planner"}, "there is no JSON", 4))
		return nil
	},
	"blocked":  event.asks,
	"question": event.asks,
	"merge_approval": func(e event) func() {
		e.Config.Review.Mode = "strict"
		e.Approved("task-1")
		return e.look
	},
	"review_stuck": func(e event) func() { e.verdict("stuck"); return nil },
	"integration_failed": func(e event) func() {
		e.Approved("task-1")
		e.Outside("task-1.md", "another word\n")
		if _, err := e.Service("").Merges.Merger(blackboard.Human).All(e.t.Context()); err == nil {
			e.t.Error("two words are merged into one file")
		}
		return e.look
	},
	"limit_warning": func(e event) func() {
		e.must(e.Service("").AddTask(e.t.Context(), verb.NewTask{Task: blackboard.Task{ID: "task-1", Description: "Write", SpecRef: "specs/vision.md", DoneWhen: "a.md contains a word",
			Scope: "IN: a.md", Type: "docs", Limits: blackboard.Settings{"cost_cents": 100}}}))
		costs := agent.Result{Outcome: agent.Finished, Final: `{"action":"RETRY","evidence_files":[],"summary_for_supervisor":"It goes on."}`, Usage: agent.Usage{CostKnown: true, CostCents: 40}}
		e.must(nil, e.run(costs)) // two runs, 80 cents; a third one is not started
		return e.look
	},
	"halted": func(e event) func() {
		e.AddTask("task-1")
		e.must(e.Supervised("coder-2").Halt(e.t.Context(), "task-1", &blackboard.Halt{Kind: "cost", Value: 101, Limit: 100, At: blackboard.TimeOf(time.Now())}))
		return e.look
	},
	"checkpoint": func(e event) func() {
		e.must(sprint.Checkpoint(e.t.Context(), e.Service(""), "half time"))
		return func() { e.must(nil, sprint.FollowControl(e.t.Context(), e.Service(""))); e.look() }
	},
	"breaker": func(e event) func() {
		e.AddTask("task-1")
		coder := e.Supervised("coder-1")
		for range 3 {
			e.must(coder.Anomaly(e.t.Context(), verb.AnomalyInput{Type: "spec_ambiguity", Task: "task-1", Details: map[string]string{"question": "which?", "spec_ref": "specs/vision.md#names"}}))
		}
		return e.look
	},
	"goal_completed": func(e event) func() {
		e.Approved("task-1")
		d := e.Service("")
		e.must(d.Merges.Merger(blackboard.Human).All(e.t.Context()))
		done := func() { e.must(sprint.Complete(e.t.Context(), d, transition.CompletionFacts{})) }
		done()
		return done
	},
	"goal_aborted": func(e event) func() { e.must(sprint.Abort(e.t.Context(), e.Service(""), "enough", true)); return nil },
	"agent_unusable": func(e event) func() {
		e.AddTask("task-1")
		logout := func() {
			if err := e.run(agent.Result{Outcome: agent.Unusable, Error: "not logged in", ExitCode: 1}); !errors.Is(err, supervisor.ErrGaveUp) {
				e.t.Errorf("the supervisor ended with %v", err)
			}
		}
		logout()
		return logout
	},
	"role_unusable": func(e event) func() {
		e.AddTask("task-1")
		verbtest.Write(e.t, filepath.Join(e.Project.Roles(), "implement.yaml"), "name: implement\nbase: implement\nprompt_additions: '{{if'\n")
		refused := func() {
			e.must(e.Service("").Hold(e.t.Context(), "task-1", "wait"))
			e.must(e.Service("").Unhold(e.t.Context(), "task-1"))
			if _, err := e.Service("coder-1").Claim(e.t.Context(), "task-1"); err == nil {
				e.t.Error("a task without a usable role is claimed")
			}
			e.look()
		}
		refused()
		return refused
	},
	"config_invalid": func(e event) func() {
		s, err := e.env().System.Config(e.Project, false)
		e.must(nil, err)
		other, err := e.env().System.Config(e.Project, false) // of another process
		e.must(nil, err)
		verbtest.Write(e.t, filepath.Join(e.Project.Liza, "config.yaml"), "limits: {cost_cents: many}\n")
		s.Get()
		return func() { s.Get(); other.Get() }
	},
	"policy_denied": func(e event) func() {
		e.AddTask("task-1")
		e.Service("").PolicyDenied(e.t.Context(), "task-1", "rm -rf / is denied")
		return e.look
	},
	"alert": func(e event) func() {
		e.AddTask("task-1")
		e.must(e.Service("").Abandon(e.t.Context(), verb.WayOut{Task: "task-1", Reason: "no need"}))
		e.look()
		return e.look
	},
}

// Every event of the specification is raised by what it is about, and once.
func TestEveryEventReachesTheOutboxOnce(t *testing.T) {
	t.Parallel()
	field, _ := reflect.TypeFor[config.Notify]().FieldByName("Events")
	events := strings.Split(field.Tag.Get("is"), "|")
	if len(events) < 20 {
		t.Fatalf("the settings know the events %v", events)
	}
	for _, name := range events {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			raise := raising[name]
			if raise == nil {
				t.Fatal("nothing raises it")
			}
			e := event{verbtest.New(t), t}
			again := raise(e)
			first := e.told(name)
			if len(first) != 1 || first[0].Content == "" {
				t.Fatalf("it was raised %d times: %v\n%v", len(first), first, e.told(""))
			}
			if again == nil {
				return
			}
			again()
			if second := e.told(name); len(second) != 1 {
				t.Errorf("it was raised again: %v", second)
			}
		})
	}
}

// told are the notifications of an event, or all for "".
func (e event) told(name string) (list []notify.Message) {
	e.t.Helper()
	data, err := os.ReadFile(e.Project.Notifications())
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		e.t.Fatal(err)
	}
	for lines := bufio.NewScanner(bytes.NewReader(data)); lines.Scan(); {
		var m notify.Message
		if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
			e.t.Fatal(err)
		}
		if name == "" || m.Event == name {
			list = append(list, m)
		}
	}
	return list
}
