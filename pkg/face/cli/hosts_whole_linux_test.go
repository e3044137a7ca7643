package cli_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/history"
	"liza/pkg/board/transition"
)

// state is the board; what the database does not give while it restarts is asked for again.
func (f *faulty) state() *blackboard.State {
	f.Helper()
	for until := time.Now().Add(time.Minute); ; {
		s, err := f.board.View(f.Context())
		if err == nil {
			return s
		}
		if time.Now().After(until) {
			f.Fatal(err)
		}
		f.wait(50 * time.Millisecond)
	}
}

// goesOn waits until the board is so many revisions further, and adds tasks before they run out.
func (f *faulty) goesOn(revisions int) {
	f.Helper()
	first := f.state().Revision
	for until := time.Now().Add(4 * time.Minute); ; f.wait(20 * time.Millisecond) {
		s := f.state()
		open := 0
		for t := range s.Tasks() {
			if !t.Status.Terminal() && t.Status != blackboard.Approved {
				open++
			}
		}
		if open < 6 {
			f.add(6)
		}
		if s.Revision >= first+revisions {
			return
		}
		if time.Now().After(until) {
			f.Fatalf("nothing goes on at revision %d: %s", s.Revision, f.hosts[0].must("liza", "status"))
		}
	}
}

// finish lets the hosts do all that is left, and waits until they have ended.
func (f *faulty) finish() {
	f.Helper()
	f.hosts[0].must("liza", "finalize", "last")
	merged, until := 0, time.Now()
	for ; ; f.wait(50 * time.Millisecond) {
		s := f.state()
		if s.Goal.Status == blackboard.Completed {
			break
		}
		now := 0
		for t := range s.Tasks() {
			if t.Status == blackboard.Merged {
				now++
			}
		}
		if now > merged || merged == 0 {
			merged, until = now, time.Now().Add(5*time.Minute)
		}
		if time.Now().After(until) {
			f.Fatalf("the goal is not reached:\n%s", f.hosts[0].must("liza", "status"))
		}
	}
	close(f.over)
	f.runs.Wait()
}

// watchLeases looks at the programs of agents on all hosts: each has a lease, or has ended soon after.
func (f *faulty) watchLeases(ctx context.Context) {
	const soon = 25 * time.Second
	without := map[int]time.Time{}
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		s, err := f.board.View(ctx)
		if err != nil {
			continue
		}
		for _, h := range f.hosts {
			for _, pid := range marked(h.mark()) {
				id := agentOf(pid)
				if id == "" {
					continue
				}
				a := s.Agents[id]
				if a != nil {
					if lease, ok := a.LeaseExpires.At(); ok && lease.After(time.Now()) && a.Host == h.name {
						delete(without, pid)
						continue
					}
				}
				if since, seen := without[pid]; !seen {
					without[pid] = time.Now()
				} else if time.Since(since) > soon {
					f.Errorf("process %d of %s on host %s is there without a lease since %s", pid, id, h.name, since.Format(time.TimeOnly))
					delete(without, pid)
				}
			}
		}
	}
}

// agentOf is the agent whose program a process is, "" when it is another one.
func agentOf(pid int) string {
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil || !bytes.HasPrefix(line, []byte("sh\x00")) || !bytes.Contains(line, []byte("agent.sh")) {
		return ""
	}
	env, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	for v := range strings.SplitSeq(string(env), "\x00") {
		if id, ok := strings.CutPrefix(v, "LIZA_AGENT_ID="); ok {
			return id
		}
	}
	return ""
}

// nothingIsLost looks at everything when all is over: the board, its journal, the remote, each host.
func (f *faulty) nothingIsLost() {
	f.Helper()
	s, origin := f.state(), filepath.Join(f.dir, "origin.git")
	entries, err := f.board.Journal(f.Context(), history.Filter{})
	if err != nil {
		f.Fatal(err)
	}
	statuses := map[string]blackboard.Status{}
	for t := range s.Tasks() {
		statuses[t.ID] = t.Status
	}
	for _, d := range transition.Replay(entries, statuses, true) {
		f.Error(d.Message)
	}
	merged, want, n := map[string]int{}, []string{}, 0
	for _, e := range entries {
		if e.Action == "merged" {
			merged[e.Task]++
		}
	}
	known := map[string]bool{}
	for _, repo := range []string{origin, "north", "south", "west"} {
		if !filepath.IsAbs(repo) {
			repo = filepath.Join(f.dir, repo)
		}
		for _, c := range strings.Fields(f.git(repo, "rev-list", "--all")) {
			known[c] = true
		}
	}
	for t := range s.Tasks() {
		n++
		want = append(want, t.ID)
		if t.Status != blackboard.Merged || merged[t.ID] != 1 {
			f.Errorf("%s is %s, and the journal has %d times that it was merged", t.ID, t.Status, merged[t.ID])
		}
		for _, a := range t.Attempts {
			if a.Commit != "" && !known[a.Commit] {
				f.Errorf("commit %s of %s is on no branch and in no attic", a.Commit, t.ID)
			}
		}
		if text := f.git(origin, "show", "integration:"+t.ID+".md"); text != "a word of "+t.ID+"\n" {
			f.Errorf("the remote has %q of %s", text, t.ID)
		}
	}
	if n != f.tasks+1 {
		f.Errorf("the board has %d tasks, want %d", n, f.tasks+1)
	}
	on := strings.Fields(f.git(origin, "log", "--first-parent", "--merges", "--format=%(trailers:key=Liza-Task,valueonly)", "main..integration"))
	slices.Sort(on)
	slices.Sort(want)
	if !slices.Equal(on, want) {
		f.Errorf("merged on the remote are %v, want each task once", on)
	}
	if all := strings.TrimSpace(f.git(origin, "rev-list", "--count", "--first-parent", "main..integration")); all != fmt.Sprint(n) {
		f.Errorf("the first line of the remote has %s commits, want %d merges", all, n)
	}
	if left := f.git(origin, "for-each-ref", "--format=%(refname)", "refs/heads/task"); left != "" {
		f.Errorf("branches are left on the remote:\n%s", left)
	}
	for _, h := range f.hosts {
		for _, end := range h.ended { // such as a start without the database
			f.Logf("liza run ended on host %s: %s", h.name, end)
		}
		if out := h.must("liza", "validate"); !strings.Contains(out, "VALID") {
			f.Errorf("host %s: %s", h.name, out)
		}
		for until := time.Now().Add(3 * time.Minute); len(marked(h.mark())) > 0; f.wait(100 * time.Millisecond) {
			if time.Now().After(until) {
				f.Errorf("processes %v of host %s are left", marked(h.mark()), h.name)
				killMarked(h.mark())
			}
		}
	}
	f.Logf("%d tasks, %d revisions, %d journal entries", n, s.Revision, len(entries))
}
