package supervisor_test

import (
	"encoding/json"
	"net"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/store"
	"liza/pkg/run/agent"
	"liza/pkg/run/broker"
	"liza/pkg/team/supervisor"
	"liza/pkg/verb/verb"
	"liza/pkg/verb/verb/verbtest"
)

// A run that another version of Liza has begun is ended by who would go on with it, and has the time for that which the board gives it.
func TestARunOfAnotherVersionIsEndedAfterKillGrace(t *testing.T) {
	t.Parallel()
	p, ctx, run := verbtest.New(t), t.Context(), "g-1-1"
	p.Config.Timing = map[string]int{"kill_grace": 77}
	d := p.Service("")
	if _, err := d.Agents.Register(ctx, verb.RegisterInput{ID: "coder-1", PID: os.Getpid(), PIDStart: 1}); err != nil { // it is gone
		t.Fatal(err)
	}
	if err := p.Store.Update(ctx, store.Op{Name: "run"}, func(s *blackboard.State) error {
		s.Agents["coder-1"].Child = &blackboard.Child{PID: os.Getpid(), PIDStart: 1, Run: 1, RunID: run}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	folder, err := broker.MakeFolder(broker.Base(""), p.Dir, "run "+run)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = folder.Remove() })
	asked := make(chan time.Duration, 1)
	go func() { asked <- keepOther(folder.Listener) }()
	s := &supervisor.Supervisor{Service: d, Role: blackboard.RoleCoder, CLI: "fake", PID: os.Getpid(), Liza: "/bin/true", Once: true, RunBase: broker.Base(""),
		Commands: func(supervisor.InRun) broker.Handler { return nil }, Adapter: func(string) (agent.Adapter, error) { return nil, nil }}
	s.PIDStart, _ = agent.ProcessStart(os.Getpid())
	_ = s.Run(ctx, ctx) // there is no task for it
	folder.Listener.Close()
	if grace := <-asked; grace != 77*time.Second {
		t.Errorf("the run was ended with %s from TERM to KILL, want 77s", grace)
	}
}

// keepOther is the reaper of such a run, which is adopted. It returns the time that it has from TERM to KILL.
func keepOther(l net.Listener) time.Duration {
	accepted, err := l.Accept()
	if err != nil {
		return 0
	}
	defer accepted.Close()
	var order struct {
		Adopt, End bool
		Grace      time.Duration
	}
	orders, notes := json.NewDecoder(accepted), json.NewEncoder(accepted)
	stream, _ := os.Open(os.DevNull)
	defer stream.Close()
	fd := int(stream.Fd())
	if orders.Decode(&order) != nil || !order.Adopt {
		return 0
	}
	if _, _, err := accepted.(*net.UnixConn).WriteMsgUnix([]byte{0}, unix.UnixRights(fd, fd), nil); err != nil {
		return 0
	}
	_ = notes.Encode(map[string]any{"Facts": []byte(`{"Format":0}`)})
	if orders.Decode(&order) != nil || !order.End {
		return 0
	}
	_ = notes.Encode(map[string]any{"Over": true})
	return order.Grace
}
