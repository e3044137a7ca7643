//go:build linux && !race

package power

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// check looks at what is there after a loss: everything that was acknowledged, and nothing that contradicts it. under are the
// refs as they stood when the power went.
func (t *train) check(kind string, under map[string]string) {
	t.tidy()
	text, _ := t.disk.read(board)
	found := t.refs(t.disk)
	if t.acked.revision > 0 {
		t.checkBoard(text)
	}
	if t.broken != "" {
		return
	}
	for ref, commit := range t.acked.refs {
		if kind == "accept" && ref == "refs/heads/integration" { // a person moved it, with a git that syncs nothing
			continue
		}
		if kept(ref) && found[ref] != commit && found[ref] != under[ref] {
			t.fail("%s was at %s, and is at %q", ref, commit, found[ref])
		}
	}
	t.giveAway() // not before the board is right: an edit may have reached the disk in part
	if text, _ = t.disk.read(board); text == "" {
		if t.acked.revision > 0 {
			t.fail("the board is gone")
		}
		return
	}
	t.checkObjects()
	t.checkMerges()
}

// tidy is what a person does whose own branch, index or worktrees did not reach the disk. Of the worktrees of tasks it leaves everything to Liza.
func (t *train) tidy() {
	t.helpCheckout()
	a := t.run("sh", "-c", tidying, cmp.Or(t.acked.refs["refs/heads/integration"], t.acked.refs["refs/heads/main"]))
	t.trail = append(t.trail, "tidy: "+strings.TrimSpace(a.text))
}

// giveAway ends some claims whose worktree git cannot read, and sometimes their task.
func (t *train) giveAway() {
	verbs := [][]string{{"release", "", "--force", "--reason", "git cannot read the worktree"}, {"abandon", "", "--reason", "git cannot read the worktree"}}
	for _, one := range t.tasks() {
		if one.Status != "CLAIMED" || t.runIn(one.Worktree, "sh", "-c", "git status --porcelain && git write-tree").code == 0 || t.r.IntN(2) > 0 {
			continue
		}
		for _, verb := range verbs[:1+t.r.IntN(3)/2] {
			verb[1] = one.ID
			a := t.run("liza", verb...)
			t.trail = append(t.trail, fmt.Sprintf("%s: exit %d: %s", verb[0], a.code, strings.TrimSpace(a.text)))
			if a.code != 0 {
				t.fail("liza %s of a worktree that git cannot read: exit code %d: %s", verb[0], a.code, a.text)
			}
		}
	}
}

var helps = regexp.MustCompile(`(?m)^ERROR V70 .*; next: (rm .*)$`)

// helpCheckout does what `liza validate` says about a branch or an index of the person's own checkout that the loss emptied.
func (t *train) helpCheckout() {
	for range 2 {
		a := t.run("liza", "validate")
		if a.code == 1 && t.acked.revision > 0 {
			t.fail("liza validate cannot say what is wrong: %s", a.text)
		}
		next := helps.FindStringSubmatch(a.text)
		if next == nil {
			return
		}
		t.helped++
		if a := t.run("sh", "-c", next[1]); a.code != 0 {
			t.fail("liza validate says %q, which fails: %s", next[1], a.text)
		}
	}
}

// tidying ($0 is a commit that is durable) repairs the person's checkout as far as Liza has nothing to say about it: a commit of the person that cannot be read.
const tidying = `
git rev-list --objects HEAD >"$TMPDIR/objects" && cut -d' ' -f1 "$TMPDIR/objects" | git cat-file --batch >/dev/null || { echo main; rm -f .git/refs/heads/main .git/refs/heads/main.lock; git update-ref refs/heads/main "$0"; }
git status --porcelain >/dev/null || { echo index; rm -f .git/index .git/index.lock; git reset -q; }
`

// kept are refs that Liza makes and answers for.
func kept(ref string) bool {
	return ref == "refs/heads/integration" || strings.HasPrefix(ref, "refs/liza/attic/")
}

func (t *train) checkBoard(text string) {
	revision := revisionOf(text)
	ours := t.boards[revision][text] && revision >= t.acked.revision
	if !ours && !t.edited {
		t.fail("the board was at revision %d, and is at %d, or is another:\n%.300s", t.acked.revision, revision, text)
		return
	}
	valid := t.run("liza", "validate")
	if again.MatchString(valid.text) { // the power went between a worktree that was set aside and the board
		valid = t.run("liza", "validate", "--fix")
	}
	if cut := !ours && !strings.HasSuffix(text, "\n"); cut || valid.code != 0 && (t.edited || strings.Contains(valid.text, "integration")) {
		valid = t.recover(valid, cut)
	}
	if valid.code != 0 && helps.MatchString(valid.text) { // of a board that was not valid nothing more was said
		t.helpCheckout()
		valid = t.run("liza", "validate")
	}
	if valid.code != 0 {
		t.fail("liza validate: exit code %d: %s", valid.code, valid.text)
		return
	}
	entries, _ := t.disk.read(journal)
	if !strings.HasPrefix(entries, t.acked.journal) {
		t.fail("the journal lacks entries that were acknowledged: it has %d of %d bytes", len(entries), len(t.acked.journal))
	}
}

var again = regexp.MustCompile(`(?m)^ERROR V12 .*; next: liza validate --fix$`)

var listed = regexp.MustCompile(`(?m)^ +(\d+) +20`)

// recover does what the answer of `liza validate` names: the newest revision is put back, or the integration branch accepted. A person
// sees that an edit was cut in the middle of a line, which may still be YAML, and puts the newest revision back too.
func (t *train) recover(valid answer, cut bool) answer {
	if cut || strings.Contains(valid.text, "next: liza restore") {
		list := t.run("liza", "restore")
		newest := listed.FindStringSubmatch(list.text)
		if newest == nil {
			return answer{code: 1, text: "no revision is listed: " + list.text}
		}
		if n, _ := strconv.Atoi(newest[1]); n < t.said {
			return answer{code: 1, text: fmt.Sprintf("revision %d was acknowledged, and the newest that can be put back is %d", t.said, n)}
		}
		if a := t.run("liza", "restore", newest[1]); a.code != 0 {
			return a
		}
		t.edited = false
		valid = t.run("liza", "validate")
	}
	if valid.code != 0 && strings.Contains(valid.text, "next: liza sync --restore") { // a person's git moved it
		if a := t.run("liza", "sync", "--restore", "--reason", "lost"); a.code != 0 {
			return a
		}
		valid = t.run("liza", "validate")
	}
	if valid.code != 0 && strings.Contains(valid.text, "V63") && !strings.Contains(valid.text, "lacks") { // a person's commit that nobody has accepted
		a := t.run("liza", "sync", "--accept", "--reason", "mine")
		if a.code == 4 && strings.Contains(a.text, "next: liza sync --restore") { // and that git cannot read
			a = t.run("liza", "sync", "--restore", "--reason", "lost")
		}
		if a.code != 0 {
			return a
		}
		valid = t.run("liza", "validate")
	}
	return valid
}

// checkObjects reads all that can be reached from what Liza answers for.
func (t *train) checkObjects() {
	if t.run("git", "fsck", "--full", "--no-dangling", "--no-progress").code == 0 {
		return
	}
	// What an agent or a person had not handed in may be gone.
	roots := []string{"refs/heads/integration"}
	for ref := range t.acked.refs {
		if strings.HasPrefix(ref, "refs/liza/attic/") {
			roots = append(roots, ref)
		}
	}
	for _, one := range t.tasks() {
		for _, commit := range []string{one.ReviewCommit, one.ApprovedCommit, one.MergeCommit} {
			if commit != "" && one.Status != "ABANDONED" {
				roots = append(roots, commit)
			}
		}
	}
	slices.Sort(roots)
	a := t.run("sh", slices.Concat([]string{"-c", `git rev-list --objects "$@" >"$TMPDIR/objects" && cut -d' ' -f1 "$TMPDIR/objects" | git cat-file --batch >"$TMPDIR/all" && ! grep -a ' missing$' "$TMPDIR/all"`, "sh"}, roots)...)
	if a.code != 0 {
		t.fail("objects that were acknowledged cannot be read: %s", a.text)
	}
}

// checkMerges holds the board beside the integration branch: each merged task has one merge.
func (t *train) checkMerges() {
	log := t.run("git", "log", "--first-parent", "--format=%(trailers:key=Liza-Task,valueonly,separator=)", "refs/heads/integration")
	if log.code != 0 {
		t.fail("git log integration: %s", log.text)
		return
	}
	merges := map[string]int{}
	for _, id := range strings.Fields(log.text) {
		merges[id]++
	}
	for _, id := range slices.Sorted(maps.Keys(merges)) {
		if merges[id] > 1 {
			t.fail("%s is merged %d times", id, merges[id])
		}
	}
	for _, one := range t.tasks() {
		if one.Status == "MERGED" && merges[one.ID] != 1 {
			t.fail("%s is MERGED on the board, and has %d merges on the branch", one.ID, merges[one.ID])
		}
	}
}
