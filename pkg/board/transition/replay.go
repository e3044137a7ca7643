package transition

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"liza/pkg/board/blackboard"
)

// Tests follow the journals that they leave with Replay. No program does.

// A Departure is where a journal leaves the transition table: an entry that no row allows in its place, or, with an empty
// Entry, a task that is not what its entries lead to (specs/protocol.md#3.1).
type Departure struct {
	Entry   blackboard.Entry
	Task    string
	Message string // one sentence, which names the entry
}

// place is where a task may be after some entries: its status, who has it, and what the step that led there writes besides.
type place struct {
	status          blackboard.Status // "": there is no such task
	coder, reviewer string            // anyone: not known
	rest            string            // actions, each with a space behind it
	who             Party             // who may write them
}

const anyone = "*"

type whereabouts map[place]bool

// anywhere is where a task may be of which nothing is known. All share it: it is only read.
var anywhere = sync.OnceValue(func() whereabouts {
	all := whereabouts{{}: true}
	for _, s := range blackboard.Statuses {
		all[place{status: s, coder: anyone, reviewer: anyone}] = true
	}
	return all
})

func (p whereabouts) has(s blackboard.Status) bool {
	for at := range p {
		if at.status == s && at.rest == "" {
			return true
		}
	}
	return false
}

// words says where a task may be; in the middle of a step only if nothing else is possible.
func (p whereabouts) words() string {
	var whole, half []string
	for at := range p {
		name := string(at.status)
		if name == "" {
			name = "not on the board"
		}
		if at.rest == "" {
			whole = append(whole, name)
		} else {
			half = append(half, name+", before "+strings.TrimSuffix(at.rest, " "))
		}
	}
	if len(whole) == 0 {
		whole = half
	}
	slices.Sort(whole)
	return blackboard.OrList(slices.Compact(whole))
}

// reckoning is where a task may be since a revision.
type reckoning struct {
	rev int
	may whereabouts
}

// every is the key of the tasks that no entry has named yet.
const every = ""

type replay struct {
	at    map[string][]reckoning // by task, the last one is now
	last  blackboard.Entry       // with a revision
	wrote map[string]bool        // the entries of the last revision, for those that are there twice
	found []Departure
}

// Replay follows a journal, the oldest entry first, through the transition table, and returns where it leaves it. tasks are those on
// the board and in the archive, nil when they are not to be compared; whole: there are no others.
//
// A board that Liza made has no task before its first entry; tasks of other journals may begin anywhere. After an edit by hand the
// named tasks may be gone, and tasks that were not there may be anything; a status that is edited is a verb with an entry of its own.
// A restored revision has what its entries led to. Where a person vouched for the journal, it begins again.
func Replay(entries []blackboard.Entry, tasks map[string]blackboard.Status, whole bool) []Departure {
	r := &replay{at: map[string][]reckoning{}}
	r.anything(0)
	for i, e := range entries {
		if e.Rev == 0 {
			continue // of Liza v1, or a person's
		}
		if e.Action == blackboard.ActionInitialized && i == 0 {
			r.at[every] = []reckoning{{e.Rev, whereabouts{{}: true}}}
		}
		r.follow(e)
		r.last = e
	}
	if tasks != nil {
		r.compare(tasks, whole)
	}
	return r.found
}

func (r *replay) now(task string) reckoning {
	list := r.at[task]
	if len(list) == 0 {
		list = r.at[every]
	}
	return list[len(list)-1]
}

func (r *replay) put(task string, rev int, may whereabouts) {
	r.at[task] = append(r.at[task], reckoning{rev, may})
}

// anything lets all tasks be anything.
func (r *replay) anything(rev int) {
	r.put(every, rev, anywhere())
	for task := range r.at {
		r.put(task, rev, anywhere())
	}
}

// asOf is where a task was at a revision.
func (r *replay) asOf(task string, rev int) whereabouts {
	for _, list := range [][]reckoning{r.at[task], r.at[every]} {
		for _, s := range slices.Backward(list) {
			if s.rev <= rev {
				return s.may
			}
		}
	}
	return anywhere()
}

func (r *replay) follow(e blackboard.Entry) {
	if e.Rev != r.last.Rev || r.wrote == nil {
		r.wrote = map[string]bool{}
	}
	if e.Rev < r.last.Rev {
		r.departs(e, fmt.Sprintf("it is behind revision %d", r.last.Rev))
	}
	switch e.Action {
	case blackboard.ActionEditedByHand:
		r.edited(e)
	case blackboard.ActionRestored:
		r.restored(e)
	case blackboard.ActionSealed:
		if e.Agent == blackboard.Human {
			r.found = nil
			r.anything(e.Rev)
		}
	case blackboard.ActionJournalChained:
		r.anything(e.Rev)
	default:
		if e.Task != "" && logged(e.Action) {
			r.step(e)
		}
	}
}

// edited takes in an edit by hand. Its detail names what was edited, unless that is too much or not known.
func (r *replay) edited(e blackboard.Entry) {
	_, names, ok := strings.Cut(e.Detail, "by hand: ")
	switch {
	case strings.HasPrefix(e.Detail, "validate --fix"), names == "comments or layout only":
		return
	case !ok || strings.HasSuffix(names, " more"):
		r.anything(e.Rev)
		return
	}
	for name := range strings.SplitSeq(names, ", ") {
		may := anywhere()
		if now := r.now(name).may; !now.has("") {
			may = maps.Clone(now)
			may[place{}] = true
		}
		r.put(name, e.Rev, may)
	}
}

func (r *replay) restored(e blackboard.Entry) {
	var old int
	if _, err := fmt.Sscanf(e.Detail, "revision %d was put back", &old); err != nil {
		r.anything(e.Rev)
		return
	}
	was := map[string]whereabouts{}
	for task := range r.at {
		was[task] = r.asOf(task, old)
	}
	for task, may := range was {
		r.put(task, e.Rev, may)
	}
}

// step follows an entry that a row of the table writes.
func (r *replay) step(e blackboard.Entry) {
	at := r.now(e.Task)
	next := whereabouts{}
	for p := range at.may {
		if p.rest == "" || e.Rev == at.rev {
			p.after(e, next)
		}
	}
	key := fmt.Sprint(e.Task, e.Action, e.Agent, e.Detail, e.Timestamp)
	switch {
	case len(next) == 0:
		r.departs(e, at.refusal(e))
	case r.wrote[key]:
		r.departs(e, "it is there twice")
	default:
		r.put(e.Task, e.Rev, next)
	}
	r.wrote[key] = true
}

// departs notes an entry that does not fit. Nothing is known of its task from there on.
func (r *replay) departs(e blackboard.Entry, why string) {
	message := fmt.Sprintf("revision %d: %s by %s", e.Rev, e.Action, e.Agent)
	if e.Task != "" {
		message += " on " + e.Task
		r.put(e.Task, e.Rev, anywhere())
	}
	r.found = append(r.found, Departure{e, e.Task, message + " is not a step of the transition table there: " + why})
}

// after adds the whereabouts to which an entry leads from p.
func (p place) after(e blackboard.Entry, next whereabouts) {
	by := partyOf(e.Agent)
	if p.rest != "" {
		word, rest, _ := strings.Cut(p.rest, " ")
		if word == string(e.Action) && p.who&by != 0 {
			p.rest = rest
			next[p.held(e)] = true
		}
		return
	}
	for i := range Rules {
		r := &Rules[i]
		expires := e.Action == blackboard.ActionLeaseExpired // by itself
		if !r.begins(p.status, e.Action) || !expires && (r.Who&by == 0 || !p.holds(r, e.Agent)) {
			continue
		}
		to := p
		if r.To != "" {
			to.status = r.To
		}
		if slices.ContainsFunc(r.Does, func(x Effect) bool { return x.Text == endReview.Text }) || r.Event == evSubmit || r.Event == evReviewRelease {
			to.reviewer = ""
		}
		for _, more := range r.Log[1:] {
			to.rest += string(more) + " "
		}
		to.who = 0
		if to.rest != "" {
			to.who = r.Who
		}
		next[to.held(e)] = true
		if r.Event == evVoidApproval && to.reviewer == "" { // it goes on with the review, unless it has another one
			to.reviewer = e.Agent
			next[to] = true
		}
	}
}

// begins reports whether the rule may happen in a status and its first entry is action.
func (r *Rule) begins(from blackboard.Status, action blackboard.Action) bool {
	return len(r.Log) > 0 && r.Log[0] == action && (slices.Contains(r.From, from) || r.From == nil && from == "")
}

// holds reports whether an agent has the claim that the rule asks for (G31, G53).
func (p place) holds(r *Rule, agent string) bool {
	if agent == blackboard.Human || agent == blackboard.System {
		return true
	}
	for _, g := range r.guards() {
		switch {
		case g.Text == callerIsCoder.Text, g.Text == holderOrSystem.Text && p.status == blackboard.Claimed:
			return p.coder == agent || p.coder == anyone
		case g.Text == callerIsReviewer.Text:
			return p.reviewer == agent || p.reviewer == anyone
		}
	}
	return true
}

// held is the place when an entry gives the task to its agent.
func (p place) held(e blackboard.Entry) place {
	if p.rest == "" {
		p.who = 0
	}
	switch e.Action {
	case blackboard.ActionClaimed:
		p.coder, p.reviewer = e.Agent, ""
	case blackboard.ActionReviewClaimed:
		p.reviewer = e.Agent
	}
	return p
}

// refusal says why no row has the entry there.
func (s reckoning) refusal(e blackboard.Entry) string {
	by, from, who := partyOf(e.Agent), []string(nil), Party(0)
	var rest []string // what has to come first wherever the task may be
	for p := range s.may {
		rest = append(rest, strings.TrimSuffix(p.rest, " "))
		for i := range Rules {
			if Rules[i].begins(p.status, e.Action) {
				who |= Rules[i].Who
			}
		}
	}
	for _, status := range blackboard.Statuses {
		if slices.ContainsFunc(Rules, func(r Rule) bool { return r.begins(status, e.Action) }) {
			from = append(from, string(status))
		}
	}
	switch {
	case !slices.Contains(rest, ""):
		return fmt.Sprintf("%s has to come first, in the same revision", slices.Min(rest))
	case who == 0 && from == nil:
		return fmt.Sprintf("the task is %s, and the entry makes a new one or follows another", s.may.words())
	case who == 0:
		return fmt.Sprintf("the task is %s, and the entry needs %s", s.may.words(), blackboard.OrList(from))
	case who&by == 0:
		return fmt.Sprintf("%s may write it", blackboard.OrList(who.words()))
	}
	return "another agent has the task, or none"
}

// partyOf is what the author of an entry may be: of an agent, its program or its supervisor.
func partyOf(author string) Party {
	switch author {
	case blackboard.Human:
		return ByHuman
	case blackboard.System:
		return BySystem
	}
	role, _, _ := blackboard.ParseAgentID(author)
	return agentParty(role) | supervisorParty(role)
}

// logged reports whether rows of the table write an action.
func logged(action blackboard.Action) bool {
	return slices.ContainsFunc(Rules, func(r Rule) bool { return slices.Contains(r.Log, action) })
}

// compare finds the tasks that are not what their entries lead to.
func (r *replay) compare(tasks map[string]blackboard.Status, whole bool) {
	named := maps.Clone(tasks)
	for task := range r.at {
		if _, ok := tasks[task]; !ok && task != every && whole && !r.now(task).may.has("") {
			named[task] = ""
		}
	}
	for _, task := range slices.Sorted(maps.Keys(named)) {
		is, may := named[task], r.now(task).may
		switch {
		case may.has(is):
		case is == "":
			r.found = append(r.found, Departure{Task: task, Message: fmt.Sprintf("task %s is neither on the board nor in the archive; its entries end with %s", task, may.words())})
		default:
			r.found = append(r.found, Departure{Task: task, Message: fmt.Sprintf("task %s is %s; its entries end with %s", task, is, may.words())})
		}
	}
}
