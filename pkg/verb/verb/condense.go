package verb

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"liza/pkg/base/prose"
	"liza/pkg/board/blackboard"
	"liza/pkg/board/history"
	"liza/pkg/board/store"
	"liza/pkg/board/transition"
	"liza/pkg/run/exitcmd"
)

// Condense is work for a summarizer (specs/roles-and-knowledge.md#6.3, specs/roles-and-knowledge.md#6.4): facts to make fewer of,
// or entries for the rolling summary.
type Condense struct {
	Facts   bool
	Text    string // what it is given
	facts   []Fact
	entries []transition.RawEntry
}

// After a failed try the next one needs so many more facts or entries; one with facts comes
// after a day in any case.
const (
	moreAfterRefusal = 10
	factsAgainAfter  = 24 * time.Hour
)

// Condensing says what a summarizer has to do now, nil for nothing. Facts beyond twice the
// limit are archived here: that needs no agent.
func (k Knowledge) Condensing(ctx context.Context, s *blackboard.State, refused Refused) (*Condense, error) {
	cfg := k.verbs.Board.Config()
	active := s.ActiveFacts()
	if limit := cfg.Limits.MaxFacts; limit > 0 && len(active) > limit {
		if len(active) > 2*limit {
			if err := k.evict(ctx, 2*limit); err != nil {
				return nil, err
			}
			fewer, err := k.verbs.Board.View(ctx)
			if err != nil {
				return nil, err
			}
			return k.Condensing(ctx, fewer, refused)
		}
		due, err := k.again(refused, s, blackboard.ActionFactsConsolidated, blackboard.ActionConsolidationRefused, len(active), factsAgainAfter)
		if err != nil || due {
			return factsToCondense(active), err
		}
	}
	raw := transition.RawEntries(s)
	n := len(raw) - max(0, cfg.Context.Messages)
	if limit := cfg.Limits.SummarizeThreshold; limit <= 0 || len(raw) <= limit || n <= 0 || !transition.Quiet(s) {
		return nil, nil
	}
	if due, err := k.again(refused, s, blackboard.ActionSummarized, blackboard.ActionSummaryRefused, len(raw), 0); err != nil || !due {
		return nil, err
	}
	job := &Condense{entries: raw[:n]}
	for _, e := range job.entries {
		job.Text += "- " + strings.Join(strings.Fields(e.Text), " ") + "\n"
	}
	return job, nil
}

func factsToCondense(active []*blackboard.Fact) *Condense {
	job := &Condense{Facts: true}
	for _, f := range active {
		job.facts = append(job.facts, factOf(f))
		job.Text += f.ID + ": " + strings.Join(strings.Fields(f.Content), " ") + "\n"
	}
	return job
}

// Refused remembers the last tries between calls of Condensing, by the action of a refusal in the journal. Supervisors ask
// at each change of the board, and read what is new in the journal.
type Refused map[blackboard.Action]tried

type tried struct {
	last blackboard.Entry // good or refused
	upTo int              // the revision up to which the journal was read
}

// again reports whether a try may be made now that there are n: the last one was good, or it
// was refused when there were fewer, or long ago.
func (k Knowledge) again(known Refused, s *blackboard.State, good, refused blackboard.Action, n int, after time.Duration) (bool, error) {
	try, j := known[refused], history.Journal{Path: k.verbs.Board.Project.Journal()}
	for _, action := range []blackboard.Action{refused, good} {
		if s.Revision == try.upTo {
			break
		}
		found, err := j.Read(history.Filter{Action: action, Last: 1, AfterRev: max(try.upTo, try.last.Rev)})
		if err != nil {
			return false, err
		}
		if len(found) > 0 {
			try.last = found[0]
		}
	}
	try.upTo = s.Revision
	known[refused] = try
	before, _ := try.last.Extra["n"].(int)
	at, ok := try.last.Timestamp.At()
	return try.last.Action != refused || n >= before+moreAfterRefusal || after > 0 && ok && k.verbs.Board.Now().Sub(at) >= after, nil
}

func (k Knowledge) evict(ctx context.Context, keep int) error {
	var gone []*blackboard.Fact
	ahead := func([]store.Gone) error { return k.archiveFacts(gone, "used least recently") }
	return k.verbs.Board.UpdateAhead(ctx, "facts", ahead, func(s *blackboard.State, a transition.Actor) error {
		gone = transition.Evict(s, keep, a, k.verbs.Board.Now())
		return nil
	})
}

// Condensed applies the answer of a summarizer. One that breaks a rule changes nothing, and
// the journal says which one; refused names it.
func (k Knowledge) Condensed(ctx context.Context, job *Condense, answer exitcmd.Answer) (refused string, err error) {
	exit := answer.Exit
	switch {
	case exit == nil:
		return k.notCondensed(ctx, job, answer.Problem.Error())
	case exit.Action != exitcmd.Completed:
		return k.notCondensed(ctx, job, "the summarizer answered "+exit.Action)
	case job.Facts:
		return k.consolidate(ctx, job, exit)
	case strings.TrimSpace(exit.SummaryText) == "":
		return k.notCondensed(ctx, job, "the summary is empty")
	}
	err = k.verbs.Board.Update(ctx, "summary", func(s *blackboard.State, a transition.Actor) error {
		raw := transition.RawEntries(s)
		same := len(raw) >= len(job.entries) && slices.EqualFunc(raw[:len(job.entries)], job.entries, func(x, y transition.RawEntry) bool { return x.At.Equal(y.At) && x.Text == y.Text })
		if !same {
			return errChangedMeanwhile
		}
		transition.Summarize(s, exit.SummaryText, job.entries, a, k.verbs.Board.Now())
		return nil
	})
	if errors.Is(err, errChangedMeanwhile) {
		return k.notCondensed(ctx, job, "the entries are no longer those that were sent")
	}
	return "", err
}

var errChangedMeanwhile = errors.New("changed meanwhile")

// CannotCondense records that the summarizer could not be run, or did not end well.
func (k Knowledge) CannotCondense(ctx context.Context, job *Condense, why string) error {
	_, err := k.notCondensed(ctx, job, why)
	return err
}

func (k Knowledge) notCondensed(ctx context.Context, job *Condense, why string) (string, error) {
	action, n := blackboard.ActionSummaryRefused, len(job.entries)+max(0, k.verbs.Board.Config().Context.Messages)
	if job.Facts {
		action, n = blackboard.ActionConsolidationRefused, len(job.facts)
	}
	return why, k.verbs.Board.Update(ctx, "summarizer", func(s *blackboard.State, a transition.Actor) error {
		s.Record(blackboard.Entry{Timestamp: blackboard.TimeOf(k.verbs.Board.Now()), Agent: a.ID, Action: action, Detail: prose.FirstLine(why), Extra: map[string]any{"level": "warning", "n": n}})
		return nil
	})
}

// consolidation is the answer of a summarizer about facts.
type consolidation struct {
	Result []transition.FactResult `json:"result"`
	Delete []string                `json:"delete"`
}

func (k Knowledge) consolidate(ctx context.Context, job *Condense, exit *exitcmd.Exit) (refused string, err error) {
	answer, problem := readConsolidation(exit.Facts)
	if problem == "" {
		s, err := k.verbs.Board.View(ctx)
		if err != nil {
			return "", err
		}
		problem = k.consolidationProblem(s, job, answer)
	}
	if problem != "" {
		return k.notCondensed(ctx, job, problem)
	}
	var gone []*blackboard.Fact
	ahead := func([]store.Gone) error { return k.archiveFacts(gone, "consolidated") }
	err = k.verbs.Board.UpdateAhead(ctx, "facts", ahead, func(s *blackboard.State, a transition.Actor) error {
		if !slices.EqualFunc(s.ActiveFacts(), job.facts, func(f *blackboard.Fact, sent Fact) bool { return f.ID == sent.ID && f.Content == sent.Content }) {
			return errChangedMeanwhile
		}
		gone = transition.Consolidate(s, answer.Result, a, k.verbs.Board.Now())
		return nil
	})
	if errors.Is(err, errChangedMeanwhile) {
		return k.notCondensed(ctx, job, "the facts are no longer those that were sent")
	}
	return "", err
}

func readConsolidation(payload any) (c consolidation, problem string) {
	data, err := json.Marshal(payload)
	if err == nil {
		dec := json.NewDecoder(strings.NewReader(string(data)))
		dec.DisallowUnknownFields()
		err = dec.Decode(&c)
	}
	if err != nil {
		return c, "facts cannot be read: " + err.Error()
	}
	return c, ""
}

// consolidationProblem is the first rule of specs/roles-and-knowledge.md#6.3 that an answer breaks, ""
// when it breaks none.
func (k Knowledge) consolidationProblem(s *blackboard.State, job *Condense, c consolidation) string {
	sent, times := map[string]string{}, map[string]int{}
	for _, f := range job.facts {
		sent[f.ID] = f.Content
	}
	named := slices.Clone(c.Delete)
	for i, r := range c.Result {
		if len(r.From) == 0 {
			return fmt.Sprintf("result %d comes from no fact", i+1)
		}
		named = append(named, r.From...)
	}
	for _, id := range named {
		if times[id]++; times[id] > 1 {
			return id + " is there twice"
		}
		if _, ok := sent[id]; !ok {
			return id + " is not an active fact"
		}
	}
	for _, f := range job.facts {
		if times[f.ID] == 0 {
			return f.ID + " is missing"
		}
	}
	switch {
	case len(c.Result) == 0:
		return "the result is empty"
	case len(c.Result) >= len(job.facts):
		return "there are not fewer facts than before"
	}
	for i, r := range c.Result {
		content := strings.TrimSpace(r.Content)
		if len(r.From) == 1 && content == strings.TrimSpace(sent[r.From[0]]) {
			continue
		}
		if why := k.noFact(s, content); why != "" {
			return fmt.Sprintf("result %d is not a fact: %s", i+1, why)
		}
	}
	return ""
}
