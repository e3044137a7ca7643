package blackboard

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// derived has the figures of specs/protocol.md#12 that are computed on demand; Sprint.Metrics has the others. Times are in
// seconds; nil: no task has one.
type derived struct {
	BlockedCount           int   `json:"blocked_count"`
	IntegrationFailedCount int   `json:"integration_failed_count"`
	HandoffCount           int   `json:"handoff_count"`
	RunFailedCount         int   `json:"run_failed_count"`
	LeadTimeMedian         *int  `json:"lead_time_median_seconds"`
	LeadTimeP90            *int  `json:"lead_time_p90_seconds"`
	WorkTime               int   `json:"work_time_seconds"`
	ReviewTime             int   `json:"review_time_seconds"`
	WaitTime               int   `json:"wait_time_seconds"`
	Usage                  Usage `json:"-"`
}

// Times are the durations of one task, in seconds. Only MERGED tasks have Lead and Wait.
type Times struct {
	Lead, Wait   *int
	Work, Review int
}

// Times computes lead_time, work_time, review_time and wait_time of specs/protocol.md#12.
func (t *Task) Times(now time.Time) Times {
	var x Times
	var merged time.Time
	stays := t.Stays(now)
	for _, s := range stays {
		switch seconds := int(s.To.Sub(s.From) / time.Second); {
		case s.Status == Claimed:
			x.Work += seconds
		case s.Status == ReadyForReview && s.Reviewer != "":
			x.Review += seconds
		}
	}
	from := t.finalized()
	for h := range t.Backwards() {
		if at, ok := h.Time.At(); ok && h.Event == HistoryMerged {
			merged = at
			break
		}
	}
	if t.Status == Merged && !from.IsZero() && !merged.Before(from) {
		lead := int(merged.Sub(from) / time.Second)
		wait := max(0, lead-x.Work-x.Review)
		x.Lead, x.Wait = &lead, &wait
	}
	return x
}

// finalized is when the task could first be claimed.
func (t *Task) finalized() time.Time {
	for _, h := range t.History {
		if at, ok := h.Time.At(); ok && h.Event == HistoryFinalized {
			return at
		}
	}
	at, _ := t.Created.At()
	return at
}

// SprintTasks returns the tasks of the current sprint: those on the board, and those of archived.
func (s *State) SprintTasks(archived []*Task) []*Task {
	var list []*Task
	now := s.ArchivedNow()
	for _, t := range archived {
		if _, ok := now[t.ID]; ok {
			list = append(list, t)
		}
	}
	in := s.InSprint()
	for t := range s.Tasks() {
		if in(t) {
			list = append(list, t)
		}
	}
	return list
}

// Derive computes the figures of tasks, from the sprint; journal has the sprint's entries.
func (s *State) Derive(tasks []*Task, journal []Entry, now time.Time) derived {
	var d derived
	var leads []int
	started := time.Time{}
	if s.Sprint != nil && !s.firstSprint() {
		started, _ = s.SprintTimes().Started.At()
	}
	for _, t := range tasks {
		for _, h := range t.History {
			if at, ok := h.Time.At(); ok && at.Before(started) {
				continue // it counted in the sprint before
			}
			switch h.Event {
			case HistoryBlocked:
				d.BlockedCount++
			case HistoryIntegrationFailed:
				d.IntegrationFailedCount++
			case HistoryHandoff:
				d.HandoffCount++
			}
		}
		x := t.Times(now)
		d.WorkTime += x.Work
		d.ReviewTime += x.Review
		if x.Lead != nil {
			leads = append(leads, *x.Lead)
			d.WaitTime += *x.Wait
		}
	}
	for _, e := range journal {
		if e.Action == ActionRunFailed {
			d.RunFailedCount++
		}
	}
	slices.Sort(leads)
	d.LeadTimeMedian, d.LeadTimeP90 = median(leads), percentile(leads, 90)
	if s.Usage != nil {
		d.Usage = *s.Usage
	}
	return d
}

// median of sorted numbers; between two it is their mean, rounded down.
func median(sorted []int) *int {
	n := len(sorted)
	if n == 0 {
		return nil
	}
	m := (sorted[(n-1)/2] + sorted[n/2]) / 2
	return &m
}

// percentile is the smallest of the sorted numbers that p percent of them do not exceed.
func percentile(sorted []int, p int) *int {
	if len(sorted) == 0 {
		return nil
	}
	x := sorted[(len(sorted)*p+99)/100-1]
	return &x
}

// A stay is a period that a task spent in one status. Reviewer is its reviewer then.
type stay struct {
	Status   Status
	Reviewer string
	From, To time.Time
}

// Stays returns the periods of the task's statuses, by its history; the last one lasts until until, unless its status is
// terminal.
func (t *Task) Stays(until time.Time) []stay {
	var stays []stay
	now := stay{}
	fixing := false
	for _, h := range t.History {
		at, ok := h.Time.At()
		next := now
		switch {
		case !ok:
			continue
		case h.Event == HistoryReviewClaimed:
			next.Reviewer = h.Agent
		case h.Event == HistoryReviewClaimReleased, h.Event == HistoryReleased && h.What == "review",
			h.Event == HistoryLeaseExpired && now.Status == ReadyForReview:
			next.Reviewer = ""
		default:
			if to := h.LeadsTo(); len(to) > 0 {
				next.Status, next.Reviewer = to[0], ""
				if fixing && slices.Contains(to, IntegrationFailed) {
					next.Status = IntegrationFailed
				}
			}
		}
		if IsClaimEvent(h.Event) {
			fixing = h.Event == HistoryClaimedForFix || fixing && h.Event == HistoryClaimed
		}
		if next.Status == now.Status && next.Reviewer == now.Reviewer {
			continue
		}
		if now.Status != "" && at.After(now.From) {
			now.To = at
			stays = append(stays, now)
		}
		next.From = at
		now = next
	}
	if now.Status != "" && !now.Status.Terminal() && until.After(now.From) {
		now.To = until
		stays = append(stays, now)
	}
	return stays
}

// Spent returns how long the task was in each status, in the order of its life: "CLAIMED 12m".
func (t *Task) Spent(until time.Time) string {
	sum := map[Status]time.Duration{}
	for _, x := range t.Stays(until) {
		sum[x.Status] += x.To.Sub(x.From)
	}
	var parts []string
	for _, st := range Statuses {
		if d := sum[st]; d > 0 {
			parts = append(parts, fmt.Sprintf("%s %s", st, shortDuration(d)))
		}
	}
	return strings.Join(parts, ", ")
}

// shortDuration is a time for people: 45s, 12m, 3h 20m, 2d 4h.
func shortDuration(d time.Duration) string {
	m := int(d / time.Minute)
	switch {
	case d < time.Minute:
		return strconv.Itoa(int(d/time.Second)) + "s"
	case m < 60:
		return strconv.Itoa(m) + "m"
	case m < 24*60 && m%60 == 0:
		return strconv.Itoa(m/60) + "h"
	case m < 24*60:
		return strconv.Itoa(m/60) + "h " + strconv.Itoa(m%60) + "m"
	case m/60%24 == 0:
		return strconv.Itoa(m/60/24) + "d"
	}
	return strconv.Itoa(m/60/24) + "d " + strconv.Itoa(m/60%24) + "h"
}

// Nearest returns the known word most similar to word, for "did you mean": the first of several, or "" if none is similar
// enough. Case, blanks and hyphens do not count.
func Nearest(word string, known []string) string {
	folded := foldWord(word)
	best, least := "", max(2, len([]rune(folded))/2)+1
	for _, candidate := range known {
		if d := distance(folded, foldWord(candidate)); d < least {
			best, least = candidate, d
		}
	}
	return best
}

var wordFolder = strings.NewReplacer("-", "_", " ", "_")

func foldWord(word string) string {
	return wordFolder.Replace(strings.ToLower(strings.TrimSpace(word)))
}

// distance is the Levenshtein distance in runes.
func distance(a, b string) int {
	x, y := []rune(a), []rune(b)
	row := make([]int, len(y)+1)
	for j := range row {
		row[j] = j
	}
	for i := range x {
		diagonal := row[0]
		row[0] = i + 1
		for j := range y {
			above := row[j+1]
			change := diagonal
			if x[i] != y[j] {
				change++
			}
			row[j+1] = min(above+1, row[j]+1, change)
			diagonal = above
		}
	}
	return row[len(y)]
}

// NearestHint returns the end of a message: "; nearest: Y", or "".
func NearestHint(word string, known []string) string {
	if near := Nearest(word, known); near != "" {
		return "; nearest: " + near
	}
	return ""
}

// SandboxLevels are the levels of containment of a run, the weakest first (specs/security.md).
var SandboxLevels = []string{"open", "wrap", "partial", "closed"}

// WeakestSandbox returns the weakest level among the runs of the current claim, or "" if none is recorded, as for work by
// hand.
func (t *Task) WeakestSandbox() string {
	weakest := len(SandboxLevels)
	for _, a := range t.Attempts {
		if a.ClaimSeq != t.ClaimSeq {
			continue
		}
		if i := slices.Index(SandboxLevels, a.Sandbox); i >= 0 && i < weakest {
			weakest = i
		}
	}
	if weakest == len(SandboxLevels) {
		return ""
	}
	return SandboxLevels[weakest]
}
