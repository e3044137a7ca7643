// Package merge merges approved work into the integration branch, exactly once (specs/decisions.md#D6, specs/protocol.md#8).
//
// A merge is computed without a checkout, checked in a throw-away worktree, announced in the state, and carried out by a
// compare-and-swap of the branch; only then the state becomes MERGED. After an interruption at any point the next Merger
// looks at git and completes it: if the branch contains the work, it records the merge, else it begins again. It never
// touches the user's checkout, index, HEAD and stash.
package merge
