package verb

import (
	"context"
	"fmt"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/store"
)

// Sealed says what Seal did.
type Sealed struct {
	Revision int      `json:"revision"`
	Tasks    []string `json:"tasks"`             // that have a new seal
	Journal  string   `json:"journal,omitempty"` // what was wrong with the journal first, and is accepted
}

// Seal gives every approval and merge on the board a seal, also those that no verb made: the
// person answers for them. It helps where the key of a project is lost. A journal that is not
// what Liza wrote is accepted as it stands as well.
func (v *Service) Seal(ctx context.Context, reason string) (Sealed, error) {
	if err := v.Board.Clean(field("--reason", &reason)); err != nil {
		return Sealed{}, err
	}
	if err := v.Board.AdminOnly("seal approvals"); err != nil {
		return Sealed{}, err
	}
	if err := v.Board.PersonOnly(ctx, "seal approvals"); err != nil {
		return Sealed{}, err
	}
	broken, err := v.brokenJournal(ctx)
	if err != nil {
		return Sealed{}, err
	}
	before := map[string]string{}
	err = v.Board.Store.Update(ctx, store.Op{Name: "seal", Agent: blackboard.Human, Adopt: true}, func(s *blackboard.State) error {
		for t := range s.Tasks() {
			if t.Seal != nil {
				before[t.ID] = t.Seal.MAC
			}
		}
		s.Record(blackboard.Entry{Timestamp: blackboard.TimeOf(v.Board.Now()), Agent: blackboard.Human, Action: blackboard.ActionSealed, Detail: reason})
		return nil
	})
	if err != nil {
		return Sealed{}, err
	}
	s, err := v.Board.View(ctx)
	if err != nil {
		return Sealed{}, err
	}
	done := Sealed{Revision: s.Revision, Tasks: []string{}, Journal: broken}
	for t := range s.Tasks() {
		if t.Seal != nil && t.Seal.MAC != before[t.ID] {
			done.Tasks = append(done.Tasks, t.ID)
		}
	}
	return done, nil
}

// brokenJournal says where the journal is not what Liza wrote first, "" when it is.
func (v *Service) brokenJournal(ctx context.Context) (string, error) {
	j, ok := v.Board.Store.(store.Journaled)
	if !ok {
		return "", nil
	}
	b, err := j.JournalBroken(ctx)
	if err != nil || b == nil || b.Unproven {
		return "", err
	}
	return fmt.Sprintf("%s line %d: %s", b.File, b.Line, b.Message), nil
}
