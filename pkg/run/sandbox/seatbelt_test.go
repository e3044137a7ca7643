package sandbox

import (
	"strings"
	"testing"
)

func TestTheProfileForMacOSHasDeeperRulesLater(t *testing.T) {
	t.Parallel()
	s := Spec{Level: Partial, Liza: "/opt/liza", Dir: "/u/p/.worktrees/one", Read: []string{"/u/p"}, Hide: []string{"/u/p/.liza"}, Write: []string{"/u/p/.worktrees/one"},
		Home: "/u/p/.liza/tmp/wall-x/home", Tmp: "/u/p/.liza/tmp/wall-x/tmp", Person: "/u", HomeRead: []string{".agent/settings"}}
	got := s.seatbelt()
	at := func(line string) int {
		i := strings.Index(got, line+"\n")
		if i < 0 {
			t.Errorf("%s is missing in\n%s", line, got)
		}
		return i
	}
	deny := at(`(deny file* (subpath "/u/p/.liza"))`)
	if first := at("(deny default)"); first > at(`(allow file-read* (subpath "/u/p"))`) || at(`(allow file-read* (subpath "/u/p"))`) > deny {
		t.Errorf("the board is not hidden in\n%s", got)
	}
	for _, own := range []string{`(allow file-read* file-write* (subpath "/u/p/.worktrees/one"))`, `(allow file-read* file-write* (subpath "/u/p/.liza/tmp/wall-x/home"))`} {
		if at(own) < deny {
			t.Errorf("%s is hidden in\n%s", own, got)
		}
	}
	at(`(allow file-read* (subpath "/u/.agent/settings"))`)
	c, err := Spec{Level: Partial, Person: t.TempDir(), Home: t.TempDir()}.underSeatbelt(Contained{Path: "/bin/agent", Argv: []string{"agent", "-p"}})
	if err != nil || c.Path != seatbeltProgram || strings.Join(c.Argv[3:], " ") != "/bin/agent -p" {
		t.Errorf("%v %v", c, err)
	}
}

// Nothing is contained there by itself: nobody has run it.
func TestOnMacOSAPersonHasToAskForPartial(t *testing.T) {
	t.Parallel()
	f := Capabilities{Seatbelt: true}
	if level, reason, err := Choose("auto", "", f); level != Open || err != nil || !strings.Contains(reason, "sandbox.level partial") {
		t.Errorf("auto: %s %q %v", level, reason, err)
	}
	if level, _, err := Choose(Partial, "", f); level != Partial || err != nil {
		t.Errorf("partial: %s %v", level, err)
	}
	if _, _, err := Choose(Closed, "", f); err == nil {
		t.Error("closed can not be had there")
	}
}
