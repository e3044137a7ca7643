// Package merge takes approved work onto the integration branch, exactly once (specs/decisions.md#D6,
// specs/protocol.md#8).
//
// A merge is computed without a checkout, checked in a throw-away worktree, announced in
// the state, and carried out by a compare-and-swap of the branch; only then does the state
// say MERGED. Wherever that is interrupted, the next Merger looks at git and ends it: a
// branch that contains the work means "record it", one that does not means "begin again".
// The user's checkout, index, HEAD and stash are never touched.
package merge
