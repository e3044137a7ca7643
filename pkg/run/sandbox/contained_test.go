package sandbox

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// golden compares a text with a file of testdata, with the folders of the test and of this system in other words.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s: got\n%s\nwant\n%s", file, got, want)
	}
}

// fakePlace is a Spec with all of its fields.
func fakePlace(t *testing.T) (s Spec, root string) {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"repo/.git/worktrees/one", "repo/.liza", "repo/.worktrees/one", "folders/one", "home/.agent/sessions", "home/.config/agent", "run/home", "run/tmp", "tools/bin"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{"home/.agent/settings.json", "tools/bin/agent", "tools/bin/liza", "repo/.env"} {
		if err := os.WriteFile(filepath.Join(root, file), nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	at := func(name string) string { return filepath.Join(root, name) }
	return Spec{
		Level: Closed, Liza: at("tools/bin/liza"), Dir: at("repo/.worktrees/one"),
		Read: []string{at("run"), at("repo"), at("missing")}, Write: []string{at("repo/.worktrees/one")},
		Hide: []string{at("repo/.worktrees"), at("repo/.liza"), at("repo/.env"), at("repo/missing")},
		Over: []Mount{{at("folders/one"), at("repo/.git/worktrees/one")}}, Tools: []string{at("tools")},
		Home: at("run/home"), Person: at("home"), HomeRead: []string{".agent/settings.json", at("home/.config/agent")}, HomeWrite: []string{".agent/sessions"},
		Tmp: at("run/tmp"), Proxy: at("run/proxy.sock"), Limits: Limits{Disk: 1 << 20},
	}, root
}

// ofMachine is a path in a folder of the machine, as an argument or as JSON.
var ofMachine = regexp.MustCompile(`(?: |,?")/(?:etc|opt|srv)\b[^" ]*"?,?`)

func TestTheArgumentsOfBubblewrapFollowFromTheSpec(t *testing.T) {
	t.Parallel()
	s, root := fakePlace(t)
	f := Capabilities{Bwrap: "/usr/bin/bwrap", Namespaces: true, DisablesUserns: true, Landlock: 7, Seccomp: true, LimitsOwn: true}
	c, err := s.Command(f, filepath.Join(root, "tools/bin/agent"), []string{"agent", "-p"}, []string{"PATH=/usr/bin", "HOME=/home/person", "SSH_AUTH_SOCK=/run/agent"})
	if err != nil {
		t.Fatal(err)
	}
	if c.Path != "/usr/bin/bwrap" || !c.Wrapper || c.Processes != 0 || len(c.Groups) > 0 {
		t.Errorf("got %+v", c)
	}
	// The links of a merged /usr and what is in /etc, /opt and /srv are this system's.
	args := strings.Join(c.Argv, "\n")
	first, rest, _ := strings.Cut(args, "\n--ro-bind\n/usr\n/usr\n")
	_, rest, _ = strings.Cut(rest, "\n--proc\n")
	args = first + "\n--ro-bind /usr /usr …\n--proc\n" + rest
	for _, option := range []string{"--", "{"} {
		args = strings.ReplaceAll(args, "\n"+option, "\n\n"+option)
	}
	lines := strings.Split(strings.ReplaceAll(args, root, "ROOT"), "\n\n")
	var kept []string
	for _, line := range lines {
		line = strings.ReplaceAll(line, "\n", " ")
		if last := len(kept) - 1; ofMachine.MatchString(line) && !strings.HasPrefix(line, "{") {
			if strings.HasPrefix(line, "--tmpfs") && kept[last] == "--size 4096" {
				kept = kept[:last]
			}
			continue
		}
		kept = append(kept, ofMachine.ReplaceAllString(line, ""))
	}
	lines = kept
	golden(t, "bwrap.txt", strings.Join(lines, "\n")+"\n\n"+strings.ReplaceAll(strings.Join(c.Env, "\n"), root, "ROOT")+"\n")
}

func TestWhatASpecCannotHaveIsSaid(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(s *Spec, root string){
		"its working folder 'ROOT/none' is missing":                               func(s *Spec, root string) { s.Dir = root + "/none" },
		"its private home folder '' is missing":                                   func(s *Spec, root string) { s.Home = "" },
		"'ROOT/none', which it may write, is missing\nnext: mkdir -p 'ROOT/none'": func(s *Spec, root string) { s.Write = append(s.Write, root+"/none") },
		"'ROOT/home/.none', which it may write, is missing":                       func(s *Spec, root string) { s.HomeWrite = []string{".none"} },
		"'ROOT/none', which is shown at 'ROOT/repo', is missing":                  func(s *Spec, root string) { s.Over = []Mount{{root + "/none", root + "/repo"}} },
		"'ROOT/repo' is not in the home folder 'ROOT/home'":                       func(s *Spec, root string) { s.HomeRead = []string{root + "/repo"} },
		"'ROOT/tools/bin/agent' is not among what the wall shows\nnext: ":         func(s *Spec, _ string) { s.Tools = nil },
		"the level 'high' is not a valid sandbox level":                           func(s *Spec, _ string) { s.Level = "high" },
		"sandbox.level is wrap, but sandbox.wrap names no command":                func(s *Spec, _ string) { s.Level = Wrapped },
	} {
		s, root := fakePlace(t)
		change(&s, root)
		_, err := s.Command(Capabilities{}, root+"/tools/bin/agent", []string{"agent"}, nil)
		if err == nil || !strings.Contains(strings.ReplaceAll(err.Error(), root, "ROOT"), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

func TestAtWrapAndOpenTheProgramIsStartedAsAPersonSays(t *testing.T) {
	t.Parallel()
	env := []string{"HOME=/home/person"}
	c, err := Spec{Level: Wrapped, Wrap: []string{"docker", "run", "image"}}.Command(Capabilities{}, "/usr/bin/agent", []string{"agent", "-p"}, env)
	if err != nil || c.Path != "docker" || strings.Join(c.Argv, " ") != "docker run image /usr/bin/agent -p" || c.Wrapper || !slices.Equal(c.Env, env) {
		t.Errorf("got %+v, %v", c, err)
	}
	c, err = Spec{Level: Open}.Command(Capabilities{}, "/usr/bin/agent", []string{"agent", "-p"}, env)
	if err != nil || c.Path != "/usr/bin/agent" || strings.Join(c.Argv, " ") != "agent -p" || !slices.Equal(c.Env, env) {
		t.Errorf("got %+v, %v", c, err)
	}
}
