package cli

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"time"

	"liza/pkg/git"
	"liza/pkg/project"
	"liza/pkg/safefile"
	"liza/pkg/sprint"
	"liza/pkg/store"
	"liza/pkg/transition"
	"liza/pkg/upkeep"
	"liza/pkg/verb"
	"liza/pkg/watch"
)

// watcherOf watches the project of a service. An agent's process only looks: stopping the
// sprint at its deadline is for people's processes and for the team.
func (e *Env) watcherOf(d *verb.Service) *watch.Watcher {
	w := &watch.Watcher{Files: e.alertFiles(d.Project), Sinks: []watch.Sink{alertMail{e, d.Project}}, Look: upkeep.Observe(d, time.Now()).Facts,
		Problem: func(err error) { e.Log().Warn(err.Error()) }}
	if d.Caller.AgentID == "" && d.Caller.As == "" {
		w.Deadline = func(ctx context.Context, message string) error {
			_, err := sprint.SystemCheckpoint(ctx, d, message)
			return err
		}
	}
	return w
}

// alertsWait is how long another watcher is waited for.
const alertsWait = 10 * time.Second

// alertFiles are the files of alerts of a project, safe from crashes and neighbours.
func (e *Env) alertFiles(p *project.Project) watch.Files {
	host, _ := os.Hostname()
	masked := func(data []byte) []byte { return []byte(e.secrets().Mask(string(data))) }
	return watch.Files{Dir: p.Liza, Append: func(path string, data []byte) error { return safefile.Append(path, masked(data)) },
		Replace: func(path string, data []byte) error { return safefile.Replace(path, masked(data), 0o644) },
		Lock: func(ctx context.Context) (func() error, error) {
			ctx, cancel := context.WithTimeout(ctx, alertsWait)
			defer cancel()
			return safefile.Lock(ctx, p.AlertsLock(), safefile.Holder{PID: os.Getpid(), Host: host, Op: "watch"})
		}}
}

// notice reports something that happened once: in alerts.log, and on stderr unless the live
// view of this process shows alerts.
func (e *Env) notice(p *project.Project, kind, subject, text string) {
	if !e.shows {
		e.Log().Warn(kind + ": " + text)
	}
	e.report(p, kind, subject, text)
}

// report raises a one-time notice. It may be called under the locks of the state and of git,
// so another goroutine writes it down; serve waits for that.
func (e *Env) report(p *project.Project, kind, subject, text string) {
	n := watch.Notice(kind, subject, text, e.Now())
	write := func() {
		// That it cannot be written must not disturb anyone who changes the state.
		_ = e.alertFiles(p).Report(context.Background(), n)
	}
	if e.late == nil {
		write()
		return
	}
	e.late.Go(write)
}

// storeNotice reports what the store noticed (specs/protocol.md#1.2, specs/protocol.md#14).
func (e *Env) storeNotice(p *project.Project) func(kind, text string) {
	return func(kind, text string) {
		subject := "state.yaml"
		if kind == store.AlertJournalRepaired {
			subject = "log.yaml"
		}
		e.notice(p, kind, subject, text)
	}
}

// lockRemoved reports a stale lock file of git that was removed (specs/protocol.md#7.3).
func (e *Env) lockRemoved(p *project.Project) func(path string) {
	return func(path string) {
		name := path
		if rel, err := filepath.Rel(p.GitDir, path); err == nil {
			name = rel
		}
		e.notice(p, "GIT_LOCK_REMOVED", name, path+" was left by a git process that is gone; it is removed")
	}
}

// unsaved reports work that could not be let go, when a command ended with it: git's answer,
// or the refusal of an event that would have removed it.
func (e *Env) unsaved(err error) {
	subject := ""
	if x, ok := errors.AsType[*git.UnsavedError](err); ok {
		subject = x.ID
	} else if x, ok := errors.AsType[*transition.Refusal](err); ok && x.Unsaved != "" {
		subject = x.Unsaved
	} else {
		return
	}
	if p, find := e.Find(context.Background()); find == nil {
		e.report(p, "WORK_NOT_SAVED", subject, err.Error())
	}
}

// desktop raises notifications on the desktop of the person who watches. Where the program
// for that is missing nothing happens.
func (e *Env) desktop() *desktop {
	return &desktop{queue: e.late, system: runtime.GOOS}
}

type desktop struct {
	queue  *sync.WaitGroup
	system string
	turn   sync.Mutex // one at a time, in any order
}

// Tell notifies of a raised alert; what was open before, or is over, needs nobody.
func (d *desktop) Tell(c watch.Change) {
	if c.Old || c.Cleared {
		return
	}
	argv := notification(d.system, c.Alert)
	path, err := exec.LookPath(argv[0])
	if err != nil {
		return
	}
	show := func() {
		d.turn.Lock()
		defer d.turn.Unlock()
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		cmd := exec.CommandContext(ctx, path, argv[1:]...)
		cmd.WaitDelay = time.Second
		_ = cmd.Run() // a desktop that does not answer stops nobody
	}
	if d.queue == nil {
		show()
		return
	}
	d.queue.Go(show)
}

// notification is the command that shows an alert on a desktop.
func notification(system string, a watch.Alert) []string {
	title := "liza: " + a.Kind + " " + a.Subject
	if system == "darwin" {
		return []string{"osascript", "-e", "display notification " + strconv.Quote(a.Message) + " with title " + strconv.Quote(title)}
	}
	urgency := map[string]string{watch.Error: "critical", watch.Warning: "normal", watch.Info: "low"}[a.Severity]
	return []string{"notify-send", "--app-name=liza", "--urgency=" + urgency, "--", title, a.Message}
}
