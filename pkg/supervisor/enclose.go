package supervisor

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"liza/pkg/agent"
	"liza/pkg/blackboard"
	"liza/pkg/proxy"
	"liza/pkg/sandbox"
	"liza/pkg/wall"
)

// level is how strongly the runs of a program are contained now.
func (s *Supervisor) level(ctx context.Context, program string) (sandbox.Level, error) {
	if s.Walls == nil {
		return sandbox.Open, nil
	}
	level, _, err := s.Walls.Level(ctx, program)
	return level, err
}

// openWall puts the program of a run behind its wall (specs/security.md). done is called when everything of the run
// has ended.
func (s *Supervisor) openWall(ctx context.Context, spec *agent.Spec, r *run, task string) (done func(), err error) {
	if s.Walls == nil {
		return func() {}, nil
	}
	var state []string
	if r.program() == agent.Scripted {
		state = []string{s.Service.Project.Scripted()}
	}
	w, err := s.Walls.Open(ctx, wall.Use{Also: state, Name: s.ID, Program: r.program(), Dir: spec.Dir, Write: spec.Dir != s.Service.Project.Root, Sockets: r.folder, Git: r.git,
		Read: s.readable(ctx, spec, task), Terminal: spec.Terminal != nil, Refused: func(x proxy.Refusal) { s.hostRefused(ctx, r, task, x) }})
	if err != nil {
		return nil, err
	}
	if w.Spec.Level != r.sandbox { // the settings changed since the git folder was made for the other one
		return nil, errors.Join(fmt.Errorf("the sandbox level changed from %s to %s while the run began; next: liza config show --origin", r.sandbox, w.Spec.Level), w.Close())
	}
	r.wall = w
	if w.Contained() {
		spec.Contain = w.Contain
	}
	return func() {
		if err := w.Close(); err != nil {
			s.warn(task, "cannot remove the private folders of the run: %v", err)
		}
	}, nil
}

// readable is what of .liza is meant for a run: its prompt, and the logs of its own task, which a prompt may name.
func (s *Supervisor) readable(ctx context.Context, spec *agent.Spec, task string) []string {
	files := []string{spec.PromptFile}
	if spec.SchemaFile != "" {
		files = append(files, spec.SchemaFile)
	}
	if task != "" {
		logs, _ := filepath.Glob(filepath.Join(filepath.Dir(s.Service.Project.Output(task)), task+".*"))
		files = append(files, ownLogs(logs, task, s.Service.LastState(ctx))...)
	}
	return files
}

// ownLogs leaves out the logs of other tasks: those of a.b begin as those of a do.
func ownLogs(logs []string, task string, st *blackboard.State) []string {
	return slices.DeleteFunc(logs, func(log string) bool {
		for other := range st.Tasks() {
			if strings.HasPrefix(other.ID, task+".") && strings.HasPrefix(filepath.Base(log), other.ID+".") {
				return true
			}
		}
		return false
	})
}

// hostRefused tells that a run could not reach a host: once for each host and task, with the setting that allows it.
func (s *Supervisor) hostRefused(ctx context.Context, r *run, task string, x proxy.Refusal) {
	what := fmt.Sprintf("%s could not reach %s: %s; next: %s", r.program(), x.Host, x.Why, x.Next)
	r.record.unreached(x.Host)
	s.warn(task, "%s", what)
	s.Service.HostRefused(context.WithoutCancel(ctx), task, what)
}
