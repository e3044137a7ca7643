package transition

// A TriggerKind is a reason to wake the planner (specs/protocol.md#13.1).
type TriggerKind string

// The kinds of triggers.
const (
	TriggerInitialPlanning     TriggerKind = "INITIAL_PLANNING"     // the goal has no task yet
	TriggerReplan              TriggerKind = "REPLAN"               // a reviewer says that the approach is wrong
	TriggerBlockedTasks        TriggerKind = "BLOCKED_TASKS"        // tasks are BLOCKED
	TriggerHypothesisExhausted TriggerKind = "HYPOTHESIS_EXHAUSTED" // coders failed a task
	TriggerIntegrationFailed   TriggerKind = "INTEGRATION_FAILED"   // a task is INTEGRATION_FAILED
	TriggerImmediateDiscovery  TriggerKind = "IMMEDIATE_DISCOVERY"  // a discovery cannot wait
	TriggerHumanNote           TriggerKind = "HUMAN_NOTE"           // a person wrote
	TriggerSpecChanged         TriggerKind = "SPEC_CHANGED"         // a spec changed
	TriggerSystemAmbiguity     TriggerKind = "SYSTEM_AMBIGUITY"     // an agent finds the rules unclear
	TriggerDraftsPending       TriggerKind = "DRAFTS_PENDING"       // drafts wait to be completed
	TriggerReviewStuck         TriggerKind = "REVIEW_STUCK"         // a review is on hold because it got stuck
)

// TriggerKinds lists the kinds in their order.
var TriggerKinds = []TriggerKind{TriggerInitialPlanning, TriggerReplan, TriggerBlockedTasks, TriggerHypothesisExhausted, TriggerIntegrationFailed, TriggerImmediateDiscovery, TriggerHumanNote, TriggerSpecChanged, TriggerSystemAmbiguity, TriggerDraftsPending, TriggerReviewStuck}
