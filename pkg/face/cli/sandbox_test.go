package cli

import (
	"strings"
	"testing"

	"liza/pkg/board/config"
	"liza/pkg/run/proxy"
	"liza/pkg/run/sandbox"
	"liza/pkg/team/findings"
	"liza/pkg/team/maintain"
	"liza/pkg/team/wall"
)

func TestAWallIsExplainedInAPersonsWords(t *testing.T) {
	t.Parallel()
	w := wall.Plan{
		Wall: sandbox.Wall{Reason: "agents run partly contained (partial), because bubblewrap is not installed", Hosts: []string{"api.example.com"}, Env: []string{"X_KEY=sk-secret", "PATH=/bin"},
			Spec: sandbox.Spec{Level: sandbox.Partial, Dir: "/home/ada/p/.worktrees/TASK", Home: "/tmp/liza-1/ab/home", Proxy: "/tmp/liza-1/ab/proxy.sock", Person: "/home/ada", HomeRead: []string{".x/settings"}, HomeWrite: []string{".x/sessions"},
				Read: []string{"/tmp/liza-1/ab", "/home/ada/p/.git", "/home/ada/data"}, Write: []string{"/home/ada/p/.worktrees/TASK", "/home/ada/p/.liza/cache/go"}, Tools: []string{"/home/ada/.nvm", "/opt/x"},
				Limits: sandbox.Limits{Processes: 9, Disk: 5 << 20}}},
		Copy: []sandbox.Mount{{Source: "/home/ada/.x.json", Target: "/tmp/liza-1/ab/home/.x.json"}}, Link: []sandbox.Mount{{Source: "/home/ada/p/.liza/cache/home/x/db", Target: "/tmp/liza-1/ab/home/db"}},
		Proxy: proxy.Options{Quiet: []string{"stats.example.com"}},
	}
	got := explainWall("x", w, "/home/ada/p", true).text()
	want := `x runs at level partial: files and system calls are contained; the network and other processes are not: hosts below are a wish only.
agents run partly contained (partial), because bubblewrap is not installed.
What x needs has not been measured: it gets copies of its settings, and some of it may be missing. ` + "`liza sandbox exec`" + ` shows what it sees.

It may write
  the worktree of its task
  .liza/cache/go
  ~/.x/sessions
  a home folder, and a folder for temporary files, that are removed when it ends

It may read, besides the system's own programs and libraries
  ~/.x/settings
  .git
  ~/data
  ~/.nvm
  /opt/x

It has copies of
  ~/.x.json

The project keeps for all its runs
  ~/db

It may reach
  api.example.com
  (stats.example.com are refused without a word, because the program does without them)

It gets these variables, when you have them
  PATH X_KEY

Its limits
  9 processes
  5 MB in each private folder

To allow more`
	if !strings.HasPrefix(got, want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if strings.Contains(got, "sk-secret") {
		t.Error("the value of a variable is shown")
	}
	for level, says := range levelSays {
		w.Spec.Level = level
		if text := explainWall("x", w, "/p", false).text(); !strings.HasPrefix(text, "x runs at level "+string(level)+": "+says) {
			t.Errorf("%s: %s", level, text)
		}
	}
}

func TestDoctorSaysWhatOfALevelHolds(t *testing.T) {
	t.Parallel()
	attempts := []sandbox.Attempt{
		{Act: sandbox.ActWrite, Refused: true}, {Act: sandbox.ActMake, Target: "/p", Refused: true}, {Act: sandbox.ActMake, Target: "/p/w", Refused: true}, {Act: sandbox.ActConnect, Target: "127.0.0.1:1"}, {Act: sandbox.ActSignal, Refused: true}}
	for _, c := range []struct {
		level    sandbox.Level
		severity string
		says     string
	}{
		{sandbox.Partial, findings.OK, "tried and refused: write to the board, make a file outside of its worktree, signal a process outside; not contained at this level: connect to a port of this machine"},
		{sandbox.Closed, findings.Error, "an agent program could connect to a port of this machine, which level closed promises to refuse"},
	} {
		x := &maintain.Doctor{}
		sayAttempts(x, c.level, attempts)
		if len(x.Found) != 1 || x.Found[0].Severity != c.severity || x.Found[0].Text != c.says {
			t.Errorf("%s: %+v", c.level, x.Found)
		}
	}
	for _, c := range []struct {
		level            sandbox.Level
		reason, severity string
	}{{sandbox.Closed, "", findings.OK}, {sandbox.Open, "", findings.Info}, {sandbox.Wrapped, "", findings.Info}, {sandbox.Open, "no Landlock", findings.Warning}, {sandbox.Partial, "no bubblewrap", findings.Warning}} {
		x := &maintain.Doctor{}
		sayLevel(x, config.Default(), c.level, c.reason)
		if len(x.Found) != 1 || x.Found[0].Severity != c.severity || !strings.Contains(x.Found[0].Text, c.reason) {
			t.Errorf("%s because of %q: %+v", c.level, c.reason, x.Found)
		}
	}
}
