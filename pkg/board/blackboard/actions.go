package blackboard

// An Action says what an entry of the journal records (specs/protocol.md#3.1, where these comments are the table).
// Journals of other versions, and people, may have words that are not here.
type Action string

// Steps of a task.
const (
	ActionTaskAdded         Action = "task_added"         // a task is on the board, as a draft or ready to be claimed
	ActionTasksFinalized    Action = "tasks_finalized"    // a draft may be claimed from now on
	ActionClaimed           Action = "claimed"            // a coder has the task
	ActionCheckpoint        Action = "checkpoint"         // the coder said what it is about to do
	ActionReadyForReview    Action = "ready_for_review"   // the coder submitted a commit
	ActionReviewClaimed     Action = "review_claimed"     // a reviewer has the submission
	ActionApproved          Action = "approved"           // the last approval that the change needs
	ActionApprovalRecorded  Action = "approval_recorded"  // an approval, and the change needs more
	ActionApprovalVoided    Action = "approval_voided"    // an approval is taken back, for the run that gave it ends by saying something else
	ActionReviewAskedAgain  Action = "review_asked_again" // the approvals are no longer enough for the change
	ActionRejected          Action = "rejected"           // a reviewer rejected the submission
	ActionReviewStuck       Action = "review_stuck"       // no reviewer could come to a verdict; the task is on hold
	ActionReplanned         Action = "replanned"          // a reviewer said that the plan is wrong; behind blocked
	ActionMergeApproved     Action = "merge_approved"     // a person approved the merge
	ActionMergeRejected     Action = "merge_rejected"     // a person rejected the merge
	ActionMerged            Action = "merged"             // the work is on the integration branch
	ActionIntegrationFailed Action = "integration_failed" // the merge had a conflict, or its checks failed
	ActionBlocked           Action = "blocked"            // the task waits for somebody; the detail says why
	ActionUnblocked         Action = "unblocked"          // it may be claimed again, from the start
	ActionResubmitted       Action = "resubmitted"        // it may be claimed again, and goes on where it was
	ActionRetargeted        Action = "retargeted"         // it depends on the tasks that replaced one
	ActionSuperseded        Action = "superseded"         // other tasks replace it
	ActionAbandoned         Action = "abandoned"          // it is given up
	ActionTaskEdited        Action = "task_edited"        // a person changed its priority, title or texts
	ActionHeld              Action = "held"               // it is on hold
	ActionUnheld            Action = "unheld"             // it no longer is
	ActionLeaseExpired      Action = "lease_expired"      // its coder is gone; before the claim of the next one
	ActionReleased          Action = "released"           // its coder or reviewer gave it back
	ActionHandoff           Action = "handoff"            // an agent wrote down where it is, for the next one
	ActionRetried           Action = "retried"            // its coder begins another iteration
	ActionRunFailed         Action = "run_failed"         // a run of its coder failed
	ActionRerun             Action = "rerun"              // a person has it done again
	ActionRestepped         Action = "restepped"          // a person has its last step done again
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
	ActionGoalAborted        Action = "goal_aborted"        // a person gave the goal up
	ActionGoalReopened       Action = "goal_reopened"       // a completed goal has open tasks again
	ActionSprintStarted      Action = "sprint_started"      // a new sprint
	ActionSprintCheckpoint   Action = "sprint_checkpoint"   // the sprint stops for people
	ActionCheckpointDecision Action = "checkpoint_decision" // what a person decided there
	ActionSprintResumed      Action = "sprint_resumed"      // the sprint goes on after a checkpoint or an end by hand
	ActionSprintCompleted    Action = "sprint_completed"    // every task of the sprint is done
	ActionSprintAborted      Action = "sprint_aborted"      // a person ended the sprint; behind aborted
	ActionPaused             Action = "paused"              // a person paused the sprint
	ActionResumed            Action = "resumed"             // the pause has ended
	ActionAborted            Action = "aborted"             // a person told everybody to stop
	ActionArchived           Action = "archived"            // tasks that have ended left the board
)

// The integration branch.
const (
	ActionIntegrationMoved    Action = "integration_moved"    // somebody else moved the branch
	ActionIntegrationBack     Action = "integration_back"     // it is where it was known
	ActionIntegrationAccepted Action = "integration_accepted" // a person took the other commit as it is
	ActionIntegrationRestored Action = "integration_restored" // a person had the branch put back
	ActionIntegrationAdopted  Action = "integration_adopted"  // the board knew no commit of the branch, and took it as it is
	ActionIntegrationSynced   Action = "integration_synced"   // the branch has what is new on the branch it came from
)

// Requests on a forge.
const (
	ActionRequestPushed   Action = "request_pushed"   // the branch of a request was pushed
	ActionRequestOpened   Action = "request_opened"   // the request was opened
	ActionRequestChecks   Action = "request_checks"   // the result of its checks has changed
	ActionRequestWaits    Action = "request_waits"    // a person has to look at it
	ActionRequestQueued   Action = "request_queued"   // the forge was told to merge it
	ActionRequestMerged   Action = "request_merged"   // it is merged
	ActionRequestClosed   Action = "request_closed"   // somebody closed it without a merge
	ActionRequestReopened Action = "request_reopened" // somebody opened it again
)

// What comes from a tracker or a file.
const (
	ActionImportChanged Action = "import_changed" // what was imported reads otherwise now, and so does the task
	ActionImportDone    Action = "import_done"    // the tracker or the file was told that the task is done
)

// Agents.
const (
	ActionRegistered        Action = "registered"         // an agent begins
	ActionUnregistered      Action = "unregistered"       // it ends
	ActionAgentLapsed       Action = "agent_lapsed"       // an agent's process is gone, or its lease is long past
	ActionAgentGaveUp       Action = "agent_gave_up"      // a supervisor ended by itself, after failures
	ActionProviderWait      Action = "provider_wait"      // its program says that it waits for the provider
	ActionPlannerLaunched   Action = "planner_launched"   // a planner begins a run
	ActionPlannerSuppressed Action = "planner_suppressed" // what woke the planner does not do so again
)

// Knowledge.
const (
	ActionDiscovered         Action = "discovered"          // an agent found something besides its task
	ActionDiscoveryConverted Action = "discovery_converted" // a task was made of it
	ActionDiscoveryDeferred  Action = "discovery_deferred"  // it was put off
	ActionAnomaly            Action = "anomaly"             // something went otherwise than it should; the detail begins with its type
	ActionNote               Action = "note"                // a person left a note
	ActionCommented          Action = "commented"           // a person commented on lines of a change
	ActionNoteSeen           Action = "note_seen"           // an agent was told a note
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
	ActionAgentRestarted Action = "agent_restarted" // a person lets it work again
)

// The board itself.
const (
	ActionEditedByHand        Action = "edited_by_hand"       // a person edited state.yaml, and the edit was taken
	ActionEditRefused         Action = "edit_refused"         // an edit of a status was not taken
	ActionRestored            Action = "restored"             // an earlier revision was put back
	ActionStoreMoved          Action = "store_moved"          // the board was moved, and an edit was taken before
	ActionSealed              Action = "sealed"               // approvals are sealed, or a person answered for them and for the journal
	ActionJournalChained      Action = "journal_chained"      // the chain of the journal goes on from what could be followed
	ActionScrubbed            Action = "scrubbed"             // secrets were masked in the journal
	ActionConfigChanged       Action = "config_changed"       // a setting on the board was changed
	ActionSettingsChanged     Action = "settings_changed"     // settings changed while agent programs ran
	ActionBreakerTriggered    Action = "breaker_triggered"    // the circuit breaker stopped the sprint
	ActionBreakerAcknowledged Action = "breaker_acknowledged" // a person answered it
)

// Warnings (with the key `level: warning`).
const (
	ActionAcceptedUnreviewed   Action = "accepted_unreviewed"   // work was accepted without another review
	ActionLimitWarning         Action = "limit_warning"         // most of a limit is used up
	ActionWorktreeMadeAgain    Action = "worktree_made_again"   // the worktree's folder was gone
	ActionCommitsRefused       Action = "commits_refused"       // commits of a run were not taken over
	ActionCommitsElsewhere     Action = "commits_elsewhere"     // a run left commits on other branches
	ActionCheckoutChanged      Action = "checkout_changed"      // a run changed what is outside of its worktree
	ActionHostRefused          Action = "host_refused"          // a run without a task could not reach a host
	ActionExitMultiple         Action = "exit_multiple"         // a run gave several exit commands
	ActionExitMissing          Action = "exit_missing"          // a run gave none
	ActionExitSummaryLong      Action = "exit_summary_long"     // its summary is too long
	ActionEvidenceOdd          Action = "evidence_odd"          // files that it names are folders, or do not exist
	ActionPlannerNoAction      Action = "planner_no_action"     // the planner changed nothing
	ActionPromptOverBudget     Action = "prompt_over_budget"    // a prompt is longer than context.max_chars
	ActionHistoryNotWritten    Action = "history_not_written"   // the history of runs cannot be written
	ActionGateOverruledOK      Action = "gate_overruled_ok"     // findings made a rejection of an approval
	ActionFactRefused          Action = "fact_refused"          // a fact was not learned
	ActionSummaryRefused       Action = "summary_refused"       // a summarizer's summary was not taken
	ActionConsolidationRefused Action = "consolidation_refused" // a summarizer's facts were not taken
	ActionConfigWarning        Action = "config_warning"        // a role file is broken, or a prompt goes without one of its parts
)
