package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	urfave "github.com/urfave/cli/v3"

	"liza/pkg/base/prose"
	"liza/pkg/base/safefile"
	"liza/pkg/board/blackboard"
	"liza/pkg/board/transition"
	"liza/pkg/face/dashboard"
	"liza/pkg/run/agent"
	"liza/pkg/run/prompt"
	"liza/pkg/team/assembly"
	"liza/pkg/team/maintain"
	"liza/pkg/team/supervisor"
	"liza/pkg/verb/board"
	"liza/pkg/verb/integration"
	"liza/pkg/verb/verb"
)

type showOptions struct {
	env          *Env
	prompt, runs bool
	run          string // the number of one
}

func newShow(env *Env) *urfave.Command {
	o := &showOptions{env: env}
	return &urfave.Command{
		Name: "show", Category: "look", ArgsUsage: "[ID]", Usage: "show one task, agent, question, plan or discovery, whole",
		Description: "All fields, history, dependencies, findings and attempts. Without ID it is `liza status`. With --runs it is what the agents of a task\n" +
			"were given and answered, numbered from 1; with --run N one of them, whole. With --prompt it is the exact prompt of the next run. ID may be planner\n" +
			"for these. `plan` is the plan in force, with the plans before it. Changes nothing." +
			examples("liza show task-3", "liza show coder-1", "liza show plan", "liza show task-3 --runs", "liza show planner --run 2", "liza show task-3 --prompt") + exitsText(0, 1, 2, 3, 4, 7),
		Flags: []urfave.Flag{
			flag("prompt", "the prompt of the next run instead", &o.prompt),
			flag("runs", "the runs so far instead", &o.runs),
			text("run", "`N`: what that run was given and answered, instead", &o.run),
		},
		Action: env.do(o.show),
	}
}

func (o *showOptions) show(ctx context.Context, args []string) error {
	switch {
	case o.prompt:
		return o.nextPrompt(ctx, args)
	case o.runs || o.run != "":
		return o.runsOf(ctx, args)
	}
	if len(args) == 0 {
		return (&statusOptions{env: o.env}).run(ctx, nil)
	}
	d, s, stale, err := o.env.lookAt(ctx)
	if err != nil {
		return err
	}
	sprint := ""
	entry, what, ok := dashboard.Find(s, args[0])
	if what == "plan" || !ok && args[0] == "plan" {
		return o.plan(s, stale, args[0])
	}
	if !ok {
		if sprint, err = o.fetch(d, s, args[0]); err != nil {
			return err
		}
		entry, what, _ = dashboard.Find(s, args[0])
	}
	if t, ok := entry.(*blackboard.Task); ok {
		if err := d.Board.Apart(s, t); err != nil {
			return err
		}
	}
	result := map[string]any{"kind": what, what: dashboard.Plain(entry)}
	body := dashboard.TaskText(s, args[0])
	for id, doing := range sourceOf(d).DoingOn(s) {
		if a := s.Agents[id]; id == args[0] || a.CurrentTask == args[0] {
			result["doing"] = doing
			body += dashboard.DoingText(id, doing)
		}
	}
	if t, ok := entry.(*blackboard.Task); ok {
		body += o.change(ctx, d, t)
		for _, c := range o.env.radar(ctx, d, s, t.ID) {
			result["conflicts"] = c.Files
			body += "\n" + c.String() + "\n"
		}
	}
	if sprint != "" {
		result["archived"] = sprint
		body += "\narchived with " + sprint + "\n"
	}
	return o.env.showStale(stale, result, body)
}

// plan shows a plan with its tasks and those before it: the one with the id, or with "plan" the one in force.
func (o *showOptions) plan(s *blackboard.State, stale error, id string) error {
	if id == "plan" {
		id = ""
	}
	body := dashboard.PlanText(s, id)
	if body == "" {
		return &transition.Refusal{Exit: transition.ExitNothing, Next: "liza plan apply FILE", Message: "there is no plan yet"}
	}
	return o.env.showStale(stale, planResult(s, id), body)
}

// previewed is the prompt of the next run on a task.
type previewed struct {
	Task     string           `json:"task"`
	Kind     string           `json:"kind"`
	Agent    string           `json:"agent"`
	Role     string           `json:"role"`
	Rule     string           `json:"rule"`
	Hash     string           `json:"hash"`
	Program  string           `json:"program"`
	Model    string           `json:"model"`
	Bytes    int              `json:"bytes"`
	Over     bool             `json:"over_budget"`
	Cuts     []string         `json:"cuts"`
	Files    []string         `json:"files"`
	Sections []prompt.Section `json:"sections"`
	Warnings []string         `json:"warnings,omitempty"`
	Prompt   string           `json:"prompt"`
}

// nextPrompt prints what the next run on a task is given; "planner" is for the planner.
func (o *showOptions) nextPrompt(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return usagef("liza help show", "--prompt needs the ID of a task, or planner")
	}
	d, err := o.env.System.Reader(ctx)
	if err == nil && d.Board.Repo == nil { // a prompt cannot be gathered without git
		d, err = o.env.System.Service(ctx)
	}
	if err != nil {
		return err
	}
	task := args[0]
	if task == "planner" {
		task = board.PlannerRuns
	}
	p, err := supervisor.Preview(ctx, d, adapters(d), task)
	if err != nil {
		return err
	}
	if !o.env.JSON {
		o.env.Notices(p.Warnings)
	}
	shown := p.Text
	if o.env.Terminal {
		lines := strings.Split(shown, "\n")
		for i, line := range lines {
			lines[i] = dashboard.Visible(line)
		}
		shown = strings.Join(lines, "\n")
	}
	return o.env.Print(previewed{Task: args[0], Kind: string(p.Kind), Agent: p.Agent, Role: p.Role.Role.Name, Rule: p.Role.Rule, Hash: p.Role.Role.Hash, Program: p.Program, Model: p.Model,
		Bytes: len(p.Text), Over: p.Over, Cuts: list(p.Cuts), Files: list(p.Files), Sections: p.Sections, Warnings: p.Warnings, Prompt: p.Text}, "%s", shown)
}

// adapters finds agent programs for who only wants to know about them.
func adapters(d *verb.Service) func(name string) (agent.Adapter, error) {
	return func(name string) (agent.Adapter, error) {
		return agent.Lookup(name, agent.Options{Custom: assembly.Programs(d.Board.Config()), Root: d.Board.Project.Root, Scenario: "scenario.yaml"})
	}
}

// list is an empty list, not null, in JSON.
func list(texts []string) []string { return append([]string{}, texts...) }

// change leads to what a task changes, "" for one that has nothing to show.
func (o *showOptions) change(ctx context.Context, d *verb.Service, t *blackboard.Task) string {
	if d.Board.Repo == nil || t.ReviewCommit == "" && t.Worktree == "" {
		return ""
	}
	if t.Status == blackboard.Claimed { // its worktree is not read for a number
		return fmt.Sprintf("\nChange\n  liza diff %s   as its worktree is now\n", t.ID)
	}
	diff, err := sourceOf(d).Diff(ctx, t.ID)
	if err != nil || diff == nil {
		return ""
	}
	found := len(diff.Findings)
	for _, f := range diff.Files {
		found += len(f.Findings)
	}
	text := fmt.Sprintf("\nChange\n  liza diff %s   %s, +%d -%d", t.ID, prose.Count(len(diff.Files), "file"), diff.Added, diff.Removed)
	if found > 0 {
		text += ", " + prose.Count(found, "finding")
	}
	return text + "\n"
}

// fetch puts an archived task where the others are, and names the sprint that has it.
func (o *showOptions) fetch(d *verb.Service, s *blackboard.State, id string) (sprint string, err error) {
	if g, err := d.Board.Histories().ArchivedGoal(id); err != nil {
		return "", err
	} else if g != nil {
		s.Goal = g
		return "the sprints of `liza goal --list`", nil
	}
	t, sprint, err := d.Board.Histories().ArchivedTask(id)
	if err == nil && t == nil {
		err = notThere(s, id)
	}
	if err != nil {
		return "", err
	}
	s.AddTasks(t)
	return sprint, nil
}

func notThere(s *blackboard.State, id string) error {
	known := append(taskIDs(s), slices.Sorted(maps.Keys(s.Agents))...)
	for _, q := range s.Questions {
		if q != nil {
			known = append(known, q.ID)
		}
	}
	for _, p := range s.Plans {
		if p != nil {
			known = append(known, p.ID)
		}
	}
	for _, d := range s.Discovered {
		if d != nil {
			known = append(known, d.ID)
		}
	}
	message := "nothing on the board has the id '" + id + "'"
	if near := blackboard.Nearest(id, known); near != "" {
		message += "; did you mean '" + near + "'?"
	}
	return &transition.Refusal{Guard: "G05", Exit: transition.ExitRefused, Next: "liza status", Message: message}
}

type diffOptions struct {
	env         *Env
	stat, plain bool
}

func newDiff(env *Env) *urfave.Command {
	o := &diffOptions{env: env}
	return &urfave.Command{
		Name: "diff", Category: "look", ArgsUsage: "ID [PATH…]", Usage: "show what a task changes, with what was found at its lines",
		Description: "The task's own change against the place where it left the integration branch: while it is worked on (as its worktree is now, with what is not\n" +
			"committed), under review, and after its merge. Findings of the last review and comments of people (liza tell TASK --at) are below their lines. PATHs are files,\n" +
			"folders and patterns from the top of the repository. On a terminal it goes through git's pager. Secrets are masked. Changes nothing." +
			examples("liza diff task-3", "liza diff task-3 --stat", "liza diff task-3 src/", "liza diff task-3 --no-findings | git apply") + exitsText(0, 1, 2, 3, 4),
		Flags: []urfave.Flag{
			flag("stat", "only how many lines of which files", &o.stat),
			flag("no-findings", "the change alone, as git shows it", &o.plain),
		},
		Action: env.onProject(env.System.GitReader, o.run),
	}
}

func (o *diffOptions) run(ctx context.Context, d *verb.Service, args []string) error {
	id, paths := args[0], args[1:]
	change, err := sourceOf(d).Diff(ctx, id)
	if err != nil {
		return err
	}
	if change == nil {
		s, err := d.Board.View(ctx)
		if err != nil {
			return err
		}
		return notThere(s, id)
	}
	if len(paths) > 0 && !change.Only(paths) {
		return &transition.Refusal{Exit: transition.ExitRefused, Next: "liza diff " + id + " --stat", Message: fmt.Sprintf("%s does not change %s", id, paths[0])}
	}
	if o.plain {
		change.Place(nil)
	}
	if o.env.JSON {
		return o.env.Print(change, "")
	}
	text := ""
	if o.stat {
		text = dashboard.DiffStat(change, o.env.terminal().width(), o.env.terminal().colour())
	} else {
		text = dashboard.DiffText(change, o.env.terminal().colour(), o.env.Terminal)
	}
	return o.env.terminal().page(ctx, text)
}

type statusOptions struct {
	env              *Env
	disk, graph, all bool
}

func newStatus(env *Env) *urfave.Command {
	o := &statusOptions{env: env}
	return &urfave.Command{
		Name: "status", Category: "look", Usage: "show the board on one screen",
		Description: "Goal, sprint, counts, tasks, agents, what waits for a person, and whose work would conflict if it were merged now. Changes nothing. When state.yaml is damaged or forged, the last valid state is\n" +
			"shown and the exit code is 3. With --disk it says what the worktree of each task, each seed of worktrees and each cache takes on the disk;\n" +
			"with --graph, what waits for what. With --all it is a line for each project that liza init or liza run have seen on this machine." +
			examples("liza status", "liza status --json", "liza status --disk", "liza status --graph", "liza status --all") + exitsText(0, 1, 2, 3),
		Flags: []urfave.Flag{&urfave.BoolFlag{Name: "disk", Usage: "show what tasks, seeds and caches take on the disk instead", Destination: &o.disk},
			flag("graph", "draw the tasks with what each waits for instead", &o.graph),
			flag("all", "list your projects with what waits in each instead", &o.all)},
		Action: env.do(o.run),
	}
}

func (o *statusOptions) run(ctx context.Context, _ []string) error {
	env := o.env
	if o.all {
		return o.everywhere(ctx)
	}
	d, s, stale, err := env.lookAt(ctx)
	if err != nil {
		return err
	}
	if o.disk {
		return o.space(ctx, d)
	}
	if o.graph {
		drawn := dashboard.GraphText(s)
		return env.showStale(stale, map[string]string{"graph": drawn}, drawn)
	}
	facts := viewFacts(d, s)
	for _, c := range env.radar(ctx, d, s, "") {
		facts.Warnings = append(facts.Warnings, c.String())
	}
	facts.GaveUp = gaveUp(d)
	facts.Doing = sourceOf(d).DoingOn(s)
	branchFacts(ctx, d, s, &facts)
	if stale != nil {
		if r := explain(stale); r.code != unreachable {
			facts.Wrong = []string{r.message}
		}
	}
	v := dashboard.Build(s, facts)
	text := dashboard.Text(v, env.terminal().width(), env.terminal().colour())
	if stale == nil && len(v.Wrong) > 0 {
		r := report{code: 3, message: "the board is invalid: " + strings.Join(v.Wrong, "; "), next: "liza validate"}
		if env.JSON {
			return env.failWith(r, v)
		}
		fmt.Fprint(env.System.Stdout, text)
		env.tell(r)
		return &errDone{r.code}
	}
	return env.showStale(stale, v, text)
}

func (o *statusOptions) space(ctx context.Context, d *verb.Service) error {
	list, err := maintain.DiskSpace(ctx, d)
	if err != nil {
		return err
	}
	var rows [][]string
	var total int64
	for _, one := range list {
		total += one.Bytes
		rows = append(rows, []string{one.Kind, one.Name, safefile.Size(one.Bytes), one.Says})
	}
	return o.env.showStale(nil, list, prose.Columns(append(rows, []string{"all", "", safefile.Size(total), "blocks that files share count for each of them"})))
}

// radarTime is how long a command that shows something looks for conflicts.
const radarTime = 200 * time.Millisecond

func (e *Env) radar(ctx context.Context, d *verb.Service, s *blackboard.State, id string) []integration.Clash {
	limit := radarTime
	if e.System.Strict { // a test waits for what a busy machine finds late
		limit = time.Minute
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return d.Integration.Radar(ctx, s, id)
}

// branchFacts gives the state of the integration branch; what cannot be found out is left out.
func branchFacts(ctx context.Context, d *verb.Service, s *blackboard.State, f *dashboard.Input) {
	if d.Board.Repo == nil {
		return
	}
	tip, err := integration.IntegrationTip(ctx, d.Board.Repo, s, d.Board.Remote(), d.Board.Store.View)
	if err != nil {
		return
	}
	f.Tip = &tip
	f.SettingsHeld = d.Board.Config().Held()
	f.FiltersOff, _ = d.Board.Repo.FiltersOff(ctx, tip)
	f.CheckedOutAt, _, _ = d.Board.Repo.CheckedOutAt(ctx, s.IntegrationBranch())
	b, err := d.Integration.LookAtIntegration(ctx, s)
	if err != nil {
		return
	}
	f.Branch = &b
	if b.Behind > 0 {
		f.Warnings = append(f.Warnings, b.Lag.String()+"; liza sync merges them")
	}
	if len(b.Lost) > 0 {
		f.Warnings = append(f.Warnings, "merged, but not on "+b.Branch+": "+strings.Join(b.Lost, ", ")+"; next: liza merge --again "+b.Lost[0])
	}
	if len(b.Ahead) > 0 {
		f.Warnings = append(f.Warnings, "merged on "+b.Branch+", but not on the board: "+strings.Join(b.Ahead, ", ")+"; if the board is from a backup, liza sync --accept, then liza abandon those that need no second try")
	}
}
