package cli

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	urfave "github.com/urfave/cli/v3"

	"liza/pkg/face/verbs"
	"liza/pkg/team/assembly"
	"liza/pkg/verb/verb/verbtest"
)

// commandsOf are the commands that can be run, by what they are called.
func commandsOf(list []*urfave.Command, above string) (all []string) {
	for _, c := range list {
		if len(c.Commands) == 0 {
			all = append(all, above+c.Name)
		}
		all = append(all, commandsOf(c.Commands, above+c.Name+" ")...)
	}
	return all
}

func TestEveryCommandSaysWhoMayUseIt(t *testing.T) {
	t.Parallel()
	all := commandsOf(lizaCommand(&Env{}).Commands, "")
	for _, path := range all {
		if callers[path] == 0 {
			t.Errorf("liza %s is not in the table of callers", path)
		}
	}
	for path := range callers {
		if !slices.Contains(all, path) {
			t.Errorf("the table of callers has liza %s, which there is not", path)
		}
	}
}

// words are what a command needs to get as far as the question who calls.
var words = map[string][]string{
	"approve": {"task-1"}, "answer": {"q-1", "yes"}, "edit": nil,
	"gc": nil, "goal": {"Another goal"}, "pause": nil,
	"store key": {"key"}, "poststep": {"task-1", "--as", "coder", "--response-string", "{}"}, "reject": {"task-1", "--reason", "not now"},
	"restore": {"1"}, "resume": nil, "validate": {"--accept", "a new computer"}, "uninit": nil,
	"config": {"review.mode", "yolo"}, "run": nil, "sync": nil, "land": nil, "import": nil, "open": {"task-1"}, "serve": nil,
	"store move": {"file"}, "store upgrade": nil,
	"check": nil, "stop": {"coder-1"},
	"output": {"task-1"}, "attach": {"coder-1"},
}

func TestWhatIsForPeopleIsRefusedToAgents(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	agent := p.Supervised("coder-1").Board.Caller
	registered := []string{"LIZA_AGENT_ID=" + agent.AgentID, "LIZA_AGENT_TOKEN=" + agent.Token}
	for path, who := range callers {
		if who != verbs.People && who != verbs.Gated && path != "config" && path != "validate" {
			continue
		}
		args, known := words[path]
		if !known {
			t.Errorf("the test knows no arguments for liza %s", path)
			continue
		}
		for name, environ := range map[string][]string{"with its token": registered, "with no token": registered[:1]} {
			before := p.State()
			var out bytes.Buffer
			env := &Env{System: assembly.Environment{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &out, Environ: append(slices.Clone(environ), "EDITOR=true", "PATH="), Dir: p.Dir, Now: time.Now}}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			code := env.serve(ctx, lizaCommand(env), slices.Concat([]string{"liza"}, strings.Fields(path), args))
			cancel()
			if code != 4 {
				t.Errorf("an agent %s: liza %s ends with %d: %s", name, path, code, out.String())
			}
			if after := p.State(); after.Revision != before.Revision {
				t.Errorf("an agent %s: liza %s has changed the board", name, path)
			}
		}
	}
}
