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
	t.tidy(kind)
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
	if text, _ = t.disk.read(board); text == "" {
		if t.acked.revision > 0 {
			t.fail("the board is gone")
		}
		return
	}
	t.checkObjects()
	t.checkMerges()
}

// tidy is what a person does whose own branch, index or worktrees did not reach the disk.
func (t *train) tidy(kind string) {
	var own, claimed []string
	for _, one := range t.tasks() {
		if one.Status != "READY_FOR_REVIEW" && one.Status != "APPROVED" {
			own = append(own, one.ID)
		}
		if one.Status == "CLAIMED" {
			claimed = append(claimed, one.ID)
		}
	}
	if kind == "accept" { // a commit that was not accepted may be broken, and git refuses to write a branch whose file is empty
		t.run("sh", "-c", "git rev-list --objects refs/heads/integration | cut -d' ' -f1 | git cat-file --batch >/dev/null && git rev-list -1 refs/heads/integration || rm -f .git/refs/heads/integration")
	}
	a := t.run("sh", slices.Concat([]string{"-c", tidying, cmp.Or(t.acked.refs["refs/heads/integration"], t.acked.refs["refs/heads/main"])}, own)...)
	t.trail = append(t.trail, "tidy: "+strings.TrimSpace(a.text))
	for _, id := range claimed {
		if strings.Contains(a.text, "broken "+id+"\n") {
			if a := t.run("liza", "release", id, "--force", "--reason", "the worktree is broken"); a.code != 0 {
				t.fail("liza release after the worktree was removed: exit code %d: %s", a.code, a.text)
			}
		}
	}
}

// tidying ($0 is a commit that is durable) repairs the person's checkout, and removes worktrees whose work was not handed in and did not reach the disk whole.
const tidying = `
for f in .git/worktrees/*/commondir; do [ ! -e "$f" ] || [ -s "$f" ] || echo ../.. >"$f"; done
git rev-parse -q --verify "HEAD^{tree}" >/dev/null || { echo main; rm -f .git/refs/heads/main .git/refs/heads/main.lock; git update-ref refs/heads/main "$0"; }
git status --porcelain >/dev/null || { echo index; rm -f .git/index .git/index.lock; git reset -q; }
whole() { git rev-list --objects "$1" >"$TMPDIR/objects" && cut -d' ' -f1 "$TMPDIR/objects" | git cat-file --batch >/dev/null; }
for id; do
	if [ -e .worktrees/$id ] && ! (cd .worktrees/$id && git status --porcelain && git write-tree && whole HEAD) >/dev/null 2>&1; then
		echo broken $id
		rm -rf .worktrees/$id .git/worktrees/$id
	fi
	[ ! -e .git/refs/heads/task/$id ] || whole refs/heads/task/$id 2>/dev/null || rm -f .git/refs/heads/task/$id
done
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
	if valid.code != 0 && (t.edited || strings.Contains(valid.text, "integration")) {
		valid = t.recover(valid)
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

var listed = regexp.MustCompile(`(?m)^ +(\d+) +20`)

// recover does what the answer of `liza validate` names: the newest revision is put back, or the integration branch accepted.
func (t *train) recover(valid answer) answer {
	if strings.Contains(valid.text, "restore --list") {
		list := t.run("liza", "restore", "--list")
		newest := listed.FindStringSubmatch(list.text)
		if newest == nil {
			return answer{code: 1, text: "no revision is listed: " + list.text}
		}
		if n, _ := strconv.Atoi(newest[1]); n < t.acked.revision {
			return answer{code: 1, text: fmt.Sprintf("revision %d was acknowledged, and the newest that can be put back is %d", t.acked.revision, n)}
		}
		if a := t.run("liza", "restore", newest[1]); a.code != 0 {
			return a
		}
		t.edited = false
		valid = t.run("liza", "validate")
	}
	if valid.code != 0 && strings.Contains(valid.text, "next: liza integration restore") { // a person's git moved it
		if a := t.run("liza", "integration", "restore", "--reason", "lost"); a.code != 0 {
			return a
		}
		valid = t.run("liza", "validate")
	}
	if valid.code != 0 && strings.Contains(valid.text, "V63") && !strings.Contains(valid.text, "lacks") { // a person's commit that nobody has accepted
		if a := t.run("liza", "integration", "accept", "--reason", "mine"); a.code != 0 {
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
