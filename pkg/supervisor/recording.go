package supervisor

import (
	"cmp"
	"slices"
	"sync"

	"liza/pkg/agent"
	"liza/pkg/blackboard"
	"liza/pkg/exitcmd"
	"liza/pkg/history"
	"liza/pkg/outcome"
)

// recording is a run on its way into the history of its task (specs/roles-and-knowledge.md#7). A
// history that cannot be written is told and stops nothing; a nil recording records nothing.
type recording struct {
	log    history.Interactions
	in     history.Interaction
	begun  int // number of the request on disk; 0: it could not be written
	task   string
	result *agent.Result
	out    *outcome.Outcome
	failed string // why the program could not be started
	state  string // of the task afterwards, as the Logist document names it

	mu    sync.Mutex
	hosts []string // that were refused; the proxy tells while the run goes on
}

// unreached notes a host that was refused to the run.
func (r *recording) unreached(host string) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.hosts = append(r.hosts, host)
}

// sequence is the number of the run, by which its prompt is filed; 0 when it has none.
func (r *recording) sequence() int {
	if r == nil {
		return 0
	}
	return r.begun
}

// answer fills in the response.
func (r *recording) answer(exit *exitcmd.Exit) {
	in := &r.in
	r.mu.Lock()
	in.Liza.RefusedHosts = slices.Clone(r.hosts)
	r.mu.Unlock()
	in.Response.Status, in.Liza.Error = history.Failed, r.failed
	if r.result == nil {
		in.Liza.Error = cmp.Or(r.failed, "the program was not started")
	}
	if res := r.result; res != nil {
		in.Response.RawResponse = exitcmd.Text(res.Final)
		in.Liza.Outcome, in.Liza.Seconds, in.Liza.ExitCode = string(res.Outcome), int(res.Seconds+0.5), res.ExitCode
		in.Liza.TokensIn, in.Liza.TokensOut = res.Usage.TokensIn, res.Usage.TokensOut
		if res.Usage.CostKnown {
			cents := blackboard.AmountOf(res.Usage.CostCents)
			in.Liza.CostCents = &cents
		}
		in.Liza.Error = cmp.Or(in.Liza.Error, res.Error)
		if res.Outcome == agent.TimedOut || res.Outcome == agent.Stalled {
			in.Response.Status = history.TimedOut
		}
		if exit != nil {
			in.Response.Actions, in.Response.EvidenceFiles, in.Response.Summary = []string{exit.Action}, exit.EvidenceFiles, exit.Summary
		}
	}
	if r.out == nil {
		return
	}
	in.Liza.Effect = string(r.out.Effect)
	in.Liza.Error = cmp.Or(r.out.Problem, in.Liza.Error)
	if r.result != nil && r.result.Question != nil {
		return // what was applied is the question, not an answer of the program
	}
	if r.out.Effect != outcome.Reask && (r.out.Effect != outcome.Dropped || r.out.Action != "") && in.Response.Status == history.Failed {
		in.Response.Status = history.Success
	}
}
