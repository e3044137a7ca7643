package git

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func TestThePersonOfTheConfiguration(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.git("config", "user.name", "Grace  Hopper")
	f.git("config", "user.email", "grace@example.com")
	if name, email, err := f.repo.Identity(t.Context()); name != "Grace  Hopper" || email != "grace@example.com" || err != nil {
		t.Errorf("got %q, %q, %v", name, email, err)
	}
	f.git("config", "user.name", "Ada Lovelace")
	if name, _, err := f.repo.Identity(t.Context()); name != "Ada Lovelace" || err != nil {
		t.Errorf("after the configuration has changed, got %q, %v", name, err)
	}
}

// 4.4: commit.gpgsign and hooks were not in force, and nobody said so.
func TestHabitsOfThePersonAreKnown(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	habits := func(want Habits) {
		t.Helper()
		if h, err := f.repo.Habits(t.Context()); err != nil || !reflect.DeepEqual(h, want) {
			t.Errorf("got %+v, %v; want %+v", h, err, want)
		}
	}
	habits(Habits{})
	f.git("config", "commit.gpgsign", "true")
	for name, mode := range map[string]os.FileMode{"pre-commit": 0o755, "commit-msg": 0o644, "pre-push.sample": 0o755} {
		f.write(".git/hooks/"+name, "#!/bin/sh\n")
		if err := os.Chmod(filepath.Join(f.dir, ".git/hooks", name), mode); err != nil {
			t.Fatal(err)
		}
	}
	habits(Habits{Signs: true, Hooks: []string{"pre-commit"}})
	f.git("config", "core.hooksPath", "tools/hooks")
	f.write("tools/hooks/pre-push", "#!/bin/sh\n")
	if err := os.Chmod(filepath.Join(f.dir, "tools/hooks/pre-push"), 0o755); err != nil {
		t.Fatal(err)
	}
	habits(Habits{Signs: true, Hooks: []string{"pre-push"}})
}

// git.sign: merges have the person's signature, other commits of Liza have none.
func TestMergesAreSignedWithThePersonsKey(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	key := filepath.Join(t.TempDir(), "key")
	if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "t@example.org", "-f", key).CombinedOutput(); errors.Is(err, exec.ErrNotFound) {
		t.Skip("ssh-keygen is not installed: signatures cannot be tried here")
	} else if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	public, err := os.ReadFile(key + ".pub")
	if err != nil {
		t.Fatal(err)
	}
	signers := filepath.Join(t.TempDir(), "signers")
	if err := os.WriteFile(signers, append([]byte("t@example.org "), public...), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{"user.name": "Tester", "user.email": "t@example.org", "gpg.format": "ssh", "user.signingkey": key + ".pub", "gpg.ssh.allowedSignersFile": signers} {
		f.git("config", name, value)
	}
	ctx, head := t.Context(), f.git("rev-parse", "main")
	commit := func(make func(context.Context, string, []string, string) (string, error), want string) {
		t.Helper()
		made, err := make(ctx, head+"^{tree}", []string{head}, "Merge\n")
		if err != nil {
			t.Fatal(err)
		}
		if got := f.git("log", "-1", "--format=%G?", made); got != want {
			t.Errorf("the signature of %s is %q, want %q", made, got, want)
		}
	}
	commit(f.repo.CommitMerge, "N")
	f.repo.Sign = true
	commit(f.repo.CommitMerge, "G")
	commit(f.repo.CommitTree, "N")
	if err := f.repo.TrySign(ctx); err != nil {
		t.Error(err)
	}
	f.git("config", "user.signingkey", key+"-gone")
	if _, err := f.repo.CommitMerge(ctx, head+"^{tree}", []string{head}, "Merge\n"); err == nil || !strings.Contains(err.Error(), "cannot sign the merge with your key (git.sign is true)") {
		t.Errorf("without the key: %v", err)
	}
	if err := f.repo.TrySign(ctx); err == nil {
		t.Error("a try without the key says nothing")
	}
}
