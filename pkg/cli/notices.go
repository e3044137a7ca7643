package cli

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"liza/pkg/blackboard"
	"liza/pkg/git"
	"liza/pkg/notify"
	"liza/pkg/project"
	"liza/pkg/safefile"
	"liza/pkg/transition"
	"liza/pkg/watch"
)

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
func (e *Env) notice(p *project.Project, kind blackboard.AlertKind, subject, text string) {
	if !e.shows {
		e.Log().Warn(string(kind) + ": " + text)
	}
	e.report(p, kind, subject, text)
}

// report raises a one-time notice. It may be called under the locks of the state and of git,
// so another goroutine writes it down; serve waits for that.
func (e *Env) report(p *project.Project, kind blackboard.AlertKind, subject, text string) {
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
func (e *Env) storeNotice(p *project.Project) func(kind blackboard.AlertKind, text string) {
	return func(kind blackboard.AlertKind, text string) {
		subject := "state.yaml"
		if kind == blackboard.AlertJournalRepaired {
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
		e.notice(p, blackboard.AlertGitLockRemoved, name, path+" was left by a git process that is gone; it is removed")
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
		e.report(p, blackboard.AlertWorkNotSaved, subject, err.Error())
	}
}

// mail puts a notification into the outbox of a project. That it cannot be written stops nobody.
func (e *Env) mail(p *project.Project, m notify.Message) {
	box := notify.Outbox{Path: p.Notifications(), Mask: e.secrets().Mask}
	if err := box.Put(context.Background(), e.Now(), m); err != nil {
		e.Log().Warn(err.Error())
	}
}
