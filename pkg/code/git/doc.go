// Package git knows repositories, worktrees, commits and refs, and nothing of what they are used for.
//
// [Open] finds the repository of any folder of a main checkout, a linked worktree or a subfolder. A [Repo] then answers
// questions (head, commits, diffs, facts about a worktree) and does the few things that Liza does to a repository:
// provide and remove the worktree of an id, save unfinished work in the attic, merge without a checkout, move a ref by
// compare-and-swap. [Error] is a git command that failed.
//
// Rules that hold everywhere in the package:
//
//   - The user's checkout, index, HEAD and stash are never touched. Nothing here runs in the main checkout but commands
//     that read, and commands about refs and worktrees.
//   - References, commits and ancestors are read with go-git, which needs no process. What go-git cannot read (sha256,
//     worktreeConfig, reftable, shallow or long histories) is asked of the git command, which also does all the rest.
//   - No program that the repository's configuration or attributes name is run, but filters in [Repo.Filters]; replaced
//     objects are not followed, and git is told where its folders are (drivers.go).
//   - Whatever changes a ref or a worktree holds the lock <common dir>/liza/git.lock, because git 2.39 cannot add
//     worktrees in parallel. Reads take no lock, but for the list of worktrees.
//   - A lock file that a killed git left behind is removed under that lock, once, when no git process of this repository
//     is alive (specs/protocol.md#7.3). Repo.OnLockRemoved hears of it.
//   - Deleting needs proof (specs/decisions.md#D21): a worktree and its branch go only when what they hold is reachable from the
//     integration branch or from an attic ref. Otherwise the answer is an [UnsavedError] that lists what would be lost.
//   - Nothing that a run of an agent program writes into its git folder ([Repo.OpenFolder]) is read but the name of one
//     commit and, through a quarantine and git's own check, its objects ([Repo.TakeOver]).
//
// A task's worktree is .worktrees/<id> on branch task/<id>; its saved work is refs/liza/attic/<id>/<n>.
package git
