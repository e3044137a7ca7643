package notify

import (
	"context"
	"errors"
	"os"
	"slices"
	"time"

	"liza/pkg/base/safefile"
)

// Sender delivers what is in an outbox. Of several, in whatever processes, one delivers at a
// time.
type Sender struct {
	Outbox  Outbox
	Lock    string                      // notify.lock
	Webhook func() (*Webhook, []string) // as the settings are now, and the events that go there; nil: nowhere, none: all
	Now     func() time.Time
	Failed  func(ctx context.Context, host string, err error) // a message could not be delivered
	Problem func(error)                                       // the outbox cannot be used
}

// Run delivers whenever look is ready, until ctx ends.
func (c Sender) Run(ctx context.Context, look <-chan struct{}) {
	for {
		if err := c.Deliver(ctx); err != nil && ctx.Err() == nil {
			c.Problem(err)
		}
		select {
		case <-ctx.Done():
			return
		case _, ok := <-look:
			if !ok {
				return
			}
		}
	}
}

// Deliver tries every message that waits, the oldest first. When somebody else delivers there
// is nothing to do. One that was interrupted waits on.
func (c Sender) Deliver(ctx context.Context) error {
	hook, events := c.Webhook()
	if hook == nil {
		return nil
	}
	if waiting, err := c.Outbox.Waiting(c.Now()); err != nil || len(waiting) == 0 {
		return err
	}
	try, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	unlock, err := safefile.Lock(try, c.Lock, safefile.Holder{PID: os.Getpid(), Op: "notify"})
	var held *safefile.HeldError
	if errors.As(err, &held) {
		return nil
	}
	if err != nil {
		return err
	}
	defer unlock()
	waiting, err := c.Outbox.Waiting(c.Now()) // others may have been faster
	if err != nil {
		return err
	}
	for _, m := range waiting {
		if len(events) > 0 && !slices.Contains(events, m.Event) {
			continue
		}
		tries, err := hook.Send(ctx, m, c.Now, c.Outbox.mask)
		if err != nil && ctx.Err() != nil {
			return nil
		}
		d := Delivery{ID: m.ID, Delivery: "delivered", Attempts: tries, At: c.Now().UTC().Format(timeForm)}
		if err != nil {
			d.Delivery, d.Error = "failed", err.Error()
		}
		if settled := c.Outbox.Settle(ctx, d); settled != nil {
			return settled
		}
		if err != nil {
			c.Failed(ctx, hook.host(), err)
		}
	}
	return nil
}

// host is the host of the webhook, "" when its URL cannot be read.
func (w *Webhook) host() string {
	u, err := w.checkURL()
	if err != nil {
		return ""
	}
	return u.Host
}
