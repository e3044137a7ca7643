package transition

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"liza/pkg/blackboard"
)

// MayKnow refuses who may not add facts: people and planners may (specs/roles-and-knowledge.md#6.1).
func MayKnow(s *blackboard.State, a Actor, verb string, planner bool, now time.Time) error {
	by, err := identify(s, a, now)
	switch {
	case err != nil:
		return err
	case by.party&ByHuman != 0, planner && by.party&(ByPlanner|SPlanner) != 0:
		admit(s, a, by, now)
		return nil
	case planner:
		return refuse("G03", ExitRefused, "liza facts list", "%s may not %s; planner or human may", article(a, by.party), verb)
	}
	return refuse("G03", ExitRefused, "liza facts list", "%s may not %s; human may", article(a, by.party), verb)
}

// Learn puts a fact on the board whose content was judged before. Its number is higher than
// all on the board and than archived, the highest one in the archive.
func Learn(s *blackboard.State, f blackboard.Fact, archived int, a Actor, now time.Time) *blackboard.Fact {
	for _, x := range s.Facts {
		archived = max(archived, x.Number())
	}
	f.ID, f.Created, f.By = "fact-"+strconv.Itoa(archived+1), blackboard.TimeOf(now), a.name()
	s.Facts = append(s.Facts, &f)
	s.Record(blackboard.Entry{Timestamp: f.Created, Agent: a.ID, Action: blackboard.ActionFactLearned, Task: f.Task, Detail: oneLine(f.ID + " (" + f.Status + "): " + f.Content), Extra: via(a)})
	return &f
}

// UseFacts notes that a prompt had these facts.
func UseFacts(s *blackboard.State, ids []string, now time.Time) {
	for _, f := range s.Facts {
		if slices.Contains(ids, f.ID) {
			f.LastUsed = blackboard.TimeOf(now)
			f.Uses++
		}
	}
}

// ApproveFacts lets prompts have facts that waited for a person. Active ones stay so.
func ApproveFacts(s *blackboard.State, ids []string, a Actor, now time.Time) error {
	list, err := factsOf(s, ids)
	if err != nil {
		return err
	}
	var approved []string
	for _, f := range list {
		if !f.Active() {
			f.Status = blackboard.FactActive
			approved = append(approved, f.ID)
		}
	}
	if len(approved) == 0 {
		return ErrAlreadyDone
	}
	s.Record(blackboard.Entry{Timestamp: blackboard.TimeOf(now), Agent: a.ID, Action: blackboard.ActionFactApproved, Detail: oneLine(strings.Join(approved, ", ")), Extra: via(a)})
	return nil
}

// RemoveFacts takes facts off the board, all or none, and returns them for the archive.
func RemoveFacts(s *blackboard.State, ids []string, why string, a Actor, now time.Time) ([]*blackboard.Fact, error) {
	list, err := factsOf(s, ids)
	if err != nil {
		return nil, err
	}
	s.Facts = slices.DeleteFunc(s.Facts, func(f *blackboard.Fact) bool { return slices.Contains(list, f) })
	s.Record(blackboard.Entry{Timestamp: blackboard.TimeOf(now), Agent: a.ID, Action: blackboard.ActionFactArchived, Detail: oneLine(strings.Join(ids, ", ") + ": " + why), Extra: via(a)})
	return list, nil
}

func factsOf(s *blackboard.State, ids []string) ([]*blackboard.Fact, error) {
	var list []*blackboard.Fact
	for _, id := range ids {
		var known []string
		var found *blackboard.Fact
		for _, f := range s.Facts {
			known = append(known, f.ID)
			if f.ID == id {
				found = f
			}
		}
		if found == nil {
			hint := ""
			if near := blackboard.Nearest(id, known); near != "" {
				hint = "; did you mean '" + near + "'?"
			}
			return nil, refuse("G05", ExitRefused, "liza facts list --all", "no fact '%s'%s", id, hint)
		}
		if !slices.Contains(list, found) {
			list = append(list, found)
		}
	}
	return list, nil
}

// FactResult is one fact that a summarizer made of several.
type FactResult struct {
	Content string   `json:"content"`
	From    []string `json:"from"`
}

// Consolidate puts the results in the place of the active facts, which they and deleted
// name exactly once; the caller has checked that. It returns the facts as they were that
// are on the board no more, or with another text (specs/roles-and-knowledge.md#6.3).
func Consolidate(s *blackboard.State, results []FactResult, a Actor, now time.Time) (gone []*blackboard.Fact) {
	old := map[string]*blackboard.Fact{}
	for _, f := range s.ActiveFacts() {
		old[f.ID] = f
	}
	kept := map[string]*blackboard.Fact{}
	for _, r := range results {
		f := merged(r, old)
		kept[f.ID] = f
	}
	var list []*blackboard.Fact
	for _, f := range s.Facts {
		switch now := kept[f.ID]; {
		case !f.Active():
			list = append(list, f)
		case now == nil:
			gone = append(gone, f)
		default:
			if now.Content != f.Content {
				gone = append(gone, f)
			}
			list = append(list, now)
		}
	}
	before := len(old)
	s.Facts = list
	s.Record(blackboard.Entry{Timestamp: blackboard.TimeOf(now), Agent: a.ID, Action: blackboard.ActionFactsConsolidated, Detail: strconv.Itoa(before) + " facts became " + strconv.Itoa(len(results))})
	return gone
}

// merged is the fact that a result makes of its sources: the lowest id, the oldest time,
// all uses.
func merged(r FactResult, old map[string]*blackboard.Fact) *blackboard.Fact {
	first := old[r.From[0]]
	for _, id := range r.From {
		if old[id].Number() < first.Number() {
			first = old[id]
		}
	}
	f := *first
	f.Content, f.From, f.Uses = strings.TrimSpace(r.Content), nil, 0
	same := false
	for _, id := range r.From {
		x := old[id]
		same = same || x.Content == f.Content
		f.Uses += x.Uses
		f.Created, f.LastUsed = earlier(f.Created, x.Created), later(f.LastUsed, x.LastUsed)
		if id != f.ID {
			f.From = append(f.From, id)
		}
	}
	if !same {
		f.Source = "summarizer"
	}
	return &f
}

func earlier(a, b blackboard.Time) blackboard.Time {
	x, okA := a.At()
	y, okB := b.At()
	if !okA || okB && y.Before(x) {
		return b
	}
	return a
}

func later(a, b blackboard.Time) blackboard.Time {
	x, okA := a.At()
	y, okB := b.At()
	if !okA || okB && y.After(x) {
		return b
	}
	return a
}

// Evict takes the least recently used active facts off the board until keep are left
// (specs/roles-and-knowledge.md#6.3).
func Evict(s *blackboard.State, keep int, a Actor, now time.Time) []*blackboard.Fact {
	list := s.ActiveFacts()
	if len(list) <= keep {
		return nil
	}
	slices.SortStableFunc(list, func(x, y *blackboard.Fact) int {
		if c := usedAt(x).Compare(usedAt(y)); c != 0 {
			return c
		}
		return x.Number() - y.Number()
	})
	gone := list[:len(list)-keep]
	s.Facts = slices.DeleteFunc(s.Facts, func(f *blackboard.Fact) bool { return slices.Contains(gone, f) })
	s.Record(blackboard.Entry{Timestamp: blackboard.TimeOf(now), Agent: a.ID, Action: blackboard.ActionFactArchived, Detail: strconv.Itoa(len(gone)) + " facts that were used least recently"})
	return gone
}

// usedAt is when the fact was last used; one that never was counts from its creation.
func usedAt(f *blackboard.Fact) time.Time {
	if at, ok := f.LastUsed.At(); ok {
		return at
	}
	at, _ := f.Created.At()
	return at
}
