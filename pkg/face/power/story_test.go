//go:build linux && !race

package power

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// A step is something that people or agents do. It returns the answer of the command that counts.
type step struct {
	kind string
	span int // about how many calls it makes that change the disk: the power goes at one of them
	do   func(t *train) answer
}

// begin makes the repository and, on a disk that is known to have it, the project.
func (t *train) begin() error {
	setup := `set -e
mkdir -p "$HOME" specs
printf '[user]\n\tname = Ada\n\temail = ada@example.com\n[init]\n\tdefaultBranch = main\n' >"$HOME/.gitconfig"
git init -q
echo '# Vision' >specs/vision.md
for n in 1 2 3 4 5 6; do echo $n >base-$n.txt; done
git add -A
git commit -qm Start`
	t.disk.mu.Lock()
	for _, name := range []string{"home", "project"} {
		t.disk.last++
		n := folder(t.disk.last)
		t.disk.nodes[n.id] = n
		t.disk.name(n, true, set{dir: t.disk.nodes[root], name: name, now: n})
	}
	t.disk.mu.Unlock()
	if a := t.run("sh", "-c", setup); a.code != 0 {
		return fmt.Errorf("cannot make the repository: %s", a.text)
	}
	t.disk.syncAll()
	t.ack()
	return nil
}

// choose picks a step that the board allows.
func (t *train) choose() step {
	if t.acked.revision == 0 {
		return step{"init", 150, func(t *train) answer { return t.run("liza", "init", "Power") }}
	}
	tasks := t.tasks()
	var open int
	var steps []step
	add := func(weight int, kind string, span int, do func(t *train) answer) {
		for range weight {
			steps = append(steps, step{kind, span, do})
		}
	}
	approved := 0
	for _, one := range tasks {
		id := one.ID
		if one.Status != "MERGED" && one.Status != "ABANDONED" {
			open++
		}
		switch one.Status {
		case "UNCLAIMED", "REJECTED", "INTEGRATION_FAILED":
			add(4, "claim", 200, func(t *train) answer { return t.run("liza", "--as", agent("coder", id), "claim", id) })
		case "CLAIMED":
			add(6, "submit", 120, func(t *train) answer { return t.submit(one) })
			add(1, "work", 60, func(t *train) answer { return t.work(one) })
			add(1, "release", 120, func(t *train) answer {
				return t.run("liza", "release", id, "--force", "--reason", "somebody else shall do it")
			})
		case "READY_FOR_REVIEW":
			add(7, "approve", 60, func(t *train) answer { return t.verdict(one, "approve") })
			add(1, "reject", 60, func(t *train) answer {
				return t.verdict(one, "reject", "--reason", "one.txt:1 says too little; say more")
			})
		case "APPROVED":
			approved++
		}
		if (one.Status == "UNCLAIMED" || one.Status == "CLAIMED") && t.number%4 == 0 {
			add(1, "abandon", 100, func(t *train) answer { return t.run("liza", "abandon", id, "--reason", "not wanted any more") })
		}
	}
	if approved > 0 {
		add(5+3*approved, "merge", 250, func(t *train) answer { return t.run("liza", "merge") })
	}
	if open < 4 {
		add(4-open, "add-task", 30, (*train).addTask)
	}
	add(1, "note", 30, func(t *train) answer {
		return t.run("liza", "tell", "planner", fmt.Sprintf("note %d of a person", t.next()))
	})
	add(1, "edit", 10, (*train).edit)
	add(1, "sync", 200, (*train).sync)
	add(1, "accept", 100, (*train).accept)
	add(1, "gc", 30, func(t *train) answer { return t.run("liza", "gc") })
	add(1, "archive", 40, func(t *train) answer { return t.run("liza", "gc", "--older", "0s") })
	add(1, "worktree", 100, func(t *train) answer {
		name := fmt.Sprintf("mine-%d", t.next())
		return t.run("git", "worktree", "add", "-q", "-b", name, filepath.Join("..", name))
	})
	return steps[t.r.IntN(len(steps))]
}

// agent is a task's own: nobody has two tasks.
func agent(role, id string) string { return role + strings.TrimPrefix(id, "task") }

func (t *train) addTask() answer {
	id := fmt.Sprintf("task-%d", t.next())
	return t.run("liza", "add-task", "--id", id, "--desc", "Say it "+id, "--spec", "specs/vision.md", "--done", id+".txt says so", "--scope", id+".txt", "--type", "docs")
}

// work is what an agent does with a git of its own, which syncs nothing.
func (t *train) work(one task) answer {
	n := t.next()
	script := fmt.Sprintf(`mkdir -p part-%d; echo work %d of %s >>%s.txt; echo %d >part-%d/file.txt; git add -A && git commit -qm 'Work %d'`, n, n, one.ID, one.ID, n, n, n)
	a := t.runIn(one.Worktree, "sh", "-c", script)
	if a.code != 0 && !a.dark { // what was not synced may be gone; then a person gives the work to somebody else
		return t.release(one.ID, a.text)
	}
	return a
}

func (t *train) submit(one task) answer {
	if a := t.work(one); a.dark || a.code != 0 || strings.Contains(a.text, "released") {
		return a
	}
	a := t.run("liza", "--as", one.AssignedTo, "submit", one.ID, "--no-tests", "a test of the disk")
	if a.code == 4 && strings.Contains(a.text, "next: liza retry "+one.ID) {
		return t.release(one.ID, a.text)
	}
	return a
}

// release gives a task to somebody else, because of what git said.
func (t *train) release(id, why string) answer {
	t.trail = append(t.trail, "released: "+strings.TrimSpace(why))
	return t.run("liza", "release", id, "--force", "--reason", "the worktree is broken")
}

func (t *train) verdict(one task, verdict string, more ...string) answer {
	reviewer := one.ReviewingBy
	if reviewer == "" {
		reviewer = agent("code-reviewer", one.ID)
		if a := t.run("liza", "--as", reviewer, "claim-review", one.ID); a.dark || a.code != 0 {
			return a
		}
		t.ack()
	}
	return t.run("liza", slices.Concat([]string{"--as", reviewer, "verdict", one.ID, verdict}, more)...)
}

// edit is a person who changes the board with an editor that syncs nothing.
func (t *train) edit() answer {
	t.edited = true
	return t.run("sed", "-i", fmt.Sprintf("s/^\\(    description: Say it\\).*/\\1 as edit %d has it/", t.next()), ".liza/state.yaml")
}

// sync is Liza's, after a commit of a person on main.
func (t *train) sync() answer {
	n := t.next()
	if a := t.run("sh", "-c", fmt.Sprintf("echo %d >news-%d.txt && git add news-%d.txt && git commit -qm 'News %d'", n, n, n, n)); a.dark || a.code != 0 {
		return a
	}
	a := t.run("liza", "sync")
	if next := writes.FindStringSubmatch(a.text); next != nil { // an object of the commit was torn before, and git did not write it again
		t.helped++
		if a := t.run("sh", "-c", next[1]); a.dark {
			return a
		} else if a.code != 0 {
			t.fail("liza sync says %q, which fails: %s", next[1], a.text)
		}
		a = t.run("liza", "sync")
	}
	return a
}

var writes = regexp.MustCompile(`(?m)^next: (rm -f .*)$`)

// accept is about a commit that a person made on the integration branch.
func (t *train) accept() answer {
	script := fmt.Sprintf(`c=$(echo mine %d | git commit-tree integration^{tree} -p integration) && git update-ref refs/heads/integration $c`, t.next())
	if a := t.run("sh", "-c", script); a.dark || a.code != 0 {
		return a
	}
	return t.run("liza", "sync", "--accept", "--reason", "mine")
}
