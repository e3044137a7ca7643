package assembly

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"liza/pkg/base/notify"
	"liza/pkg/base/safefile"
	"liza/pkg/board/blackboard"
	"liza/pkg/board/transition"
	"liza/pkg/code/git"
	"liza/pkg/code/project"
	"liza/pkg/team/watch"
	"liza/pkg/verb/board"
	"liza/pkg/verb/verb"
)

// alertsWait is how long another watcher is waited for.
const alertsWait = 10 * time.Second

// alertFiles are the files of alerts of a project, safe from crashes and neighbours.
func (e *Environment) AlertFiles(p *project.Project) watch.Files {
	host, _ := os.Hostname()
	masked := func(data []byte) []byte { return []byte(e.Secrets().Mask(string(data))) }
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
func (e *Environment) Notice(p *project.Project, kind blackboard.AlertKind, subject, text string) {
	if !e.Shows {
		e.Log().Warn(string(kind) + ": " + text)
	}
	e.Report(p, kind, subject, text)
}

// report raises a one-time notice. It may be called under the locks of the state and of git,
// so another goroutine writes it down; serve waits for that.
func (e *Environment) Report(p *project.Project, kind blackboard.AlertKind, subject, text string) {
	n := watch.Notice(kind, subject, text, e.Now())
	write := func() {
		// That it cannot be written must not disturb anyone who changes the state.
		_ = e.AlertFiles(p).Report(context.Background(), n)
	}
	if e.Late == nil {
		write()
		return
	}
	e.Late.Go(write)
}

// storeNotice reports what the store noticed (specs/protocol.md#1.2, specs/protocol.md#14).
func (e *Environment) StoreNotice(p *project.Project) func(kind blackboard.AlertKind, text string) {
	return func(kind blackboard.AlertKind, text string) {
		subject := "state.yaml"
		if kind == blackboard.AlertJournalRepaired {
			subject = "log.yaml"
		}
		e.Notice(p, kind, subject, text)
	}
}

// lockRemoved reports a stale lock file of git that was removed (specs/protocol.md#7.3).
func (e *Environment) lockRemoved(p *project.Project) func(path string) {
	return func(path string) {
		name := path
		if rel, err := filepath.Rel(p.GitDir, path); err == nil {
			name = rel
		}
		e.Notice(p, blackboard.AlertGitLockRemoved, name, path+" was left by a git process that is gone; it is removed")
	}
}

// unsaved reports work that could not be let go, when a command ended with it: git's answer,
// or the refusal of an event that would have removed it.
func (e *Environment) Unsaved(err error) {
	subject := ""
	if x, ok := errors.AsType[*git.UnsavedError](err); ok {
		subject = x.ID
	} else if x, ok := errors.AsType[*transition.Refusal](err); ok && x.Unsaved != "" {
		subject = x.Unsaved
	} else {
		return
	}
	if p, find := e.Find(context.Background()); find == nil {
		e.Report(p, blackboard.AlertWorkNotSaved, subject, err.Error())
	}
}

// mail puts a notification into the outbox of a project. That it cannot be written stops nobody.
func (e *Environment) mail(p *project.Project, m notify.Message) {
	box := notify.Outbox{Path: p.Notifications(), Mask: e.Secrets().Mask}
	if err := box.Put(context.Background(), e.Now(), m); err != nil {
		e.Log().Warn(err.Error())
	}
}

const (
	lookForMail = 30 * time.Second // besides whenever the board changes
	lastMail    = 5 * time.Second  // for what still waits when a program ends; the rest waits for the next
)

// alertMail makes notifications of alerts (specs/protocol.md#10.1).
type alertMail struct {
	env     *Environment
	project *project.Project
}

// toldOtherwise are the kinds of alert about what an event of its own tells people of.
var toldOtherwise = []blackboard.AlertKind{blackboard.AlertBlocked, blackboard.AlertQuestionOpen, blackboard.AlertMergeApproval, blackboard.AlertIntegrationFailed,
	blackboard.AlertApproachingLimit, blackboard.AlertCost, blackboard.AlertBreaker, blackboard.AlertRoleUnusable, blackboard.AlertCheckpointOpen}

// checkpointOld are the steps of the ladder of specs/protocol.md#10.4.
var checkpointOld = []blackboard.AlertKind{blackboard.AlertCheckpointStale, blackboard.AlertCheckpointStuck, blackboard.AlertCheckpointAbandoned}

// AlertMail returns a sink that makes notifications of the alerts of p.
func AlertMail(e *Environment, p *project.Project) watch.Sink { return alertMail{e, p} }

// Tell sends what is raised, once for all watchers: those of one project agree when it was.
func (a alertMail) Tell(c watch.Change) {
	if c.Cleared || slices.Contains(toldOtherwise, c.Kind) {
		return
	}
	event := "alert"
	if slices.Contains(checkpointOld, c.Kind) {
		event = "checkpoint"
	}
	m := notify.New(event, fmt.Sprintf("%s %s %s", c.Kind, c.Subject, c.Since.UTC().Format(time.RFC3339)), c.Alert.String())
	m.Data["kind"], m.Data["subject"], m.Data["severity"] = string(c.Kind), c.Subject, c.Severity
	a.env.mail(a.project, m)
}

// sender delivers the notifications of a project (specs/roles-and-knowledge.md#9.1).
func (e *Environment) sender(d *verb.Service) notify.Sender {
	return notify.Sender{Outbox: d.Board.Outbox(), Lock: d.Board.Project.NotifyLock(), Now: e.Now,
		Webhook: func() (*notify.Webhook, []string) { return e.webhook(d) },
		Failed:  func(ctx context.Context, host string, err error) { notifyFailed(ctx, d, host, err) },
		Problem: func(err error) { e.Log().Warn(err.Error()) }}
}

// webhook is where messages go by the settings now, nil for nowhere.
func (e *Environment) webhook(d *verb.Service) (*notify.Webhook, []string) {
	s, err := d.Board.View(context.Background())
	if err != nil {
		return nil, nil
	}
	url, cfg := s.Text("escalation_webhook"), d.Board.Config().Notify
	if url == "" {
		return nil, nil
	}
	w := &notify.Webhook{URL: url, RequireHTTPS: cfg.RequireHTTPS, AllowHosts: cfg.AllowHosts, MaxPayload: notify.MaxPayload, Session: filepath.Base(d.Board.Project.Root)}
	if cfg.SecretEnv != "" {
		w.Key = e.Get(cfg.SecretEnv)
		e.Secrets().Add(cfg.SecretEnv, w.Key)
	}
	return w, cfg.Events
}

// notifyFailed records that a host cannot be reached, once an hour. No task suffers.
func notifyFailed(ctx context.Context, d *verb.Service, host string, cause error) {
	// The end of the program is not a reason to forget it.
	err := d.Board.Update(context.WithoutCancel(ctx), "notify", func(s *blackboard.State, _ transition.Actor) error {
		for _, a := range s.Anomalies {
			if a.Type != blackboard.AnomalyNotifyFailed || a.Details["host"] != host {
				continue
			}
			if at, ok := a.Timestamp.At(); ok && d.Board.Now().Sub(at) < time.Hour {
				return nil
			}
		}
		transition.AddAnomaly(s, "", blackboard.System, blackboard.AnomalyNotifyFailed, blackboard.Settings{"what": cause.Error(), "host": host}, d.Board.Now())
		return nil
	})
	if err != nil && d.Board.Progress != nil {
		d.Board.Progress("cannot record that a notification failed: " + err.Error())
	}
}

// deliverBeside delivers while others work. The function that it returns ends that, after a
// last round that is short.
func (e *Environment) DeliverBeside(ctx context.Context, service *verb.Service) (end func()) {
	d := service.With(func(s *board.Session) { s.Caller = board.Caller{Person: s.Caller.Person} })
	c := e.sender(d)
	free := context.WithoutCancel(ctx)
	life, cancel := context.WithCancel(free)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		c.Run(life, e.mailTimes(life, d))
	}()
	return func() {
		cancel()
		<-ended
		last, enough := context.WithTimeout(free, lastMail)
		defer enough()
		if err := c.Deliver(last); err != nil {
			c.Problem(err)
		}
	}
}

// mailTimes sends when the board changes, and now and then.
func (e *Environment) mailTimes(ctx context.Context, d *verb.Service) <-chan struct{} {
	look, changed := make(chan struct{}), d.Board.Store.Watch(ctx)
	go func() {
		tick := time.NewTicker(lookForMail)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-changed:
			case <-tick.C:
			}
			select {
			case look <- struct{}{}:
			case <-ctx.Done():
				return
			}
		}
	}()
	return look
}
