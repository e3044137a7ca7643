package verb

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"liza/pkg/blackboard"
)

// Plan is a planner's answer (roles-and-knowledge 3.2), in JSON.
type Plan struct {
	Goal      string            `json:"goal"`
	Secrets   map[string]string `json:"secrets,omitempty"`
	Order     string            `json:"order,omitempty"`
	Reason    string            `json:"reason,omitempty"`
	Tasks     []PlanTask        `json:"tasks"`
	Decisions []Decision        `json:"decisions,omitempty"`

	answers int      // how many answers of the planner there were until this one
	form    []string // what is wrong with the form of what it was read from
}

// PlanTask is one item of a plan. Description and Detail, Expect and DoneWhen are aliases.
type PlanTask struct {
	ID                 string         `json:"id,omitempty"`
	Kind               string         `json:"kind,omitempty"`
	Type               string         `json:"type,omitempty"`
	Title              string         `json:"title,omitempty"`
	Detail             string         `json:"detail,omitempty"`
	Description        string         `json:"description,omitempty"`
	Expect             string         `json:"expect,omitempty"`
	DoneWhen           string         `json:"done_when,omitempty"`
	AcceptanceCriteria []string       `json:"acceptance_criteria,omitempty"`
	Scope              string         `json:"scope,omitempty"`
	SpecRef            string         `json:"spec_ref,omitempty"`
	Files              []string       `json:"files,omitempty"`
	DependsOn          *[]string      `json:"depends_on,omitempty"`
	Priority           *int           `json:"priority,omitempty"`
	Role               string         `json:"role,omitempty"`
	Model              string         `json:"model,omitempty"`
	Command            string         `json:"command,omitempty"`
	Skill              string         `json:"skill,omitempty"`
	Args               map[string]any `json:"args,omitempty"`
	Notify             bool           `json:"notify,omitempty"`
	Review             *bool          `json:"review,omitempty"`
	Writes             bool           `json:"writes,omitempty"`
	TimeoutSeconds     *int           `json:"timeout_seconds,omitempty"`
	Secrets            []string       `json:"secrets,omitempty"`
	Supersedes         []string       `json:"supersedes,omitempty"`
	LegacyTests        string         `json:"legacy_tests,omitempty"`
	Draft              bool           `json:"draft,omitempty"`
	Limits             map[string]int `json:"limits,omitempty"`
}

// Decision says what happens to an existing task.
type Decision struct {
	Task      string   `json:"task,omitempty"`
	Discovery string   `json:"discovery,omitempty"`
	Do        string   `json:"do"`
	Reason    string   `json:"reason,omitempty"`
	By        []string `json:"by,omitempty"`
	Answers   []string `json:"answers,omitempty"`
	RootCause string   `json:"root_cause,omitempty"`
}

// ParsePlan reads a plan in JSON or YAML. Problems of its form stay with the plan, so that
// ApplyPlan tells them together with all others; the error is for what is no plan at all.
func ParsePlan(data []byte) (*Plan, error) {
	if !json.Valid(data) {
		converted, err := fromYAML(data)
		if err != nil {
			return nil, err
		}
		data = converted
	}
	raw, err := decodeRaw(data)
	if err != nil {
		return nil, planError("the plan cannot be read: %v", err)
	}
	var p Plan
	if key := doubledKey(data); key != "" {
		p.form = append(p.form, fmt.Sprintf("the key '%s' stands there twice", key))
	}
	var f formCheck
	f.value(&raw, reflect.TypeFor[Plan](), "")
	switch {
	case f.full() || raw == nil && len(f.problems) > 0:
		return nil, planError("the plan cannot be read: %s", allOf(f.problems))
	case raw == nil:
		return nil, planError("the plan cannot be read: it is empty")
	}
	clean, err := json.Marshal(raw)
	if err != nil {
		return nil, planError("the plan cannot be read: %v", err)
	}
	if err := json.Unmarshal(clean, &p); err != nil {
		return nil, planError("the plan cannot be read: %v", err)
	}
	p.form = append(p.form, f.problems...)
	return &p, nil
}

// mostProblems is how many problems of one input are told.
const mostProblems = 100

// maxKeys is how many keys a map of a plan in YAML may have. Finding those that stand there
// twice takes the square of it.
const maxKeys = 200

// fromYAML turns a plan in YAML into one in JSON.
func fromYAML(data []byte) ([]byte, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(data, &doc); err != nil {
		return nil, planError("the plan is neither JSON nor YAML: %v", err)
	}
	if n := largeMap(&doc); n != nil {
		return nil, planError("the plan has a map with %d keys in line %d; %d is the limit", len(n.Content)/2, n.Line, maxKeys)
	}
	var v any
	if err := doc.Decode(&v); err != nil {
		return nil, planError("the plan is neither JSON nor YAML: %v", err)
	}
	converted, err := json.Marshal(v)
	if err != nil {
		return nil, planError("the plan has keys that are no text: %v", err)
	}
	return converted, nil
}

// largeMap finds a map with more keys than a plan has, nil for none.
func largeMap(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.MappingNode && len(n.Content) > 2*maxKeys {
		return n
	}
	for _, c := range n.Content {
		if found := largeMap(c); found != nil {
			return found
		}
	}
	return nil
}

func planError(format string, args ...any) error {
	return usage("liza help plan", format, args...)
}

// allOf shows problems one after the other, as many as anybody reads.
func allOf(problems []string) string {
	if len(problems) > mostProblems {
		problems = append(slices.Clone(problems[:mostProblems]), "and more")
	}
	return strings.Join(problems, "; ")
}

// PlanApplied is the result of a plan.
type PlanApplied struct {
	Plan     string   `json:"plan"`
	Tasks    []string `json:"tasks"`
	Warnings []string `json:"warnings,omitempty"`
}

// ApplyPlan puts a whole plan on the board, all or nothing (roles-and-knowledge 3.5). The
// same plan again is exit 7; an invalid one exit 2 with every problem.
func (d *Desk) ApplyPlan(ctx context.Context, p *Plan) (PlanApplied, error) {
	hash, err := p.hash()
	if err != nil {
		return PlanApplied{}, err
	}
	var warnings []string
	if len(p.formProblems()) == 0 { // else the rehearsal refuses it, with all that is wrong
		if warnings, err = d.KeepSecrets(ctx, p); err != nil {
			return PlanApplied{}, err
		}
	}
	attics, err := d.saveForPlan(ctx, p, hash)
	if err != nil {
		return PlanApplied{}, err
	}
	d.at("plan.saved")
	var out PlanApplied
	err = d.Update(ctx, "plan", func(s *blackboard.State, a blackboard.Actor) (err error) {
		out, err = d.applyPlan(s, a, p, hash, attics)
		return err
	})
	if err != nil {
		return out, err
	}
	d.at("plan.applied")
	out.Warnings = append(out.Warnings, warnings...)
	for task := range attics {
		if err := d.dropWorktree(ctx, task); err != nil {
			out.Warnings = append(out.Warnings, err.Error())
		}
	}
	return out, nil
}

// formProblems are those that are seen without a board.
func (p *Plan) formProblems() []string {
	return append(slices.Clone(p.form), secretProblems(p.Secrets)...)
}

// hash is the same for plans that say the same. What their secrets are does not count: a
// hash may be guessed at.
func (p *Plan) hash() (string, error) {
	named := *p
	named.Secrets = map[string]string{}
	for name := range p.Secrets {
		named.Secrets[name] = ""
	}
	canonical, err := json.Marshal(named)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(canonical)
	return "sha256:" + hex.EncodeToString(sum[:]), nil
}

// dropped lists the tasks whose worktree the plan gives up: those that it decides about, and
// what it replaces as the answer to a replan.
func (p *Plan) dropped(s *blackboard.State, r *replan) []string {
	set := map[string]bool{}
	for _, x := range p.Decisions {
		if x.Task != "" && x.Do != "finalize" {
			set[x.Task] = true
		}
	}
	for _, t := range p.Tasks {
		for _, id := range t.Supersedes {
			set[id] = true
		}
	}
	for _, t := range r.replaced(s) {
		set[t] = true
	}
	return slices.Sorted(maps.Keys(set))
}

// decided lists what the plan's decisions are about.
func (p *Plan) decided() []string {
	var ids []string
	for _, x := range p.Decisions {
		ids = append(ids, first(x.Task, x.Discovery))
	}
	return ids
}

type saved struct{ attic, problem string }

// saveForPlan saves the work of what the plan drops, once the plan has passed on a copy.
func (d *Desk) saveForPlan(ctx context.Context, p *Plan, hash string) (map[string]saved, error) {
	id, err := d.identify()
	if err != nil {
		return nil, err
	}
	s, err := d.View(ctx)
	if err != nil {
		return nil, err
	}
	a := id.actor(s)
	dropped := p.dropped(s, replanOf(s, d.partyOf(s, a)))
	copied := s.Clone()
	if _, err := d.applyPlan(copied, id.actor(copied), p, hash, nil); err != nil {
		return nil, err
	}
	out := map[string]saved{}
	for _, task := range dropped {
		ref, problem := d.save(ctx, task, "plan")
		out[task] = saved{ref, problem}
	}
	return out, nil
}

// applyPlan is the one Update of a plan.
func (d *Desk) applyPlan(s *blackboard.State, a blackboard.Actor, p *Plan, hash string, attics map[string]saved) (PlanApplied, error) {
	var out PlanApplied
	now := d.Now()
	party, err := s.Identify(a, now)
	if err != nil {
		return out, err
	}
	if party&(blackboard.ByHuman|blackboard.ByPlanner|blackboard.SPlanner) == 0 {
		return out, &blackboard.Refusal{Guard: "G03", Exit: blackboard.ExitRefused, Next: "liza status", Message: a.ID + " may not apply a plan; planner or human may"}
	}
	for _, old := range s.Plans {
		if old.Hash == hash && old.Status == "running" && len(p.formProblems()) == 0 {
			return out, nothing("the plan is already applied as " + old.ID)
		}
	}
	in := d.input()
	if d.NoSpecFiles {
		in.SpecExists = nil
	}
	human := party&blackboard.ByHuman != 0
	b := &planBuild{desk: d, state: s, plan: p, byHuman: human, caller: d.callerOf(s, human), specExists: in.SpecExists}
	again := replanOf(s, party)
	tasks := b.build()
	again.check(b, tasks)
	if len(b.problems) > 0 {
		return out, b.refusal()
	}
	if len(tasks) > 0 {
		b.record = b.newRecord(a, hash, again, now)
		b.enter(s, a, tasks, in, now)
		if len(b.problems) > 0 {
			return out, b.refusal()
		}
		out.Plan, out.Warnings = b.record.ID, b.warnings
		again.enter(s, b.record, now)
		s.EnterPlan(b.record, again.event(), b.record.ID+": "+ids(tasks), a, now)
		b.answerNotes(human)
	}
	for _, t := range tasks {
		out.Tasks = append(out.Tasks, t.ID)
	}
	for _, name := range slices.Sorted(maps.Keys(p.Secrets)) {
		if !slices.Contains(s.Secrets, name) {
			s.Secrets = append(s.Secrets, name)
		}
	}
	if err := b.decide(s, a, in, attics, now); err != nil {
		return out, err
	}
	return out, again.supersede(b, a, in, attics, now)
}

// partyOf is what the caller is, 0 when that cannot be told.
func (d *Desk) partyOf(s *blackboard.State, a blackboard.Actor) blackboard.Party {
	party, err := s.Identify(a, d.Now())
	if err != nil {
		return 0
	}
	return party
}

func (b *planBuild) refusal() error {
	err := planError("the plan cannot be applied: %s", allOf(b.problems))
	if b.circular {
		return &CircularPlanError{Refusal: err.(*blackboard.Refusal)}
	}
	return err
}

// newRecord is what the board keeps of the plan.
func (b *planBuild) newRecord(a blackboard.Actor, hash string, r *replan, now timeT) *blackboard.Plan {
	p := &blackboard.Plan{ID: fmt.Sprintf("plan-%d", len(b.state.Plans)+1), Goal: b.plan.Goal, By: a.ID, Status: "running", Caller: &b.caller,
		Request: b.request(), Created: blackboard.TimeOf(now), Order: b.plan.Order, Hash: hash, ParseAttempts: b.plan.answers}
	if parent := r.parent(b.state); parent != nil {
		p.Parent, p.Root = parent.ID, first(parent.Root, parent.ID)
	}
	return p
}

// request is what the user said: the goal at first, afterwards the notes that no planner has
// seen, else what the plan before was for.
func (b *planBuild) request() string {
	s := b.state
	var words []string
	for _, n := range s.UnseenNotes() {
		words = append(words, n.Message)
	}
	text := strings.Join(words, "\n")
	switch {
	case s.Goal == nil:
	case s.Goal.PlanID == "":
		text = strings.TrimSpace(s.Goal.Description + "\n" + text)
	case text == "":
		if p := s.Plan(s.Goal.PlanID); p != nil {
			text = p.Request
		}
	}
	if len(text) > maxGoal {
		text = strings.ToValidUTF8(text[:maxGoal], "")
	}
	return text
}

// answerNotes says in the notes that the planner was given which plan answers them.
func (b *planBuild) answerNotes(human bool) {
	if human {
		return // the planner has yet to see them
	}
	for _, n := range b.state.UnseenNotes() {
		n.Plan, n.Outcome = b.record.ID, "planned"
	}
}
