package history

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"liza/pkg/board/blackboard"
)

func folder(t *testing.T) Interactions {
	t.Helper()
	return Interactions{Dir: filepath.Join(t.TempDir(), "task-1"), Agent: "coder-1"}
}

func ran(action string) Interaction {
	in := Interaction{Timestamp: "2026-01-19T14:00:00Z", StateBefore: "PENDING", WorkspacePath: "/p/.worktrees/task-1"}
	in.Request.Prompt = "Do <it> & say so\nin two lines"
	in.Response = Response{Status: Success, Actions: []string{action}, RawResponse: `{"action":"` + action + `"}`}
	return in
}

func (h Interactions) must(t *testing.T, actions ...string) {
	t.Helper()
	for _, a := range actions {
		if _, err := h.Append(t.Context(), ran(a)); err != nil {
			t.Fatal(err)
		}
	}
}

// numbers reads the history and wants 1 to n, without gaps.
func (h Interactions) numbers(t *testing.T, n int) []Interaction {
	t.Helper()
	list, err := h.Read()
	if err != nil || len(list) != n {
		t.Fatalf("read %d interactions, %v; want %d", len(list), err, n)
	}
	for i, in := range list {
		if in.Sequence != i+1 {
			t.Errorf("interaction %d has the number %d", i+1, in.Sequence)
		}
	}
	return list
}

// L-08: the file as it stands, with the exact fields of the Logist document.
func TestTheFileIsJSONWithOneInteractionALine(t *testing.T) {
	t.Parallel()
	h := folder(t)
	h.must(t, "RETRY", "COMPLETED")
	data, err := os.ReadFile(h.File())
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
	if len(lines) != 4 || lines[0] != `{"interactions":[` || lines[3] != "]}" || !strings.Contains(lines[1], "Do <it> & say so") {
		t.Errorf("the file is\n%s", data)
	}
	var file struct{ Interactions []map[string]any }
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	for _, in := range file.Interactions {
		for path, list := range map[string]bool{"sequence": false, "timestamp": false, "state_before": false, "workspace_path": false, "request.prompt": false, "request.files_context": true,
			"request.metadata": false, "response.status": false, "response.actions": true, "response.evidence_files": true, "response.summary_for_supervisor": false,
			"response.raw_response": false, "liza.is_simulated": false} {
			var v any = in
			for _, key := range strings.Split(path, ".") {
				v = v.(map[string]any)[key]
			}
			if _, isList := v.([]any); v == nil || isList != list {
				t.Errorf("%s is %v", path, v)
			}
		}
		if cost, there := in["liza"].(map[string]any)["cost_cents"]; !there || cost != nil {
			t.Errorf("an unknown cost is %v, want null", cost)
		}
	}
	for path, want := range map[string]os.FileMode{h.Dir: 0o700, h.File(): 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s has mode %v, want %v", path, info.Mode().Perm(), want)
		}
	}
}

// N-26: wherever a writer is killed, what was whole can be read, and the next one goes on.
func TestAWriterKilledAnywhereLeavesAReadableHistory(t *testing.T) {
	t.Parallel()
	h := folder(t)
	h.must(t, "RETRY")
	one, err := os.ReadFile(h.File())
	if err != nil {
		t.Fatal(err)
	}
	h.must(t, "COMPLETED")
	two, err := os.ReadFile(h.File())
	if err != nil {
		t.Fatal(err)
	}
	base := len(one) - len(closing)
	for cut := base; cut <= len(two); cut++ { // the trailer is cut before the line is written
		torn := two[:cut]
		h := folder(t)
		if err := os.MkdirAll(h.Dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(h.File(), torn, 0o600); err != nil {
			t.Fatal(err)
		}
		list, err := h.Read()
		if err != nil || len(list) < 1 || list[0].Response.Actions[0] != "RETRY" {
			t.Fatalf("cut at %d: read %v, %v", cut, list, err)
		}
		h.must(t, "STUCK")
		list = h.numbers(t, len(list)+1)
		if data, _ := os.ReadFile(h.File()); !json.Valid(data) || list[len(list)-1].Response.Actions[0] != "STUCK" {
			t.Fatalf("cut at %d: the file is\n%s", cut, data)
		}
	}
}

// N-26: above its bound the file is put away, and the numbers go on.
func TestAFullHistoryIsPutAwayAndItsNumbersGoOn(t *testing.T) {
	t.Parallel()
	h := folder(t)
	h.MaxMB = 1
	for range 5 {
		in := ran("RETRY")
		in.Response.RawResponse = strings.Repeat("x", 400<<10)
		if _, err := h.Append(t.Context(), in); err != nil {
			t.Fatal(err)
		}
	}
	h.numbers(t, 5)
	if got := fmt.Sprint(h.away()); got != "[1 2]" {
		t.Errorf("put away: %s", got)
	}
	if info, err := os.Stat(h.awayFile(1)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the packed file: %v, %v", info, err)
	}
	if err := os.Remove(h.File()); err != nil { // all that is left was put away
		t.Fatal(err)
	}
	if n, err := h.Append(t.Context(), ran("STUCK")); err != nil || n != 5 {
		t.Errorf("the next one has the number %d, %v; want 5", n, err)
	}
}

// N-26: a request without a response becomes an interaction that failed, once its process is gone.
func TestARequestWhoseSupervisorDiedBecomesAnError(t *testing.T) {
	t.Parallel()
	h := folder(t)
	h.must(t, "RETRY")
	mine, dead := Owner{PID: 1, Host: "here"}, Owner{PID: 2, Host: "here"}
	begin := func(o Owner) int {
		n, err := h.Begin(t.Context(), Interaction{Timestamp: "2026-01-19T14:00:00Z", Request: Request{Prompt: "Try"}}, o)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if a, b := begin(mine), begin(dead); a != 2 || b != 3 {
		t.Errorf("the numbers are %d and %d, want 2 and 3", a, b)
	}
	if info, err := os.Stat(h.pendingFile(2)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the waiting request: %v, %v", info, err)
	}
	runs, err := h.Recover(t.Context(), func(o Owner) bool { return o == mine })
	if err != nil || len(runs) != 1 {
		t.Fatalf("recovered %q, %v; want 1", runs, err)
	}
	if list := h.numbers(t, 2); list[1].Response.Status != Failed || list[1].Request.Prompt != "Try" || list[1].Liza.Error == "" {
		t.Errorf("it became %+v", list[1])
	}
	if err := h.Finish(t.Context(), 2, ran("COMPLETED")); err != nil {
		t.Fatal(err)
	}
	h.numbers(t, 3)
	if waiting, err := h.pending(); err != nil || len(waiting) > 0 {
		t.Errorf("still waiting: %v, %v", waiting, err)
	}
}

func TestOtherFormsOfAHistoryAreReadAndKept(t *testing.T) {
	t.Parallel()
	h := folder(t)
	h.must(t, "RETRY", "COMPLETED")
	data, err := os.ReadFile(h.File())
	if err != nil {
		t.Fatal(err)
	}
	var indented bytes.Buffer
	if err := json.Indent(&indented, data, "", "  "); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(h.File(), indented.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	h.numbers(t, 2)
	h.must(t, "STUCK")
	h.numbers(t, 3)

	if err := os.WriteFile(h.File(), []byte("this is not a history"), 0o600); err != nil {
		t.Fatal(err)
	}
	if list, err := h.Read(); err == nil {
		t.Errorf("read %v from something else", list)
	}
	h.must(t, "COMPLETED")
	h.numbers(t, 1)
	if aside, _ := filepath.Glob(h.File() + ".corrupt-*"); len(aside) != 1 {
		t.Errorf("moved aside: %v", aside)
	}
}

func TestASecretNeverGetsIntoTheHistory(t *testing.T) {
	t.Parallel()
	h := folder(t)
	h.Mask = func(s string) string { return strings.ReplaceAll(s, "hunter22", "[REDACTED:pw]") }
	in := ran("COMPLETED")
	in.Request.Prompt, in.Response.RawResponse, in.Liza.Error = "use hunter22", "used hunter22", "hunter22 failed"
	in.Response.Summary, in.Response.EvidenceFiles, in.Request.Metadata.Cuts = "hunter22", []string{"hunter22.txt"}, []string{"hunter22"}
	n, err := h.Begin(t.Context(), in, Owner{})
	if err != nil {
		t.Fatal(err)
	}
	waiting, err := os.ReadFile(h.pendingFile(n))
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Finish(t.Context(), n, in); err != nil {
		t.Fatal(err)
	}
	done, err := os.ReadFile(h.File())
	if err != nil {
		t.Fatal(err)
	}
	if all := string(waiting) + string(done); strings.Contains(all, "hunter22") || strings.Count(all, "[REDACTED:pw]") != 12 {
		t.Errorf("written: %s", all)
	}
}

func TestManyWritersAtOnceLeaveNoGap(t *testing.T) {
	t.Parallel()
	h := folder(t)
	done := make(chan error)
	for range 8 {
		go func() {
			_, err := h.Append(context.WithoutCancel(t.Context()), ran("RETRY"))
			done <- err
		}()
	}
	for range 8 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	h.numbers(t, 8)
}

func TestAStatusHasItsNameOfTheLogistDocument(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		task     *blackboard.Task
		reviewed bool
		want     string
	}{
		{nil, false, "PENDING"},
		{&blackboard.Task{Status: blackboard.Unclaimed}, false, "PENDING"},
		{&blackboard.Task{Status: blackboard.Claimed}, false, "RUNNING"},
		{&blackboard.Task{Status: blackboard.ReadyForReview}, false, "REVIEW_REQUIRED"},
		{&blackboard.Task{Status: blackboard.ReadyForReview}, true, "REVIEWING"},
		{&blackboard.Task{Status: blackboard.Blocked, Halt: &blackboard.Halt{Kind: "time"}}, false, "HALTED_TIME"},
		{&blackboard.Task{Status: blackboard.Rejected, Hold: &blackboard.Hold{}}, false, "SUSPENDED"},
		{&blackboard.Task{Status: blackboard.Approved, MergeApproval: &blackboard.MergeApproval{Required: true}}, false, "APPROVAL_REQUIRED"},
		{&blackboard.Task{Status: blackboard.Merged, Hold: &blackboard.Hold{}}, false, "SUCCESS"},
	} {
		if got := JobState(c.task, c.reviewed); got != c.want {
			t.Errorf("%+v is %s, want %s", c.task, got, c.want)
		}
	}
}
