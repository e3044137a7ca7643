package broker

import (
	"errors"
	"net"
	"sync"
	"time"
)

const (
	maxQueued = 256 << 10        // most bytes that wait for the client
	patience  = 20 * time.Second // longest time in which a client accepts sent data
)

var errSlow = errors.New("the client does not read its output")

// outbox sends frames in order. A command waits for a slow client only if a lot is queued, and never longer than patience: it
// may hold a lock. Its stderr, which has progress messages from within its work, never waits.
type outbox struct {
	conn net.Conn
	mu   sync.Mutex
	more *sync.Cond

	queue []byte
	last  bool  // no more frames follow
	err   error // no more frames can be sent
	done  chan struct{}
}

func newOutbox(conn net.Conn) *outbox {
	o := &outbox{conn: conn, done: make(chan struct{})}
	o.more = sync.NewCond(&o.mu)
	go o.deliver()
	return o
}

// send puts content into the queue, in as many frames as it needs.
func (o *outbox) send(k kind, content []byte) error {
	for {
		piece := content[:min(len(content), maxChunk)]
		content = content[len(piece):]
		if err := o.put(k, piece, false); err != nil || len(content) == 0 {
			return err
		}
	}
}

func (o *outbox) put(k kind, content []byte, last bool) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	for k == kindOut && len(o.queue) > maxQueued && o.err == nil {
		o.more.Wait()
	}
	if len(o.queue) > 2*maxQueued && o.err == nil {
		o.fail(errSlow)
	}
	if o.err != nil || o.last {
		return o.err
	}
	o.queue, o.last = appendFrame(o.queue, k, content), last
	o.more.Broadcast()
	return nil
}

// fail ends the connection: its reader reports that to the command.
func (o *outbox) fail(err error) {
	o.err, o.queue = err, nil
	o.more.Broadcast()
	_ = o.conn.Close() // it is broken anyway
}

// exit sends the exit code, and waits until all is sent or cannot be.
func (o *outbox) exit(code int) {
	_ = o.put(kindExit, []byte{byte(code)}, true)
	<-o.done
}

func (o *outbox) deliver() {
	defer close(o.done)
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.err == nil {
		if len(o.queue) == 0 {
			if o.last {
				return
			}
			o.more.Wait()
			continue
		}
		batch := o.queue
		o.queue = nil
		o.more.Broadcast()
		o.mu.Unlock()
		err := o.conn.SetWriteDeadline(time.Now().Add(patience))
		if err == nil {
			_, err = o.conn.Write(batch)
		}
		o.mu.Lock()
		if err != nil {
			o.fail(err)
		}
	}
}
