package history

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"liza/pkg/base/safefile"
	"liza/pkg/board/blackboard"
)

// UsageLine is one run in usage.jsonl (roles and knowledge 8.2). No decision reads it.
type UsageLine struct {
	At           blackboard.Time    `json:"at"`
	Run          int                `json:"run"`
	Agent        string             `json:"agent"`
	Kind         string             `json:"kind"` // role of the run: coder, messenger …
	Role         string             `json:"role"` // role file, if one was resolved
	Task         string             `json:"task"` // "" for the planner
	Adapter      string             `json:"adapter"`
	Model        string             `json:"model"`
	CostCents    *blackboard.Amount `json:"cost_cents"` // nil: unknown, never zero
	TokensIn     *int               `json:"tokens_in"`  // nil: unknown, as the other two then
	TokensOut    *int               `json:"tokens_out"`
	TokensCached *int               `json:"tokens_cached"`
	Seconds      int                `json:"seconds"`
	Outcome      string             `json:"outcome"`
	ID           string             `json:"id,omitempty"`    // correlation id: also in history, output and journal
	Reask        int                `json:"reask,omitempty"` // how often in a row the program was asked again, with this run; 0: it was not
}

// ReadUsage reads the ledger at path, without incomplete lines of killed writers. A missing file is
// an empty ledger.
func ReadUsage(path string) ([]UsageLine, error) {
	f, err := safefile.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read the usage ledger: %w", err)
	}
	defer f.Close()
	var lines []UsageLine
	scanner := bufio.NewScanner(f)
	scanner.Buffer(nil, 1<<20)
	for scanner.Scan() {
		var l UsageLine
		if json.Unmarshal(scanner.Bytes(), &l) == nil && l.At != "" {
			lines = append(lines, l)
		}
	}
	if err := scanner.Err(); err != nil {
		return nil, fmt.Errorf("cannot read the usage ledger: %w", err)
	}
	return lines, nil
}

// UsageSum is the sum of the usage of several runs.
type UsageSum struct {
	Name             string            `json:"name"`
	Runs             int               `json:"runs"`
	CostCents        blackboard.Amount `json:"cost_cents"`        // of the runs whose cost is known
	UnknownCostRuns  int               `json:"unknown_cost_runs"` // runs with unknown cost
	TokensIn         int               `json:"tokens_in"`         // of the runs whose tokens are known
	TokensOut        int               `json:"tokens_out"`
	TokensCached     int               `json:"tokens_cached"`
	UnknownTokenRuns int               `json:"unknown_token_runs"` // runs with unknown tokens
	Seconds          int               `json:"seconds"`
	Asked            int               `json:"asked_again"` // runs that asked again for an answer that could not be used
}

// MarshalJSON writes null for a figure that no run reported: unknown is never zero (specs/roles-and-knowledge.md#8.2).
func (s UsageSum) MarshalJSON() ([]byte, error) {
	type plain UsageSum
	told := func(n *int, unknown int) *int {
		if s.Runs > 0 && unknown == s.Runs {
			return nil
		}
		return n
	}
	cost := &s.CostCents
	if s.Runs > 0 && s.UnknownCostRuns == s.Runs {
		cost = nil
	}
	return json.Marshal(struct {
		plain
		CostCents    *blackboard.Amount `json:"cost_cents"`
		TokensIn     *int               `json:"tokens_in"`
		TokensOut    *int               `json:"tokens_out"`
		TokensCached *int               `json:"tokens_cached"`
	}{plain(s), cost, told(&s.TokensIn, s.UnknownTokenRuns), told(&s.TokensOut, s.UnknownTokenRuns), told(&s.TokensCached, s.UnknownTokenRuns)})
}

// Add adds the usage of one run.
func (s *UsageSum) Add(l UsageLine) {
	s.Runs++
	if l.CostCents == nil {
		s.UnknownCostRuns++
	} else {
		s.CostCents = s.CostCents.Plus(*l.CostCents)
	}
	if l.TokensIn == nil && l.TokensOut == nil {
		s.UnknownTokenRuns++
	}
	for sum, n := range map[*int]*int{&s.TokensIn: l.TokensIn, &s.TokensOut: l.TokensOut, &s.TokensCached: l.TokensCached} {
		if n != nil {
			*sum += *n
		}
	}
	s.Seconds += l.Seconds
	if l.Reask > 0 {
		s.Asked++
	}
}

// UsageGroups lists the values of the argument by of SumUsage.
var UsageGroups = []string{"task", "role", "agent", "cli", "day"}

// SumUsage sums runs by one of UsageGroups, the most expensive group first, but days by date.
func SumUsage(lines []UsageLine, by string) []UsageSum {
	sums := map[string]*UsageSum{}
	for _, l := range lines {
		name := l.group(by)
		if sums[name] == nil {
			sums[name] = &UsageSum{Name: name}
		}
		sums[name].Add(l)
	}
	var list []UsageSum
	for _, s := range sums {
		list = append(list, *s)
	}
	slices.SortFunc(list, func(a, b UsageSum) int {
		if by == "day" {
			return cmp.Compare(a.Name, b.Name)
		}
		return cmp.Or(cmp.Compare(b.CostCents, a.CostCents), cmp.Compare(b.Seconds, a.Seconds), cmp.Compare(a.Name, b.Name))
	})
	return list
}

func (l UsageLine) group(by string) string {
	switch by {
	case "role":
		return cmp.Or(l.Role, l.Kind)
	case "agent":
		return l.Agent
	case "cli":
		return l.Adapter
	case "day":
		return string(l.At[:min(10, len(l.At))])
	}
	return cmp.Or(l.Task, "(planning)")
}
