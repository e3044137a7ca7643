package verb_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gopkg.in/yaml.v3"

	"liza/pkg/verb/verb"
	"liza/pkg/verb/verb/verbtest"
)

// P-005: the goal is data: whatever is in it, it comes back as it went in, from the store
// and from any YAML reader.
func TestTheGoalIsStoredExactlyAsItWasTyped(t *testing.T) {
	t.Parallel()
	for name, goal := range map[string]string{
		"quotes":               `Say "hello" and 'goodbye' and it's done`,
		"shell":                "Print $(date), `id`, ${HOME} and $1 && rm -rf /",
		"colons":               "key: value: other, - no list, # no comment",
		"looks like a list":    "- one\n- two\n",
		"several lines":        "First line\n\n  indented\n\ttabbed\nlast line",
		"spaces":               "  leading and trailing  ",
		"ends with lines":      "one\n\n\n",
		"looks like a number":  "007",
		"looks like a boolean": "yes",
		"looks like an anchor": "&a *b !c %d @e `f | > ? :",
		"other scripts":        "Grüße, 世界, עולם, 🚀\u00a0and\u2028more",
		"documents":            "---\n...\n--- !!map\n",
		"templates":            "{{.Title}} %s {0}",
		"very long":            longGoal(),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := verbtest.NewWith(t, verb.InitInput{Goal: goal, Now: time.Now()})
			if got := p.State().Goal.Description; got != goal {
				t.Errorf("the store gives\n%q, want\n%q", got, goal)
			}
			data, err := os.ReadFile(p.Project.State())
			if err != nil {
				t.Fatal(err)
			}
			var board struct{ Goal struct{ Description string } }
			if err := yaml.Unmarshal(data, &board); err != nil || board.Goal.Description != goal {
				t.Errorf("the YAML library gives\n%q (%v), want\n%q", board.Goal.Description, err, goal)
			}
		})
	}
}

func longGoal() string {
	line := "A goal of many words that no line of a file can hold without being folded somewhere. "
	text := ""
	for range 40 {
		text += line
	}
	return text + "End."
}

// inRepository is a folder with a repository that has the spec, and no project yet.
func inRepository(t *testing.T) *verbtest.Place {
	t.Helper()
	p := &verbtest.Place{TB: t, Dir: filepath.Join(t.TempDir(), "project"), Config: verbtest.Config()}
	verbtest.Write(t, filepath.Join(p.Dir, "specs", "vision.md"), "# Vision\n")
	p.Shell(p.Dir, "git init -q -b main && git add -A && git commit -qm start")
	return p
}

// begin is init in a folder.
func begin(t *testing.T, dir, from string) (verb.Initialized, error) {
	t.Helper()
	return verb.Init(t.Context(), verb.InitInput{Goal: "Begin", Dir: dir, From: from, Keys: t.TempDir(), Now: time.Now()})
}

// 4.4: in a linked worktree init began at the branch of the main checkout.
func TestInitBeginsAtTheCheckoutThatItIsCalledIn(t *testing.T) {
	t.Parallel()
	for _, from := range []string{"", "HEAD"} {
		p := inRepository(t)
		linked := p.Dir + "-linked"
		p.Shell(p.Dir, "git worktree add -q -b feature "+linked)
		p.Shell(linked, "git commit -q --allow-empty -m feature && mkdir below")
		done, err := begin(t, filepath.Join(linked, "below"), from)
		if err != nil {
			t.Fatal(err)
		}
		p.Open()
		if want := p.Git(linked, "rev-parse", "HEAD"); done.Integration != want || p.State().Text("base_ref") != "feature" {
			t.Errorf("--from %q: the integration branch is at %s with base %s, want %s of feature", from, done.Integration, p.State().Text("base_ref"), want)
		}
	}
}

// 4.4: a spec that only the linked worktree has is looked for in the main checkout, and init says so.
func TestInitSaysWhereItLooksForTheSpec(t *testing.T) {
	t.Parallel()
	p := inRepository(t)
	linked := p.Dir + "-linked"
	p.Shell(p.Dir, "git worktree add -q -b feature "+linked+" && git rm -q specs/vision.md && git commit -qm gone")
	if _, err := begin(t, linked, ""); err == nil || !strings.Contains(err.Error(), "the spec file specs/vision.md does not exist in the main checkout "+p.Dir) {
		t.Errorf("got %v", err)
	}
}

// 4.4: in a clone init began at main, behind the integration branch that the remote has.
func TestInitInACloneTakesTheBranchOfTheRemote(t *testing.T) {
	t.Parallel()
	p := inRepository(t)
	p.Shell(p.Dir, "git branch integration && git switch -q integration && git commit -q --allow-empty -m merged && git switch -q main")
	clone := func() string {
		dir := filepath.Join(t.TempDir(), "clone")
		p.Shell(p.Dir, "git clone -q . "+dir)
		return dir
	}
	ahead, chosen := clone(), clone()
	p.Shell(p.Dir, "git merge -q --no-ff -m 'into main' integration && git commit -q --allow-empty -m later")
	contained := clone()
	for dir, want := range map[string]struct{ from, commit, origin string }{
		ahead:     {"", "origin/integration", "origin/integration"},
		chosen:    {"main", "main", ""},
		contained: {"", "main", ""},
	} {
		done, err := begin(t, dir, want.from)
		if commit := p.Git(dir, "rev-parse", want.commit); err != nil || done.Integration != commit || done.Origin != want.origin || p.Git(dir, "rev-parse", "integration") != commit {
			t.Errorf("from %q: %+v, %v; want the branch at %s %s", want.from, done, err, want.commit, commit)
		}
	}
}

// 4.4: in a clone with a copied .liza the folder of locks was missing.
func TestADecisionAboutTheBranchInACloneNeedsNoFolderOfLocks(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	p.Push("their.txt", "theirs\n")
	if err := os.RemoveAll(filepath.Join(p.Project.GitDir, "liza")); err != nil {
		t.Fatal(err)
	}
	p.Open()
	if b, err := p.Service("").Merges.AcceptIntegration(t.Context(), "it is right"); err != nil || b.Moved {
		t.Errorf("got %+v, %v", b, err)
	}
}
