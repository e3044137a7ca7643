package sandbox

import (
	"net"
	"os"
	"testing"
)

// What Liza says is refused has been tried in the very wall, and without a wall all of it succeeds.
func TestAWallIsProvedByTrying(t *testing.T) {
	outside, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer outside.Close()
	for _, level := range []Level{Closed, Partial, Open} {
		t.Run(string(level), func(t *testing.T) {
			p := newPlace(t, level)
			targets := Targets{Board: p.path("repo/.liza/state.yaml"), Folders: []string{p.path("repo"), p.path("repo/.worktrees/two")}, Private: p.path("home/.ssh/id"), Address: outside.Addr().String(), Pid: os.Getpid()}
			list, err := Prove(t.Context(), p.spec, Detect(t.Context()), targets)
			if err != nil || len(list) != 6 {
				t.Fatalf("%v %v", list, err)
			}
			for _, a := range list {
				if a.Refused != level.Covers(a.Act) {
					t.Errorf("%s (%s): refused %v (%s), promised %v", a.Act, a.Target, a.Refused, a.How, level.Covers(a.Act))
				}
			}
			if left, _ := os.ReadDir(p.path("repo/.worktrees/two")); len(left) != 1 {
				t.Errorf("the attempt has left %v", left)
			}
		})
	}
}
