package cli

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"

	urfave "github.com/urfave/cli/v3"

	"liza/pkg/base/prose"
	"liza/pkg/base/safefile"
	"liza/pkg/board/blackboard"
	"liza/pkg/board/history"
	"liza/pkg/board/transition"
	"liza/pkg/face/dashboard"
	"liza/pkg/face/dashboard/source"
	"liza/pkg/run/activity"
	"liza/pkg/team/wall"
	"liza/pkg/verb/verb"
)

type outputOptions struct {
	env         *Env
	follow, raw bool
	last        int
	service     string
	evidence    bool
	dir         string
}

func newOutput(env *Env) *urfave.Command {
	o := &outputOptions{env: env}
	return &urfave.Command{
		Name: "output", Category: "look", ArgsUsage: "TASK|AGENT", Usage: "show what an agent program says and does",
		Description: "The newest run for a task, or of an agent, as text: what the model says, which tools it calls with what, what it waits for, what it\n" +
			"cost. What a planner says comes at the end of its run. With -f it goes on: for an agent until its run has ended, for a task until the\n" +
			"task has. --raw is what the program printed, byte by byte but for masked secrets. --service is what a service of the project printed in\n" +
			"the runs and checks of a task. --evidence lists the files that review.evidence made of its work. Changes nothing." +
			examples("liza output task-3 -f", "liza output task-3 --service db -n 20", "liza output task-3 --raw | tail") + exitsText(0, 1, 2, 3, 4, 7, 130),
		Flags: []urfave.Flag{
			flag("f", "follow: show what comes", &o.follow),
			flag("raw", "the output of the program as it is", &o.raw),
			number("n", "`N` newest events (with --raw or --service: lines) of the run; 0 is all", 0, &o.last),
			flag("evidence", "files that review.evidence made of the task's work, compared with its base", &o.evidence),
			text("dir", "`FOLDER`: with --evidence, write the files there, as candidate/NAME and base/NAME", &o.dir),
			text("service", "what the service `NAME` of the project has printed for the task", &o.service),
		},
		Action: env.do(o.run),
	}
}

func (o *outputOptions) run(ctx context.Context, args []string) error {
	if o.follow && o.env.JSON {
		return usagef("liza help output", "-f and --json exclude each other: with --json exactly one object is printed")
	}
	if o.last < 0 {
		return usagef("liza help output", "-n %d must not be negative", o.last)
	}
	if o.service != "" && (o.raw || o.follow) {
		return usagef("liza help output", "--service excludes --raw and -f")
	}
	if o.dir != "" && !o.evidence || o.evidence && (o.raw || o.follow || o.service != "" || o.last != 0) {
		return usagef("liza help output", "--evidence excludes -f, -n, --raw and --service; --dir belongs to --evidence")
	}
	name := args[0]
	d, s, _, err := o.env.lookAt(ctx)
	if err != nil {
		return err
	}
	if err := o.known(d, s, name); err != nil {
		return err
	}
	if o.evidence {
		return o.printEvidence(ctx, d, s, name)
	}
	if o.service != "" {
		return o.printService(d, s, name)
	}
	src := sourceOf(d)
	events, next, err := src.Output(name, 0)
	if err != nil {
		return err
	}
	if len(events) == 0 && !o.follow {
		return &transition.Refusal{Exit: transition.ExitNothing, Next: "liza output " + name + " -f, to wait for one", Message: "there is no run of '" + name + "' to show"}
	}
	if o.raw {
		return o.printRaw(ctx, d, src, name, events)
	}
	if n := len(events); o.last > 0 && n > o.last {
		events = events[n-o.last:]
	}
	if o.env.JSON {
		if events == nil {
			events = []activity.Event{}
		}
		return o.env.Print(map[string]any{"events": events, "next": next}, "")
	}
	t := &dashboard.Transcript{Width: o.env.terminal().width(), Colour: o.env.terminal().colour()}
	for _, e := range events {
		fmt.Fprint(o.env.System.Stdout, t.Text(e))
	}
	if !o.follow || o.over(ctx, src, name, events) {
		return nil
	}
	within, stop := o.until(ctx, src, name)
	defer stop()
	for e := range src.FollowOutput(within, name, next) {
		fmt.Fprint(o.env.System.Stdout, t.Text(e))
		if e.Kind == activity.End && o.over(ctx, src, name, []activity.Event{e}) {
			return nil
		}
	}
	if ctx.Err() != nil {
		return &errDone{130}
	}
	return nil
}

// printEvidence lists the files that commands of review.evidence made of a task's work, and writes them into a folder if one is given.
func (o *outputOptions) printEvidence(ctx context.Context, d *verb.Service, s *blackboard.State, id string) error {
	commit := ""
	if t := s.Task(id); t != nil {
		commit = t.ReviewCommit
	}
	e, err := d.Checks.EvidenceOf(ctx, id, commit)
	if err != nil {
		return err
	}
	if e == nil {
		return &transition.Refusal{Exit: transition.ExitNothing, Next: "liza config review.evidence", Message: "there is no evidence of '" + id + "'"}
	}
	if o.dir != "" {
		if err := d.Checks.WriteEvidence(ctx, e, o.env.path(o.dir)); err != nil {
			return err
		}
	}
	text := fmt.Sprintf("%s at %.9s, and its base at %.9s\n", e.Task, e.Commit, e.Base)
	for _, f := range e.Files {
		text += fmt.Sprintf("  %s  %s, %d bytes; %s\n", f.Name, cmp.Or(f.Kind, "file"), f.Size, f.Says)
	}
	if e.Missing != "" {
		text += "  missing: " + e.Missing + "\n"
	}
	if e.NoBase != "" {
		text += "  of the base: " + e.NoBase + "\n"
	}
	return o.env.Print(e, "%s", text+prose.After("written to ", o.dir))
}

// known refuses a name that is neither a task nor an agent.
func (o *outputOptions) known(d *verb.Service, s *blackboard.State, name string) error {
	if s.Task(name) != nil || s.Agents[name] != nil {
		return nil
	}
	if _, err := os.Stat(d.Board.Project.Activity(name)); err == nil && blackboard.ValidTaskID(name) {
		return nil // archived, or an agent that has left
	}
	return notThere(s, name)
}

// over reports whether nothing more will come: the run of an agent has ended, or a task has come to its end.
func (o *outputOptions) over(ctx context.Context, src *source.Source, name string, events []activity.Event) bool {
	ended := len(events) > 0 && events[len(events)-1].Kind == activity.End
	if _, _, agent := blackboard.ParseAgentID(name); agent {
		return ended
	}
	s, err := src.State(ctx)
	if err != nil || s.Task(name) == nil {
		return ended
	}
	return s.Task(name).Status.Terminal() && (ended || len(events) == 0)
}

// until ends when a task has come to its end without another run: it was merged or given up.
func (o *outputOptions) until(ctx context.Context, src *source.Source, name string) (context.Context, func()) {
	within, stop := context.WithCancel(ctx)
	if _, _, agent := blackboard.ParseAgentID(name); agent {
		return within, stop
	}
	go func() {
		for range src.Watch(within) {
			if o.over(ctx, src, name, nil) {
				time.AfterFunc(time.Second, stop) // the end of its last run may come after that
				return
			}
		}
	}()
	return within, stop
}

// printService shows what a service has printed for a task: in the runs that are over, and in the one under way.
func (o *outputOptions) printService(d *verb.Service, s *blackboard.State, task string) error {
	data, err := safefile.Read(d.Board.Project.ServiceLog(task, o.service))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cannot read what the service %s has printed: %w", o.service, err)
	}
	for id, a := range s.Agents {
		if a.Child != nil && a.Child.Task == task {
			if now := wall.PrintedNow(d.Board.Project, id, o.service); len(now) > 0 {
				data = fmt.Appendf(data, "=== %s, under way\n%s", id, d.Board.Mask(string(now)))
			}
		}
	}
	if len(data) == 0 {
		return &transition.Refusal{Exit: transition.ExitNothing, Next: "liza config services", Message: fmt.Sprintf("no service '%s' has printed anything for '%s'", o.service, task)}
	}
	if o.last > 0 {
		data = lastLines(data, o.last)
	}
	if o.env.JSON {
		return o.env.Print(map[string]any{"service": o.service, "raw": string(data)}, "")
	}
	_, err = o.env.System.Stdout.Write(data)
	return err
}

// printRaw shows the log of the newest run.
func (o *outputOptions) printRaw(ctx context.Context, d *verb.Service, src *source.Source, name string, events []activity.Event) error {
	path := d.Board.Project.Output(name)
	if len(events) > 0 {
		path = d.Board.Project.Output(cmp.Or(events[0].Task, name))
	}
	data, err := safefile.Read(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cannot read the output log: %w", err)
	}
	at := int64(len(data))
	data = newestRun(data)
	if o.last > 0 {
		data = lastLines(data, o.last)
	}
	if o.env.JSON {
		return o.env.Print(map[string]any{"raw": string(data)}, "")
	}
	if _, err := o.env.System.Stdout.Write(data); err != nil || !o.follow {
		return err
	}
	look := time.NewTicker(200 * time.Millisecond)
	defer look.Stop()
	for {
		events, _, _ := src.Output(name, 0)
		done := o.over(ctx, src, name, events)
		if at, err = o.more(path, at); err != nil || done {
			return err
		}
		select {
		case <-ctx.Done():
			return &errDone{130}
		case <-look.C:
		}
	}
}

// more shows what was written to a log since.
func (o *outputOptions) more(path string, at int64) (int64, error) {
	f, err := safefile.Open(path)
	if err != nil {
		return at, nil // it is about to be made, or put away
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.Size() < at {
		at = 0 // another file: the one before was put away
	}
	n, err := io.Copy(o.env.System.Stdout, io.NewSectionReader(f, at, 1<<40))
	return at + n, err
}

// newestRun is a log from the mark of its last run on.
func newestRun(data []byte) []byte {
	if i := bytes.LastIndex(data, []byte("\n=== ")); i >= 0 {
		return data[i+1:]
	}
	return data
}

func lastLines(data []byte, n int) []byte {
	for i := len(data) - 1; i > 0; i-- {
		if data[i-1] == '\n' {
			if n--; n == 0 {
				return data[i:]
			}
		}
	}
	return data
}

type attachOptions struct {
	env    *Env
	follow bool
}

func newAttach(env *Env) *urfave.Command {
	o := &attachOptions{env: env}
	return &urfave.Command{
		Name: "attach", Category: "look", ArgsUsage: "AGENT", Usage: "go on with an agent's work in this terminal, or follow it",
		Description: "On a terminal, a coder's run under way ends, and its conversation goes on here, with you: in the same worktree and sandbox, under the same claim,\n" +
			"if the program can resume one in a terminal. When you leave it you are asked: submit, keep, or give back. The agent takes other work meanwhile.\n" +
			"With --follow, and for all other agents, you see what the programs say and do, run after run, until Ctrl-C. A line that you type becomes a note for\n" +
			"the task that the agent works on, or for the planner; it says when the agent gets it. The agent goes on when you leave." +
			examples("liza attach coder-1", "liza attach --follow planner-1") + exitsText(0, 1, 2, 3, 4, 130),
		Flags:  []urfave.Flag{flag("follow", "leave the agent its work, and look", &o.follow)},
		Action: env.do(o.run),
	}
}

func (o *attachOptions) run(ctx context.Context, args []string) error {
	env, agent := o.env, args[0]
	if env.JSON {
		return usagef("liza output "+agent+" --json", "liza attach shows text as it comes; it has no --json")
	}
	d, s, _, err := env.lookAt(ctx)
	if err != nil {
		return err
	}
	if _, _, ok := blackboard.ParseAgentID(agent); !ok || s.Agents[agent] == nil {
		if s.Task(agent) != nil {
			return usagef("liza output "+agent+" -f", "'%s' is a task; liza attach follows an agent", agent)
		}
		return notThere(s, agent)
	}
	if went, err := o.goOn(ctx, s, agent); went || err != nil {
		return err
	}
	env.System.Lasting()
	if env.StdinTerminal && env.inside == nil {
		fmt.Fprintf(env.System.Stderr, "Following %s; a line that you type becomes a note to it. Ctrl-C leaves, and the agent goes on.\n", agent)
		go o.typed(ctx, d, agent)
	}
	t := &dashboard.Transcript{Width: env.terminal().width(), Colour: env.terminal().colour()}
	for e := range sourceOf(d).FollowOutput(ctx, agent, 0) {
		fmt.Fprint(env.System.Stdout, t.Text(e))
	}
	return &errDone{130}
}

// goOn takes a coder's work over in this terminal, if its program can go on there.
func (o *attachOptions) goOn(ctx context.Context, s *blackboard.State, id string) (went bool, err error) {
	e := s.Agents[id]
	if o.follow || !o.env.StdinTerminal || !o.env.Terminal || o.env.inside != nil || e.Role != blackboard.RoleCoder || e.Child == nil || e.Child.Task == "" {
		return false, nil
	}
	c, err := newFactory(ctx, o.env, e.Child.CLI, "", "")
	if err != nil {
		return false, err
	}
	adapter, err := c.adapter(e.Child.CLI)
	if err != nil {
		return false, err
	}
	if info := adapter.Info(); !info.Interactive || !info.Resumes {
		fmt.Fprintf(o.env.System.Stderr, "%s cannot resume a conversation in a terminal.\n", e.Child.CLI)
		return false, nil
	}
	fmt.Fprintf(o.env.System.Stderr, "The run of %s ends, and its conversation goes on here, with you, until you leave %s.\n", id, e.Child.CLI)
	return true, (&agentOptions{env: o.env, cli: e.Child.CLI, id: id, role: "coder", task: e.Child.Task, interactive: true, attach: true}).run(ctx)
}

// typed makes notes of the lines that a person types.
func (o *attachOptions) typed(ctx context.Context, d *verb.Service, agent string) {
	lines := bufio.NewScanner(o.env.System.Stdin)
	for lines.Scan() {
		text := string(bytes.TrimSpace(lines.Bytes()))
		if text == "" {
			continue
		}
		in := verb.TellInput{To: verb.ThePlanner, Text: text}
		if s, err := d.Board.View(ctx); err == nil && s.Agents[agent] != nil && s.Agents[agent].CurrentTask != "" {
			in.To = s.Agents[agent].CurrentTask
		}
		done, err := d.Tell(ctx, in)
		if err != nil {
			o.env.tell(explain(err))
			continue
		}
		fmt.Fprintf(o.env.System.Stdout, "told as %s\n%s\n", done.ID, done.Reaches)
	}
}

type logOptions struct {
	env    *Env
	follow bool
	since  string
	filter history.Filter
}

func newLog(env *Env) *urfave.Command {
	o := &logOptions{env: env}
	return &urfave.Command{
		Name: "log", Category: "look", Usage: "show what happened",
		Description: "The newest entries of .liza/log.yaml, oldest first. Changes nothing. With -f it goes on until Ctrl-C." +
			examples("liza log -n 20 --task task-3", "liza log -f --since 1h") + exitsText(0, 1, 2, 130),
		Flags: []urfave.Flag{
			flag("f", "follow: show new entries as they come", &o.follow),
			number("n", "`N` newest entries; 0 is all", 50, &o.filter.Last),
			text("task", "`ID`: entries of this task only", &o.filter.Task),
			text("agent", "`ID`: entries by this agent, by human or by system only", &o.filter.Agent),
			text("action", "`A`: entries of this action only, such as claimed or merged", (*string)(&o.filter.Action)),
			text("since", "`T`: not older than a time such as 90m, 2h, 3d or 2026-01-19T14:00:00Z", &o.since),
		},
		Action: env.do(o.run),
	}
}

func (o *logOptions) run(ctx context.Context, _ []string) error {
	if o.follow && o.env.JSON {
		return usagef("liza help log", "-f and --json exclude each other: with --json exactly one object is printed")
	}
	if o.filter.Last < 0 {
		return usagef("liza help log", "-n %d must not be negative", o.filter.Last)
	}
	var err error
	if o.filter.Since, err = sinceOf(o.since, o.env.System.Now()); err != nil {
		return err
	}
	p, err := o.env.System.Find(ctx)
	if err != nil {
		return err
	}
	journal := history.Journal{Path: p.Journal()}
	if o.follow {
		return o.tail(ctx, journal)
	}
	entries, err := journal.Read(o.filter)
	if err != nil {
		return err
	}
	var b strings.Builder
	list := []any{}
	for _, e := range entries {
		b.WriteString(strings.TrimRight(dashboard.LogLine(e), "\n") + "\n")
		list = append(list, dashboard.Plain(e))
	}
	return o.env.Print(map[string]any{"entries": list}, "%s", b.String())
}

// tail shows the newest entries and then every new one, until ctx ends.
func (o *logOptions) tail(ctx context.Context, journal history.Journal) error {
	d, err := o.env.System.Reader(ctx)
	if err != nil {
		return err
	}
	changed := d.Board.Store.Watch(ctx)
	shown := newest(journal) // what comes while the first ones are read is shown by the filter below
	for first := true; ; first = false {
		f := o.filter
		if !first {
			f.Last, f.AfterRev = 0, shown
		}
		entries, err := journal.Read(f)
		if err != nil {
			return err
		}
		for _, e := range entries {
			fmt.Fprintln(o.env.System.Stdout, strings.TrimRight(dashboard.LogLine(e), "\n"))
			shown = max(shown, e.Rev)
		}
		if _, open := <-changed; !open || ctx.Err() != nil {
			return &errDone{130}
		}
	}
}

// newest is the revision of the last entry, whatever the filter.
func newest(journal history.Journal) int {
	last, err := journal.Read(history.Filter{Last: 1})
	if err != nil || len(last) == 0 {
		return 0
	}
	return last[0].Rev
}

// sinceOf reads "90m", "2h", "3d" or a time.
func sinceOf(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if at, ok := blackboard.Time(text).At(); ok {
		return at, nil
	}
	if age, ok := ageText(text); ok {
		return now.Add(-age), nil
	}
	return time.Time{}, usagef("liza help log", "--since '%s' must be an age such as 90m, 2h or 3d, or a time such as 2026-01-19T14:00:00Z", text)
}

// ageText reads "90m", "2h" or "3d".
func ageText(text string) (time.Duration, bool) {
	if rest, ok := strings.CutSuffix(text, "d"); ok {
		days, err := strconv.ParseFloat(rest, 64)
		return time.Duration(days * 24 * float64(time.Hour)), err == nil && days >= 0 && days < 100*365
	}
	age, err := time.ParseDuration(text)
	return age, err == nil && age >= 0
}
