package git

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
)

// The lock of a worktree says which call made it: "liza <id> <nonce>", with a last word "attached" when the branch was
// there before. It is the proof that Abandon needs, and it ends with UnlockWorktree.

// UnlockWorktree removes the lock of ProvideWorktree from the worktree of id, after the claim was confirmed. It leaves a
// worktree without a lock, or with another lock, as it is.
func (r *Repo) UnlockWorktree(ctx context.Context, id string) error {
	s, err := r.lock(ctx)
	if err != nil {
		return err
	}
	defer s.unlock()
	entry, err := s.registered(ctx, s.WorktreePath(id))
	if err != nil || entry == nil || claimOf(entry.LockReason, id) == "" {
		return err
	}
	if err := s.unlockEntry(ctx, entry.Path); err != nil {
		return fmt.Errorf("cannot unlock the worktree of %s: %w", id, err)
	}
	return nil
}

// unlockEntry ends git's lock of a worktree: the file "locked" in git's folder of it (gitrepository-layout). One that is not locked is not an error.
func (s *session) unlockEntry(ctx context.Context, path string) error {
	admin := s.adminDir(path)
	if admin == "" { // the folder is gone
		_, err := s.git(ctx, "worktree", "unlock", path)
		return err
	}
	if err := os.Remove(filepath.Join(admin, "locked")); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Abandon removes the work of the ProvideWorktree call with this nonce, after a lost claim (specs/protocol.md#7.2, P3): the
// worktree if its lock has the nonce, and its branch unless it existed before or has commits that no other ref has. It leaves
// a worktree of another call, or one that existed before.
func (r *Repo) Abandon(ctx context.Context, id, nonce string) error {
	s, err := r.lock(ctx)
	if err != nil {
		return err
	}
	defer s.unlock()
	entry, err := s.registered(ctx, s.WorktreePath(id))
	if err != nil || entry == nil || nonce == "" || claimOf(entry.LockReason, id) != nonce {
		return err
	}
	if err := s.dropFolder(ctx, entry.Path, entry); err != nil {
		return cannotRemove(id, err)
	}
	if strings.HasSuffix(entry.LockReason, " "+attachedMark) {
		return nil
	}
	if err := s.deleteBranch(ctx, id); err != nil {
		return fmt.Errorf("cannot remove the branch of %s: %w", id, err)
	}
	return nil
}

const attachedMark = "attached"

func claimReason(id, nonce string, attached bool) string {
	reason := "liza " + id + " " + nonce
	if attached {
		reason += " " + attachedMark
	}
	return reason
}

// claimOf is the nonce in a lock reason of id, or "".
func claimOf(reason, id string) string {
	words := strings.Fields(reason)
	if len(words) < 3 || words[0] != "liza" || words[1] != id {
		return ""
	}
	return words[2]
}

var noncePattern = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9._:-]{1,64}$`) })

func checkNonce(nonce string) error {
	if !noncePattern().MatchString(nonce) {
		return fmt.Errorf("nonce %q is not one word", nonce)
	}
	return nil
}
