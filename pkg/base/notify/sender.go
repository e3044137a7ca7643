package notify

import (
	"context"
	"errors"
	"os"
	"slices"
	"time"

	"liza/pkg/base/safefile"
)

// Sender delivers the messages of an outbox. Of all senders, in any process, one delivers at a time.
type Sender struct {
	Outbox  Outbox
	Lock    string                      // notify.lock
	Webhook func() (*Webhook, []string) // returns the present settings, and the events to send, none: all; nil: nothing is sent
	Now     func() time.Time
	Failed  func(ctx context.Context, host string, err error) // called for a message that could not be delivered
	Problem func(error)                                       // called for an outbox that cannot be used
}

// Run delivers at each signal of look, until ctx ends.
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

// Deliver tries every waiting message, the oldest first. It does nothing while another sender delivers. An interrupted
// message waits on.
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
