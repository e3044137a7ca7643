package board_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/transition"
	"liza/pkg/verb/board"
	"liza/pkg/verb/verb"
	"liza/pkg/verb/verb/verbtest"
)

// Processes of another host are nobody's to judge: there is a process of that number here, or there is none.
func TestAnotherHostsProcessesAreNotJudged(t *testing.T) {
	t.Parallel()
	one, two, _ := verbtest.TwoHosts(t)
	d := one.Service("")
	r, err := d.Agents.Register(context.Background(), verb.RegisterInput{Role: blackboard.RoleCoder, PID: 4194304, PIDStart: 1})
	if err != nil {
		t.Fatal(err)
	}
	s := one.State()
	if live, why := s.Liveness(r.Agent, time.Now(), two.Service("").Board.Facts()); live != blackboard.Alive {
		t.Errorf("host two says %s: %s", live, why)
	}
	if live, _ := s.Liveness(r.Agent, time.Now(), d.Board.Facts()); live != blackboard.Dead {
		t.Errorf("its own host says %s", live)
	}
	if _, err := two.Service("").Agents.Recover(context.Background()); err != nil || two.State().Agents[r.Agent] == nil {
		t.Errorf("host two forgot the agent of host one: %v", err)
	}
}

func TestHostsSayWhoTheyAre(t *testing.T) {
	t.Parallel()
	one, two, _ := verbtest.TwoHosts(t)
	ctx, done := context.Background(), one.Must
	for _, p := range []*verbtest.Place{one, two} {
		d := p.Service("")
		d.Board.Version = "1.2.3"
		done(d.Agents.Register(ctx, verb.RegisterInput{Role: blackboard.RoleCoder}))
	}
	hosts := one.State().Hosts
	if len(hosts) != 2 || hosts["one"] == nil || hosts["two"] == nil || hosts["one"].ID == hosts["two"].ID || hosts["two"].Version != "1.2.3" {
		t.Fatalf("the board knows the hosts %+v", hosts)
	}
	name, err := board.HostName(one.State(), t.TempDir(), "", "one")
	if err != nil || name != "one-2" {
		t.Errorf("a third clone on a machine that is called one is %q, %v", name, err)
	}
	two.Host = "one"
	_, err = two.Service("").Agents.Register(ctx, verb.RegisterInput{Role: blackboard.RoleCoder})
	if refused := new(transition.Refusal); !errors.As(err, &refused) || !strings.Contains(err.Error(), "another clone") {
		t.Errorf("two clones with one name: %v", err)
	}
}

func TestAllThatBeginOnANewHostAtOnceAreTheSameHost(t *testing.T) {
	t.Parallel()
	one, two, _ := verbtest.TwoHosts(t)
	var running sync.WaitGroup
	for i := range 8 {
		running.Go(func() {
			if name, err := board.HostName(one.State(), two.Project.GitDir, "", "two"); err != nil || name != "two" {
				t.Errorf("its name is %q, %v", name, err)
			}
			if _, err := two.Service("").Agents.Register(context.Background(), verb.RegisterInput{ID: fmt.Sprintf("coder-%d", i+1)}); err != nil {
				t.Error(err)
			}
		})
	}
	running.Wait()
}

// Two machines of one name join at once, and a third that a board was made on without a word of its name.
func TestClonesOnMachinesOfOneNameHaveNamesOfTheirOwn(t *testing.T) {
	t.Parallel()
	one, two, _ := verbtest.TwoHosts(t)
	ctx, shared := context.Background(), one.Store
	if name, err := board.HostName(one.State(), one.Project.GitDir, "", "vm"); err != nil || name != "vm" {
		t.Fatalf("the first is %q, %v", name, err)
	}
	clones := []string{two.Project.GitDir, t.TempDir(), t.TempDir()}
	var running sync.WaitGroup
	for _, dir := range clones {
		running.Go(func() {
			if err := board.Enrol(ctx, shared, dir, "", "vm", "1.2.3", time.Now()); err != nil {
				t.Error(err)
			}
		})
	}
	running.Wait()
	names := map[string]bool{}
	for _, dir := range append(clones, one.Project.GitDir) {
		name, err := board.HostName(one.State(), dir, "", "vm")
		if err != nil {
			t.Error(err)
		}
		names[name] = true
	}
	if want := map[string]bool{"vm": true, "vm-2": true, "vm-3": true, "vm-4": true}; !maps.Equal(names, want) {
		t.Errorf("they are known as %v, want %v", names, want)
	}
	if err := board.Enrol(ctx, shared, t.TempDir(), "vm", "vm", "1.2.3", time.Now()); err == nil || !strings.Contains(err.Error(), "another clone") {
		t.Errorf("a name that was given and is taken: %v", err)
	}
}
