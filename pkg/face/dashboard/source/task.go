package source

import (
	"cmp"
	"context"
	"strconv"
	"strings"

	"liza/pkg/base/prose"
	"liza/pkg/board/blackboard"
	"liza/pkg/board/history"
	"liza/pkg/face/dashboard"
)

// find is a task of the board or of the archive, nil when there is none.
func (s *Source) find(ctx context.Context, id string) (*blackboard.State, *blackboard.Task, error) {
	st, err := s.State(ctx)
	if st == nil {
		return nil, nil, err
	}
	if t := st.Find(id); t != nil {
		return st, t, nil
	}
	if !blackboard.ValidTaskID(id) {
		return st, nil, nil
	}
	t, _, err := s.Service.Board.Histories().ArchivedTask(id)
	return st, t, err
}

// Fields are those of a task as the board has them, also of an archived one; nil when there is none.
func (s *Source) Fields(ctx context.Context, id string) (any, error) {
	_, t, err := s.find(ctx, id)
	if t == nil {
		return nil, err
	}
	return dashboard.Plain(t), nil
}

// Task is the page of a task, also of an archived one; nil when there is none.
func (s *Source) Task(ctx context.Context, id string) (*dashboard.TaskPage, error) {
	st, t, err := s.find(ctx, id)
	if t == nil {
		return nil, err
	}
	p := dashboard.BuildTask(st, t, s.Facts(st))
	if text, err := s.Service.Board.SpecText(t.SpecRef); err == nil && t.SpecRef != "" {
		p.Spec = s.Service.Board.Mask(strings.TrimSpace(prose.Section(text, t.SpecRef)))
	}
	return &p, nil
}

// Attempts are the runs for a task, the oldest first: those that the board has, or with full, all that are recorded, with
// what their programs were asked and answered. Secrets are masked in what is recorded.
func (s *Source) Attempts(ctx context.Context, id string, full bool) ([]dashboard.Attempt, error) {
	_, t, err := s.find(ctx, id)
	if t == nil {
		return []dashboard.Attempt{}, err
	}
	if !full {
		return dashboard.AttemptsOf(t), nil
	}
	recorded, err := s.Service.Board.Histories().Interactions(id).Read()
	if err != nil {
		return nil, err
	}
	return joined(t, recorded), nil
}

// joined adds to what is recorded of the runs of a task what the board says of them: what came of them, and their numbers.
func joined(t *blackboard.Task, recorded []history.Interaction) []dashboard.Attempt {
	list := []dashboard.Attempt{}
	for _, in := range recorded {
		if in.Liza.Event != "" {
			continue // something that was done between two runs
		}
		m := in.Request.Metadata
		list = append(list, dashboard.Attempt{Seq: in.Sequence, Agent: m.Agent, Kind: m.Kind, CLI: m.Adapter, Outcome: cmp.Or(in.Liza.Outcome, in.Response.Status), Summary: in.Response.Summary,
			Ended: in.Timestamp, Seconds: in.Liza.Seconds, CostCents: in.Liza.CostCents, Commit: in.Liza.CommitAfter, Prompt: in.Request.Prompt, Answer: in.Response.RawResponse})
	}
	onBoard := dashboard.AttemptsOf(t)
	number, next := len(onBoard)-1, 0
	for i := len(list) - 1; i >= 0; i-- {
		if number >= 0 && list[i].Agent == t.Attempts[number].Agent && runNumber(recorded, list[i].Seq) == t.Attempts[number].Run {
			b := onBoard[number]
			b.Prompt, b.Answer = list[i].Prompt, list[i].Answer
			list[i] = b
			number--
		} else if next > 1 { // what has left the board is counted on backwards: the history also numbers what is not a run
			list[i].Seq = next - 1
		}
		next = list[i].Seq
	}
	return list
}

// runNumber is the last part of the id of a run: its number among those of its registration.
func runNumber(recorded []history.Interaction, sequence int) int {
	for _, in := range recorded {
		if in.Sequence == sequence {
			n, _ := strconv.Atoi(in.Liza.ID[strings.LastIndexByte(in.Liza.ID, '-')+1:])
			return n
		}
	}
	return 0
}
