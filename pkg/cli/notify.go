package cli

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"liza/pkg/blackboard"
	"liza/pkg/notify"
	"liza/pkg/project"
	"liza/pkg/transition"
	"liza/pkg/verb"
	"liza/pkg/watch"
)

const (
	lookForMail = 30 * time.Second // besides whenever the board changes
	lastMail    = 5 * time.Second  // for what still waits when a program ends; the rest waits for the next
)

// alertMail makes notifications of alerts (specs/protocol.md#10.1).
type alertMail struct {
	env     *Env
	project *project.Project
}

// toldOtherwise are the kinds of alert about what an event of its own tells people of.
var toldOtherwise = []blackboard.AlertKind{blackboard.AlertBlocked, blackboard.AlertQuestionOpen, blackboard.AlertMergeApproval, blackboard.AlertIntegrationFailed,
	blackboard.AlertApproachingLimit, blackboard.AlertCost, blackboard.AlertBreaker, blackboard.AlertRoleUnusable}

// checkpointOld are the steps of the ladder of specs/protocol.md#10.4.
var checkpointOld = []blackboard.AlertKind{blackboard.AlertCheckpointStale, blackboard.AlertCheckpointStuck, blackboard.AlertCheckpointAbandoned}

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
func (e *Env) sender(d *verb.Service) notify.Sender {
	return notify.Sender{Outbox: d.Outbox(), Lock: d.Project.NotifyLock(), Now: e.Now,
		Webhook: func() (*notify.Webhook, []string) { return e.webhook(d) },
		Failed:  func(ctx context.Context, host string, err error) { notifyFailed(ctx, d, host, err) },
		Problem: func(err error) { e.Log().Warn(err.Error()) }}
}

// webhook is where messages go by the settings now, nil for nowhere.
func (e *Env) webhook(d *verb.Service) (*notify.Webhook, []string) {
	s, err := d.View(context.Background())
	if err != nil {
		return nil, nil
	}
	url, cfg := s.Text("escalation_webhook"), d.Config().Notify
	if url == "" {
		return nil, nil
	}
	w := &notify.Webhook{URL: url, RequireHTTPS: cfg.RequireHTTPS, AllowHosts: cfg.AllowHosts, MaxPayload: notify.MaxPayload, Session: filepath.Base(d.Project.Root)}
	if cfg.SecretEnv != "" {
		w.Key = e.Get(cfg.SecretEnv)
		e.secrets().Add(cfg.SecretEnv, w.Key)
	}
	return w, cfg.Events
}

// notifyFailed records that a host cannot be reached, once an hour. No task suffers.
func notifyFailed(ctx context.Context, d *verb.Service, host string, cause error) {
	// The end of the program is not a reason to forget it.
	err := d.Update(context.WithoutCancel(ctx), "notify", func(s *blackboard.State, _ transition.Actor) error {
		for _, a := range s.Anomalies {
			if a.Type != blackboard.AnomalyNotifyFailed || a.Details["host"] != host {
				continue
			}
			if at, ok := a.Timestamp.At(); ok && d.Now().Sub(at) < time.Hour {
				return nil
			}
		}
		transition.AddAnomaly(s, "", blackboard.System, blackboard.AnomalyNotifyFailed, blackboard.Settings{"what": cause.Error(), "host": host}, d.Now())
		return nil
	})
	if err != nil && d.Progress != nil {
		d.Progress("cannot record that a notification failed: " + err.Error())
	}
}

// deliverBeside delivers while others work. The function that it returns ends that, after a
// last round that is short.
func (e *Env) deliverBeside(ctx context.Context, service *verb.Service) (end func()) {
	d := *service
	d.Caller = verb.Caller{Person: service.Caller.Person}
	c := e.sender(&d)
	free := context.WithoutCancel(ctx)
	life, cancel := context.WithCancel(free)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		c.Run(life, e.mailTimes(life, &d))
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
func (e *Env) mailTimes(ctx context.Context, d *verb.Service) <-chan struct{} {
	look, changed := make(chan struct{}), d.Store.Watch(ctx)
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
