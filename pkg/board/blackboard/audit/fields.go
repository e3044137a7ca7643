package audit

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"liza/pkg/board/blackboard"
)

// The rules V28 to V41 without V38 and V39: the fields of a task, in any status.

func checkIntegrationFix(v *validation, t *blackboard.Task) {
	if !t.IntegrationFix || hasEvent(t, blackboard.HistoryIntegrationFailed) {
		return
	}
	// Our claim for the fix proves that the task was INTEGRATION_FAILED when Liza
	// v1, which never wrote the event, left it.
	ofV1 := t.ClaimSeq == 0 || v.taskOfV1(t) || v.v1 && hasEvent(t, blackboard.HistoryClaimedForFix)
	v.task(t, "integration_fix", "integration_fix without integration_failed in history").Lenient(ofV1)
}

func hasEvent(t *blackboard.Task, name blackboard.HistoryEvent) bool {
	return slices.ContainsFunc(t.History, func(e *blackboard.HistoryEntry) bool { return e.Event == name })
}

// planned reports whether a task has to be fit for work.
func planned(t *blackboard.Task) bool {
	return t.Status != blackboard.Draft && t.Status != blackboard.Superseded && t.Status != blackboard.Abandoned
}

func checkGates(v *validation, t *blackboard.Task) {
	if !planned(t) {
		return
	}
	if blank(t.DoneWhen) {
		v.task(t, "done_when", "missing done_when")
	}
	if blank(t.SpecRef) {
		v.task(t, "spec_ref", "missing spec_ref")
	}
	if blank(t.Description) {
		v.task(t, "description", "missing description").Lenient(v.taskOfV1(t))
	}
	if blank(t.Scope) && !(blackboard.Unplanned(t) && t.ChangesFiles()) { // that is V69
		v.task(t, "scope", "missing scope").Lenient(true)
	}
}

// checkClaimable checks the conditions of the first claim of a task.
func checkClaimable(v *validation, t *blackboard.Task) {
	if !blackboard.Unplanned(t) {
		return
	}
	gates := slices.DeleteFunc(t.Gates(), func(g blackboard.Gap) bool { return g.Wrong == "" && g.Field != "scope" }) // V29
	if len(gates) > 0 {
		v.task(t, "", "%s; nobody can claim it: liza edit", gates)
	}
}

func checkSpecFile(v *validation, t *blackboard.Task) {
	if path, missing := v.missingSpec(t.SpecRef); missing && planned(t) {
		v.task(t, "spec_ref", "spec file %s does not exist", path).Lenient(t.Status == blackboard.Merged)
	}
}

func checkGoalSpec(v *validation) {
	if v.s.Goal == nil {
		return
	}
	if path, missing := v.missingSpec(v.s.Goal.SpecRef); missing {
		v.section("goal", ".spec_ref", "goal: spec file %s does not exist", path).Lenient(v.v1)
	}
}

// missingSpec reports whether the file of a spec_ref is known not to exist.
func (v *validation) missingSpec(ref string) (path string, missing bool) {
	path, _, _ = strings.Cut(ref, "#")
	if v.facts.SkipSpecFiles || v.facts.SpecExists == nil || blank(path) {
		return path, false
	}
	return path, !v.facts.SpecExists(path)
}

func checkFailedBy(v *validation, t *blackboard.Task) {
	for i, id := range t.FailedBy {
		if _, _, ok := blackboard.ParseAgentID(id); !ok {
			v.task(t, "failed_by", "failed_by: '%s' is not an agent id", id).Lenient(v.taskOfV1(t))
		}
		if slices.Index(t.FailedBy, id) != i {
			v.task(t, "failed_by", "failed_by lists %s twice", id)
		}
	}
}

func checkReviewClaim(v *validation, t *blackboard.Task) {
	mild := v.taskOfV1(t)
	lease := !t.ReviewLeaseExpires.None()
	switch {
	case t.ReviewingBy != "" && !lease:
		v.task(t, "reviewing_by", "reviewing_by without review_lease_expires").Lenient(mild)
	case t.ReviewingBy == "" && lease:
		v.task(t, "review_lease_expires", "review_lease_expires without reviewing_by").Lenient(mild)
	}
	if t.ReviewingBy != "" && t.Status != blackboard.ReadyForReview {
		v.task(t, "reviewing_by", "reviewing_by %s on %s", t.ReviewingBy, t.Status).Lenient(mild)
	}
}

func checkAuthor(v *validation, t *blackboard.Task) {
	if t.AssignedTo != "" && t.ReviewingBy == t.AssignedTo {
		v.task(t, "reviewing_by", "reviewed by its author %s", t.AssignedTo).Concerns(t.AssignedTo)
	}
	if t.AssignedTo != "" && t.ApprovedBy == t.AssignedTo {
		v.task(t, "approved_by", "approved by its author %s", t.AssignedTo).Concerns(t.AssignedTo)
	}
	if t.ApprovedBy == "auto" && t.ChangesFiles() {
		v.task(t, "approved_by", "approved by 'auto', which kind code does not allow")
	}
}

var haltKinds = []string{"cost", "time", "iteration"}

func checkHalt(v *validation, t *blackboard.Task) {
	if t.Halt == nil {
		return
	}
	if t.Status != blackboard.Blocked {
		v.task(t, "halt", "halt on %s", t.Status)
	}
	if !blackboard.List(haltKinds).Has(t.Halt.Kind) {
		v.task(t, "halt.kind", "unknown halt kind '%s'; it must be %s", t.Halt.Kind, blackboard.OrList(haltKinds))
	}
}

func checkHold(v *validation, t *blackboard.Task) {
	if t.Hold == nil {
		return
	}
	if t.Status.Terminal() {
		v.task(t, "hold", "hold on %s", t.Status)
	}
	if blank(t.Hold.By) {
		v.task(t, "hold", "hold without by")
	}
	if t.Hold.At.None() {
		v.task(t, "hold", "hold without at")
	}
	if blank(t.Hold.Reason) {
		v.task(t, "hold", "hold without reason")
	}
}

func checkMergeIntent(v *validation, t *blackboard.Task) {
	if t.MergeIntent != nil && t.Status != blackboard.Approved {
		v.task(t, "merge_intent", "merge_intent on %s", t.Status)
	}
}

// shortenedFrom is how many digits of an object name are enough to complete it.
const shortenedFrom = 7

// wholeCommit reports whether text is a full object name.
func wholeCommit(text string) bool { return (len(text) == 40 || len(text) == 64) && hexadecimal(text) }

func hexadecimal(text string) bool {
	for i := range len(text) {
		if c := text[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') && (c < 'A' || c > 'F') {
			return false
		}
	}
	return true
}

// oddCommits calls visit with every commit field of the task that is given and is no
// full object name. The history is not looked at: it is never changed.
func oddCommits(t *blackboard.Task, visit func(field string, commit *string)) {
	look := func(field string, commit *string) {
		if *commit != "" && !wholeCommit(*commit) {
			visit(field, commit)
		}
	}
	look("base_commit", &t.BaseCommit)
	look("restart_from", &t.RestartFrom)
	look("fix_onto", &t.FixOnto)
	look("merges", &t.Merges)
	look("review_commit", &t.ReviewCommit)
	look("approved_commit", &t.ApprovedCommit)
	look("merge_commit", &t.MergeCommit)
	if c := t.Claiming; c != nil {
		look("claiming.base_commit", &c.BaseCommit)
	}
	if r := t.Review; r != nil {
		look("review.commit", &r.Commit)
	}
	if m := t.MergeIntent; m != nil {
		look("merge_intent.commit", &m.Commit)
		look("merge_intent.old", &m.Old)
	}
	for i, a := range t.Attempts {
		if a.Commit != "" && !wholeCommit(a.Commit) {
			visit("attempts"+within("", i, "commit"), &a.Commit)
		}
	}
}

func abbreviated(commit string) bool {
	return len(commit) >= shortenedFrom && len(commit) < 64 && hexadecimal(commit)
}

func checkCommits(v *validation, t *blackboard.Task) {
	oddCommits(t, func(field string, commit *string) {
		if abbreviated(*commit) {
			v.task(t, field, "%s '%s' is abbreviated", field, *commit).Lenient(true)
			return
		}
		v.task(t, field, "%s '%s' is not a commit", field, *commit).Lenient(v.taskOfV1(t))
	})
}

func worktreeAllowed(t *blackboard.Task) bool {
	return t.Worktree == "" || t.Worktree == ".worktrees/"+t.ID
}

func checkWorktreePath(v *validation, t *blackboard.Task) {
	if !worktreeAllowed(t) {
		v.task(t, "worktree", "worktree '%s' is not allowed; it must be .worktrees/%s", t.Worktree, t.ID)
	}
}

// The rules V47 and V48: the config section.

var checkpointModes = []string{"required", "warn", "off"}

func checkConfig(v *validation) {
	for _, key := range sortedKeys(v.s.Config) {
		value, standard := v.s.Config[key], blackboard.BuiltIn(key)
		if value == nil || standard == nil {
			continue
		}
		if problem := settingProblem(key, value, standard); problem != "" {
			v.section("config", "."+key, "config.%s %s %s", key, shown(value), problem).Lenient(v.v1)
		}
	}
}

// settingProblem returns why the value of a known key is invalid, or "".
func settingProblem(key string, value, standard any) string {
	switch standard.(type) {
	case int:
		if _, ok := blackboard.IntegerOf(value); ok {
			return ""
		}
		switch n := value.(type) {
		case int, int64:
			return "must not be negative"
		case float64:
			if n < 0 && n == float64(int64(n)) {
				return "must not be negative"
			}
		}
		return "must be an integer"
	case bool:
		if _, ok := value.(bool); !ok {
			return "must be true or false"
		}
	case string:
		text, ok := value.(string)
		switch {
		case !ok:
			return "must be a text"
		case key == "integration_branch" && !branchName(text):
			return "is not a valid branch name"
		case key == "pre_execution_checkpoint" && text != "" && !blackboard.List(checkpointModes).Has(text):
			return "must be " + blackboard.OrList(checkpointModes)
		}
	}
	return ""
}

func shown(value any) string {
	if text, ok := value.(string); ok {
		return fmt.Sprintf("%q", text)
	}
	return fmt.Sprint(value)
}

// branchName reports whether git accepts name as a branch (git check-ref-format).
func branchName(name string) bool {
	if name == "" || name == "@" || name == "HEAD" || strings.HasPrefix(name, "-") || strings.HasSuffix(name, ".") ||
		strings.Contains(name, "..") || strings.Contains(name, "@{") || strings.ContainsAny(name, " ~^:?*[\\") {
		return false
	}
	for i := range len(name) {
		if name[i] < 0x20 || name[i] == 0x7f {
			return false
		}
	}
	for _, part := range strings.Split(name, "/") {
		if part == "" || strings.HasPrefix(part, ".") || strings.HasSuffix(part, ".lock") {
			return false
		}
	}
	return true
}

func checkConfigKeys(v *validation) {
	for _, key := range sortedKeys(v.s.Config) {
		if blackboard.BuiltIn(key) == nil {
			v.section("config", "."+key, "config: unknown key '%s'%s", key, blackboard.NearestHint(key, blackboard.SettingKeys()))
		}
	}
}

// checkSecrets looks for values of registered secrets in every text of the state
// (V62). A writer looks only at the tasks that it changes.
func checkSecrets(v *validation) {
	if v.facts.Secrets == nil {
		return
	}
	for _, t := range v.tasks {
		if v.facts.Write && reflect.DeepEqual(v.old(t.ID), t) {
			continue
		}
		v.secretsIn(reflect.ValueOf(t), func(field, name string) {
			v.task(t, field, "contains the value of secret '%s'", name)
		})
	}
	for _, id := range v.agents {
		v.secretsIn(reflect.ValueOf(v.s.Agents[id]), func(field, name string) {
			v.agent(id, field, "contains the value of secret '%s'", name)
		})
	}
	state := reflect.ValueOf(v.s).Elem()
	for i := range state.NumField() {
		section := blackboard.KeyOf(state.Type().Field(i))
		if section == "" || section == "tasks" || section == "agents" {
			continue
		}
		v.secretsIn(state.Field(i), func(field, name string) {
			if field != "" && field[0] != '[' {
				field = "." + field
			}
			v.section(section, field, "%s: contains the value of secret '%s'", section, name)
		})
	}
}

// secretsIn reports each secret that occurs below value, once, at its first place.
func (v *validation) secretsIn(value reflect.Value, found func(field, name string)) {
	var names blackboard.List
	blackboard.EachText(value, "", func(field, text string) {
		if name, is := v.facts.Secrets(text); is && !names.Has(name) {
			names = append(names, name)
			found(field, name)
		}
	})
}
