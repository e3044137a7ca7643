package cli

import (
	"context"
	"embed"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	urfave "github.com/urfave/cli/v3"

	"liza/pkg/base/prose"
	"liza/pkg/board/blackboard"
	"liza/pkg/board/history"
	"liza/pkg/code/project"
	"liza/pkg/verb/verb"
)

// The example repository of the demo, and what its scripted agents do.
//
//go:embed demo/scenario.yaml demo/repo
var demoFiles embed.FS

type demoOptions struct {
	env  *Env
	dir  string
	keep bool

	verbose bool
}

func newDemo(env *Env) *urfave.Command {
	o := &demoOptions{env: env}
	return &urfave.Command{
		Name: "demo", Category: "start", Usage: "run a whole sprint on an example repository, with scripted agents",
		Description: "Makes a fresh git repository with a vision, lets a scripted team plan, code, review and merge it, and says where to look. No network, no\n" +
			"key, no model, no git identity. It tells what matters; --verbose shows every step. Without --dir the repository is made in a temporary folder and removed afterwards, unless --keep is given." +
			examples("liza demo", "liza demo --dir greeting") + exitsText(0, 1, 2),
		Flags: []urfave.Flag{
			&urfave.StringFlag{Name: "dir", Usage: "folder to make the repository in; it must not exist or be empty", Destination: &o.dir},
			flag("verbose", "every step of every agent instead of the story", &o.verbose),
			&urfave.BoolFlag{Name: "keep", Usage: "keep the temporary folder", Destination: &o.keep},
		},
		Action: func(ctx context.Context, _ *urfave.Command) error { return o.run(ctx) },
	}
}

func (o *demoOptions) run(ctx context.Context) error {
	dir, temporary, err := o.folder()
	if err != nil {
		return err
	}
	if temporary && !o.keep {
		defer os.RemoveAll(dir)
	}
	if err := o.repository(ctx, dir); err != nil {
		return err
	}
	scenario := filepath.Join(dir, ".git", "liza-demo.yaml")
	data, err := demoFiles.ReadFile("demo/scenario.yaml")
	if err == nil {
		err = os.WriteFile(scenario, data, 0o644)
	}
	if err != nil {
		return fmt.Errorf("cannot write the scenario: %w", err)
	}
	env := o.inside(dir)
	if temporary && !o.keep {
		env.System.Environ = append(env.System.Environ, "XDG_STATE_HOME="+filepath.Join(dir, ".git", "liza-state")) // its key goes with it
	}
	_, err = verb.Init(ctx, verb.InitInput{Goal: "A greeting command with options, languages and tests", Dir: dir, Environ: env.System.Environ, Now: env.System.Now(), Person: env.System.Caller().Person, Keys: env.System.Keys()})
	if err != nil {
		return err
	}
	steps := *env
	steps.JSON = false
	if o.env.JSON {
		steps.System.Stdout = o.env.System.Stderr
	}
	told := func() {}
	if !o.verbose {
		if told, err = o.story(ctx, env, steps.System.Stdout); err != nil {
			return err
		}
		steps.System.Stdout = io.Discard
	}
	r := &runOptions{env: &steps, scenario: scenario, planners: 1, coders: 2, reviewers: 1, until: "goal", quiet: true}
	err = r.run(ctx, func(string) bool { return true })
	told()
	if err != nil {
		return fmt.Errorf("the demo did not complete its goal (liza demo --verbose shows every step): %w", err)
	}
	return o.show(ctx, dir, temporary)
}

// story says what a sprint is about to show, and follows it. told ends it when everything was told.
func (o *demoOptions) story(ctx context.Context, env *Env, out io.Writer) (told func(), err error) {
	service, err := env.System.Reader(ctx)
	if err != nil {
		return nil, err
	}
	fmt.Fprint(out, "A planner, two coders and a reviewer, all scripted, build a greeting command in an example repository (about ten seconds).\n\n")
	ctx, cancel := context.WithCancel(ctx)
	done := (&story{out: out, service: service, troubles: map[string]string{}}).follow(ctx)
	return func() { cancel(); <-done }, nil
}

// folder is where the repository goes.
func (o *demoOptions) folder() (dir string, temporary bool, err error) {
	if o.dir == "" {
		dir, err = os.MkdirTemp("", "liza-demo-")
		return dir, true, err
	}
	dir = o.dir
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(o.env.System.Dir, dir)
	}
	if list, err := os.ReadDir(dir); err == nil && len(list) > 0 {
		return "", false, usagef("liza demo --dir ANOTHER", "the folder %s is not empty", o.dir)
	}
	return dir, false, os.MkdirAll(dir, 0o755)
}

// inside is the environment of a person who works in the example repository: whatever
// agent or project this process belongs to is left out.
func (o *demoOptions) inside(dir string) *Env {
	env := *o.env
	env.System.Dir, env.System.Root, env.System.As = dir, dir, ""
	env.System.Environ = nil
	for _, v := range o.env.System.Environ {
		if !strings.HasPrefix(v, "LIZA_") && !strings.HasPrefix(v, "GIT_DIR=") {
			env.System.Environ = append(env.System.Environ, v)
		}
	}
	return &env
}

func (o *demoOptions) repository(ctx context.Context, dir string) error {
	files, err := fs.Sub(demoFiles, "demo/repo")
	if err != nil {
		return err
	}
	if err := os.CopyFS(dir, files); err != nil {
		return fmt.Errorf("cannot write the example repository: %w", err)
	}
	if err := os.Chmod(filepath.Join(dir, "scripts", "integration-test.sh"), 0o755); err != nil {
		return err
	}
	// What `liza init` would write and a person would commit; the demo's checkout stays clean.
	if err := os.Mkdir(filepath.Join(dir, ".liza"), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, ".liza", ".gitignore"), []byte(project.Ignore), 0o644); err != nil {
		return err
	}
	for _, args := range [][]string{
		{"init", "--quiet", "--initial-branch=main"},
		{"add", "--all"},
		{"-c", "user.name=Liza demo", "-c", "user.email=demo@localhost", "commit", "--quiet", "--no-gpg-sign", "--message", "Vision and test runner"},
	} {
		if out, err := runGit(ctx, dir, args...); err != nil {
			return fmt.Errorf("cannot make the example repository: git %s: %v: %s", args[0], err, out)
		}
	}
	return nil
}

func runGit(ctx context.Context, dir string, args ...string) (string, error) {
	out, err := exec.CommandContext(ctx, "git", append([]string{"-C", dir}, args...)...).CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

// show says where to look; of a folder that is about to go, it shows the essence itself.
func (o *demoOptions) show(ctx context.Context, dir string, temporary bool) error {
	graph, err := runGit(ctx, dir, "log", "--graph", "--oneline", "integration")
	if err != nil {
		return fmt.Errorf("cannot show the integration branch: %s", graph)
	}
	kept := !temporary || o.keep
	if o.env.JSON {
		return o.env.printJSON(map[string]any{"ok": true, "result": map[string]any{"dir": dir, "kept": kept, "integration": strings.Split(graph, "\n")}})
	}
	w := o.env.System.Stdout
	fmt.Fprintf(w, "\nThe integration branch:\n\n%s\n\n", indent(graph))
	if !kept {
		fmt.Fprintf(w, "The repository was temporary and is gone. `liza demo --keep` or `liza demo --dir greeting` keeps it, so that you can look at:\n\n")
		dir = "DIR"
	} else {
		fmt.Fprintf(w, "Look around:\n\n")
	}
	liza := o.program()
	for _, line := range [][2]string{
		{"the board", liza + " -C " + dir + " status"},
		{"the file behind it", "less " + filepath.Join(dir, ".liza", "state.yaml")},
		{"the log", liza + " -C " + dir + " log"},
		{"the task graph", liza + " -C " + dir + " status --graph"},
		{"one task's story", liza + " -C " + dir + " show name"},
		{"the merged work", "git -C " + dir + " log --graph integration"},
		{"your own checkout, untouched", "git -C " + dir + " status"},
	} {
		fmt.Fprintf(w, "  %-30s %s\n", line[0], line[1])
	}
	return nil
}

// program is how a person calls this program again: by name when it is on PATH.
func (o *demoOptions) program() string {
	path, err := o.env.System.Executable()
	if found, e := exec.LookPath("liza"); err != nil || e == nil && found == path {
		return "liza"
	}
	if rel, err := filepath.Rel(o.env.System.Dir, path); err == nil && !strings.HasPrefix(rel, "..") {
		return rel
	}
	return path
}

func indent(text string) string { return "  " + strings.ReplaceAll(text, "\n", "\n  ") }

// A story tells a sprint in the lines that matter, as they happen: what was planned, who refused
// what and why, what was asked, which merge stopped, what came onto the branch. It reads the journal.
type story struct {
	out      io.Writer
	service  *verb.Service
	rev      int
	troubles map[string]string // task → why it was handed back
}

// follow tells until ctx ends, and then what is left. done is closed at the end.
func (s *story) follow(ctx context.Context) (done chan struct{}) {
	done = make(chan struct{})
	changes := s.service.Board.Store.Watch(ctx)
	go func() {
		defer close(done)
		for {
			s.tell(context.WithoutCancel(ctx))
			select {
			case <-changes:
			case <-ctx.Done():
				s.tell(context.WithoutCancel(ctx))
				return
			}
		}
	}()
	return done
}

func (s *story) tell(ctx context.Context) {
	entries, err := (history.Journal{Path: s.service.Board.Project.Journal()}).Read(history.Filter{AfterRev: s.rev})
	if err != nil || len(entries) == 0 {
		return // half written: the next look sees all of it
	}
	st, err := s.service.Board.View(ctx)
	if err != nil || st.Revision < entries[len(entries)-1].Rev {
		return
	}
	for _, e := range entries {
		s.rev = max(s.rev, e.Rev)
		if line := s.line(st, e); line != "" {
			at, _ := e.Timestamp.At()
			fmt.Fprintf(s.out, "%s  %s\n", at.Local().Format("15:04:05"), line)
		}
	}
}

// line is what one entry has to say, "" for most.
func (s *story) line(st *blackboard.State, e blackboard.Entry) string {
	switch e.Action {
	case blackboard.ActionPlanApplied:
		_, tasks, _ := strings.Cut(e.Detail, ": ")
		return fmt.Sprintf("%-16s plans %s: %s", e.Agent, prose.Count(strings.Count(tasks, ",")+1, "task"), tasks)
	case blackboard.ActionBlocked:
		text := e.Detail
		if t := st.Task(e.Task); t != nil && len(t.BlockedQuestions) > 0 {
			text += " It asks: " + t.BlockedQuestions[0]
		}
		return fmt.Sprintf("%-16s is blocked at %s: %s", e.Agent, e.Task, text)
	case blackboard.ActionSuperseded:
		by, why, _ := strings.Cut(strings.TrimPrefix(e.Detail, "by "), ": ")
		return fmt.Sprintf("%-16s replaces %s by %s: %s", e.Agent, e.Task, by, why)
	case blackboard.ActionRejected:
		s.troubles[e.Task] = "mends"
		return fmt.Sprintf("%-16s rejects %s: %s", e.Agent, e.Task, e.Detail)
	case blackboard.ActionIntegrationFailed:
		s.troubles[e.Task] = "solves the conflict of"
		return fmt.Sprintf("%-16s cannot merge %s (%s): the branch stays as it was, a coder gets both sides", "liza", e.Task, e.Detail)
	case blackboard.ActionReadyForReview:
		how := s.troubles[e.Task]
		if how == "" {
			return ""
		}
		delete(s.troubles, e.Task)
		_, summary, _ := strings.Cut(e.Detail, ": ")
		return fmt.Sprintf("%-16s %s %s: %s", e.Agent, how, e.Task, summary)
	case blackboard.ActionMerged:
		t := st.Task(e.Task)
		if t == nil || t.KindOf() == blackboard.MessageTask {
			return ""
		}
		return fmt.Sprintf("%-16s merges %s, approved by %s", "liza", e.Task, t.ApprovedBy)
	case blackboard.ActionGoalCompleted:
		return fmt.Sprintf("%-16s goal COMPLETED: %s", "liza", e.Detail)
	}
	return ""
}
