package verbtest

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"strings"

	"liza/pkg/base/safefile"
	"liza/pkg/board/blackboard"
	"liza/pkg/board/store"
)

// filler is the beginning of the ids of tasks that Merges makes.
const filler = "old-"

// Merges puts n merged tasks of about 1 kB on the board, each with its commit and its merge
// on the integration branch, as Liza makes them. Boards without commits say nothing about
// what a large board costs: most of it is what git is asked. The tree stays small, so that
// checking it out costs what it costs on an empty board; the objects are in one pack.
func (p *Place) Merges(n int) {
	p.TB.Helper()
	base := p.Git(p.Dir, "rev-parse", "integration")
	commits, merges := p.history(n, base)
	err := p.Store.Update(context.Background(), store.Op{Name: "fill"}, func(s *blackboard.State) error {
		for i := range n {
			s.AddTasks(mergedTask(i, base, commits[i], merges[i]))
			base = merges[i]
		}
		if s.Integration == nil {
			s.Integration = &blackboard.Integration{}
		}
		s.Integration.Tip = base
		return nil
	})
	p.Must(nil, err)
}

// history makes n commits and n merges of them, and moves the integration branch.
func (p *Place) history(n int, base string) (commits, merges []string) {
	p.TB.Helper()
	var in bytes.Buffer
	who := "Test <test@localhost> 1768831200 +0000"
	commit := func(mark, parent int, message, more string) {
		from := fmt.Sprint(":", parent)
		if parent == 0 {
			from = base
		}
		fmt.Fprintf(&in, "commit refs/heads/integration\nmark :%d\nauthor %s\ncommitter %s\ndata %d\n%s\nfrom %s\n%s", mark, who, who, len(message), message, from, more)
	}
	for i := range n {
		text := fmt.Sprintf("the work of %s%d\n", filler, i)
		path := fmt.Sprintf("done/%d.md", i%40)
		change := fmt.Sprintf("M 100644 inline %s\ndata %d\n%s\n", path, len(text), text)
		commit(2*i+1, 2*i, "Work", change)
		merge := fmt.Sprintf("Merge %[1]s%[2]d: Task %[2]d\n\nLiza-Task: %[1]s%[2]d\nLiza-Attempt: 1\nLiza-Approved-By: code-reviewer-1\n", filler, i)
		commit(2*i+2, 2*i, merge, fmt.Sprintf("merge :%d\n%s", 2*i+1, change))
	}
	marks := p.Dir + "/.git/marks"
	cmd := exec.Command("git", "-C", p.Dir, "fast-import", "--quiet", "--force", "--export-marks="+marks)
	cmd.Stdin = &in
	if out, err := cmd.CombinedOutput(); err != nil {
		p.TB.Fatalf("git fast-import: %v\n%s", err, out)
	}
	text, err := safefile.Read(marks)
	p.Must(nil, err)
	hashes := make([]string, 2*n+1)
	for line := range strings.Lines(string(text)) {
		var mark int
		var hash string
		if _, err := fmt.Sscanf(line, ":%d %s", &mark, &hash); err != nil {
			p.TB.Fatal(err)
		}
		hashes[mark] = hash
	}
	for i := range n {
		commits, merges = append(commits, hashes[2*i+1]), append(merges, hashes[2*i+2])
	}
	return commits, merges
}

func mergedTask(i int, base, commit, merge string) *blackboard.Task {
	one := 1
	t := &blackboard.Task{ID: fmt.Sprint(filler, i), Description: fmt.Sprintf("Task %d\n%s", i, strings.Repeat("What was to be done, in words. ", 4)),
		Status: blackboard.Merged, Priority: &one, Created: "2026-01-19T14:00:00Z", Type: "docs", SpecRef: "specs/vision.md", DoneWhen: "prints 42", Scope: "IN: one file",
		ClaimSeq: 1, Iteration: 1, BaseCommit: base, ReviewCommit: commit, ApprovedBy: "code-reviewer-1", ApprovedCommit: commit, MergeCommit: merge,
		Attempts: []*blackboard.Attempt{{Seq: 1, ClaimSeq: 1, Run: 1, Agent: "coder-1", Role: "implement", Kind: "coder", Action: "COMPLETED", Outcome: "finished", Commit: commit, Ended: "2026-01-19T14:00:00Z"}}}
	for _, h := range []blackboard.HistoryEntry{{Event: blackboard.HistoryCreated, Agent: "human"}, {Event: blackboard.HistoryClaimed, Agent: "coder-1", ClaimSeq: 1, BaseCommit: base}, {Event: blackboard.HistoryReadyForReview, Agent: "coder-1", Commit: commit},
		{Event: blackboard.HistoryReviewClaimed, Agent: "code-reviewer-1"}, {Event: blackboard.HistoryApproved, Agent: "code-reviewer-1", Commit: commit}, {Event: blackboard.HistoryMerged, Agent: "system", MergeCommit: merge}} {
		h.Time = "2026-01-19T14:00:00Z"
		t.History = append(t.History, &h)
	}
	return t
}
