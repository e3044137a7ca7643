// Package checks has what the commands of a project say of a tree.
//
// Checks runs the checks of a review (RunChecks) and remembers in .liza/baseline.json what a command gave on the tree that work began with:
// a failure that was there before is excused (OnBase), and a command that has never passed here verifies nothing (Unverified).
// A Place is a throw-away worktree in which commands run where and how merges are checked.
package checks
