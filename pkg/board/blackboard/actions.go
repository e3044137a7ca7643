package blackboard

// An Action names the event of a journal entry (specs/protocol.md#3.1, where these comments are the table). Journals of other
// versions, and people, may have other words.
type Action string

// Steps of a task.
const (
	ActionTaskAdded         Action = "task_added"         // a task is on the board, as a draft or ready to be claimed
	ActionTasksFinalized    Action = "tasks_finalized"    // a draft may be claimed from now on
	ActionClaimed           Action = "claimed"            // a coder has the task
	ActionCheckpoint        Action = "checkpoint"         // the coder recorded its intent
	ActionReadyForReview    Action = "ready_for_review"   // the coder submitted a commit
	ActionReviewClaimed     Action = "review_claimed"     // a reviewer has the submission
	ActionApproved          Action = "approved"           // the last approval that the change needs
	ActionApprovalRecorded  Action = "approval_recorded"  // an approval, and the change needs more
	ActionApprovalVoided    Action = "approval_voided"    // an approval is void: the run that gave it ended with another answer
	ActionReviewAskedAgain  Action = "review_asked_again" // the approvals are no longer enough for the change
	ActionRejected          Action = "rejected"           // a reviewer rejected the submission
	ActionReviewStuck       Action = "review_stuck"       // no reviewer could come to a verdict; the task is on hold
	ActionReplanned         Action = "replanned"          // a reviewer said that the plan is wrong; behind blocked
	ActionMergeApproved     Action = "merge_approved"     // a person approved the merge
	ActionMergeRejected     Action = "merge_rejected"     // a person rejected the merge
	ActionMerged            Action = "merged"             // the work is on the integration branch
	ActionIntegrationFailed Action = "integration_failed" // the merge had a conflict, or its checks failed
	ActionBlocked           Action = "blocked"            // the task waits for an answer or a decision; the detail has the reason
	ActionUnblocked         Action = "unblocked"          // it may be claimed again, from scratch
	ActionResubmitted       Action = "resubmitted"        // it may be claimed again, and continues where it was
	ActionRetargeted        Action = "retargeted"         // it depends on the tasks that replaced one
	ActionSuperseded        Action = "superseded"         // other tasks replace it
	ActionAbandoned         Action = "abandoned"          // it was abandoned
	ActionTaskEdited        Action = "task_edited"        // a person changed its priority, title or texts
	ActionHeld              Action = "held"               // it is on hold
	ActionUnheld            Action = "unheld"             // its hold has ended
	ActionLeaseExpired      Action = "lease_expired"      // the lease of its coder is over; before the next claim
	ActionReleased          Action = "released"           // its coder or reviewer gave it back
	ActionHandoff           Action = "handoff"            // an agent left its state to its successor
	ActionRetried           Action = "retried"            // its coder begins another iteration
	ActionRunFailed         Action = "run_failed"         // a run of its coder failed
)

// Besides its steps.
const (
	ActionClaimFailed Action = "claim_failed" // a task was reserved, and no worktree could be made
	ActionItemDone    Action = "item_done"    // the command of one item of a rejection has run
	ActionMergedAgain Action = "merged_again" // merged work that was gone from the integration branch is on it again
)

// Goal and sprint.
const (
	ActionInitialized        Action = "initialized"         // the board was made
	ActionGoalStarted        Action = "goal_started"        // a new goal follows one that has ended
	ActionGoalCompleted      Action = "goal_completed"      // every task is done
	ActionGoalAborted        Action = "goal_aborted"        // a person aborted the goal
	ActionGoalReopened       Action = "goal_reopened"       // a completed goal has open tasks again
	ActionSprintStarted      Action = "sprint_started"      // a new sprint
	ActionSprintCheckpoint   Action = "sprint_checkpoint"   // the sprint stops for people
	ActionCheckpointDecision Action = "checkpoint_decision" // the decision of a person at a checkpoint
	ActionSprintResumed      Action = "sprint_resumed"      // the sprint goes on after a checkpoint or an abort
	ActionSprintCompleted    Action = "sprint_completed"    // every task of the sprint is done
	ActionSprintAborted      Action = "sprint_aborted"      // a person ended the sprint; behind aborted
	ActionPaused             Action = "paused"              // a person paused the sprint
	ActionResumed            Action = "resumed"             // the pause has ended
	ActionAborted            Action = "aborted"             // a person ordered all work to stop
	ActionArchived           Action = "archived"            // finished tasks left the board
)

// The integration branch.
const (
	ActionIntegrationMoved    Action = "integration_moved"    // somebody else moved the branch
	ActionIntegrationBack     Action = "integration_back"     // it is where Liza left it again
	ActionIntegrationAccepted Action = "integration_accepted" // a person accepted the other commit
	ActionIntegrationRestored Action = "integration_restored" // a person had the branch set back
	ActionIntegrationAdopted  Action = "integration_adopted"  // the board knew no commit of the branch, and adopted the present one
	ActionIntegrationSynced   Action = "integration_synced"   // the branch was brought up to date with its base branch
)

// Requests on a forge.
const (
	ActionRequestPushed   Action = "request_pushed"   // the branch of a request was pushed
	ActionRequestOpened   Action = "request_opened"   // the request was opened
	ActionRequestChecks   Action = "request_checks"   // the result of its checks has changed
	ActionRequestWaits    Action = "request_waits"    // it waits for a person
	ActionRequestQueued   Action = "request_queued"   // the forge was asked to merge it
	ActionRequestMerged   Action = "request_merged"   // it is merged
	ActionRequestClosed   Action = "request_closed"   // somebody closed it without a merge
	ActionRequestReopened Action = "request_reopened" // somebody opened it again
)

// What comes from a tracker or a file.
const (
	ActionImportDone Action = "import_done" // the end of the task was reported to the tracker or the file
)

// Agents.
const (
	ActionRegistered        Action = "registered"         // an agent registered
	ActionRunAdopted        Action = "run_adopted"        // another process goes on with the run of a supervisor that died
	ActionUnregistered      Action = "unregistered"       // an agent's registration ended
	ActionAgentLapsed       Action = "agent_lapsed"       // an agent's process is gone, or its lease expired long ago
	ActionAgentGaveUp       Action = "agent_gave_up"      // a supervisor ended by itself, after failures
	ActionProviderWait      Action = "provider_wait"      // its program reports that it waits for the provider
	ActionModelEscalated    Action = "model_escalated"    // a run begins on the next rung of the ladder of models
	ActionPlannerLaunched   Action = "planner_launched"   // a planner begins a run
	ActionPlannerSuppressed Action = "planner_suppressed" // the trigger of the planner does not launch it again
)

// Knowledge.
const (
	ActionDiscovered         Action = "discovered"          // an agent found something outside of its task
	ActionDiscoveryConverted Action = "discovery_converted" // it became a task
	ActionDiscoveryDeferred  Action = "discovery_deferred"  // it was deferred
	ActionAnomaly            Action = "anomaly"             // an anomaly was recorded; the detail begins with its type
	ActionNote               Action = "note"                // a person left a note
	ActionCommented          Action = "commented"           // a person commented on lines of a change
	ActionNoteSeen           Action = "note_seen"           // an agent received a note
	ActionTold               Action = "told"                // a text reached a run or was requeued; the detail says how
	ActionAsked              Action = "asked"               // a person is asked whether work may be merged that a check has not verified
	ActionAnswered           Action = "answered"            // a person answered a question
	ActionSpecUpdated        Action = "spec_updated"        // a change of a specification
	ActionPlanApplied        Action = "plan_applied"        // the planner's plan is on the board
	ActionFactLearned        Action = "fact_learned"        // a fact was learned
	ActionFactApproved       Action = "fact_approved"       // a person approved facts
	ActionFactArchived       Action = "fact_archived"       // facts left the board
	ActionFactsConsolidated  Action = "facts_consolidated"  // a summarizer made fewer facts of many
	ActionSummarized         Action = "summarized"          // a summarizer made one text of older entries
)

// Orders to one agent.
const (
	ActionAgentStopped   Action = "agent_stopped"   // a person stopped an agent
	ActionAgentAttached  Action = "agent_attached"  // a person goes on with its claim in a terminal
	ActionAgentRestarted Action = "agent_restarted" // a person lets it work again
)

// The board itself.
const (
	ActionEditedByHand        Action = "edited_by_hand"       // a person edited state.yaml, and the edit was accepted
	ActionEditRefused         Action = "edit_refused"         // an edit of a status was refused
	ActionRestored            Action = "restored"             // an earlier revision was restored
	ActionStoreMoved          Action = "store_moved"          // the board was moved, and an edit was accepted before
	ActionSealed              Action = "sealed"               // approvals were sealed, or a person vouched for them and for the journal
	ActionJournalChained      Action = "journal_chained"      // the chain of the journal continues from the last entry that could be verified
	ActionScrubbed            Action = "scrubbed"             // secrets were masked in the journal
	ActionConfigChanged       Action = "config_changed"       // a setting on the board was changed
	ActionSettingsChanged     Action = "settings_changed"     // settings changed while agent programs ran
	ActionBreakerTriggered    Action = "breaker_triggered"    // the circuit breaker stopped the sprint
	ActionBreakerAcknowledged Action = "breaker_acknowledged" // a person acknowledged it
)

// Warnings (with the key `level: warning`).
const (
	ActionAcceptedUnreviewed   Action = "accepted_unreviewed"   // work was accepted without another review
	ActionLimitWarning         Action = "limit_warning"         // most of a limit is used up
	ActionWorktreeMadeAgain    Action = "worktree_made_again"   // the worktree's folder was gone
	ActionWorktreeSetAside     Action = "worktree_set_aside"    // git could not read the worktree
	ActionCommitsRefused       Action = "commits_refused"       // commits of a run were refused
	ActionCommitsElsewhere     Action = "commits_elsewhere"     // a run left commits on other branches
	ActionCheckoutChanged      Action = "checkout_changed"      // a run changed files or refs outside of its worktree
	ActionHostRefused          Action = "host_refused"          // a run without a task could not reach a host
	ActionExitMultiple         Action = "exit_multiple"         // a run gave several exit commands
	ActionExitMissing          Action = "exit_missing"          // a run gave no exit command
	ActionExitSummaryLong      Action = "exit_summary_long"     // its summary is too long
	ActionEvidenceOdd          Action = "evidence_odd"          // files that it names are folders, or do not exist
	ActionPlannerNoAction      Action = "planner_no_action"     // the planner changed nothing
	ActionPromptOverBudget     Action = "prompt_over_budget"    // a prompt is longer than context.max_chars
	ActionHistoryNotWritten    Action = "history_not_written"   // the history of runs cannot be written
	ActionGateOverruledOK      Action = "gate_overruled_ok"     // error findings turned an approval into a rejection
	ActionFactRefused          Action = "fact_refused"          // a fact was refused
	ActionSummaryRefused       Action = "summary_refused"       // a summarizer's summary was refused
	ActionConsolidationRefused Action = "consolidation_refused" // a summarizer's facts were refused
	ActionConfigWarning        Action = "config_warning"        // a role file is broken, or a prompt lacks one of its parts
)
