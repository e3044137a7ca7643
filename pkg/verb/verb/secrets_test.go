package verb_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"liza/pkg/verb/board"
	"liza/pkg/verb/sprint"
	"liza/pkg/verb/verb/verbtest"
)

const planOfSecrets = `{"goal": "Deploy", "secrets": {"pin": "123", "token": "tok-12345678"}, "tasks": [{"id": "say", "kind": "exec", "detail": "Say it", "command": "echo tok-12345678"}]}`

func TestASecretOfThreeCharactersIsStoredAndNotMasked(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	out, err := apply(t, p.Service(""), planOfSecrets)
	if err != nil {
		t.Fatal(err)
	}
	if text := strings.Join(out.Warnings, "\n"); !strings.Contains(text, "secret pin has less than four characters: it is not masked") || strings.Contains(text, "123") {
		t.Errorf("the warnings are %q", text)
	}
	for name, want := range map[string]string{"pin": "123", "token": "tok-12345678"} {
		path := filepath.Join(p.Project.Secrets(), name)
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm() != 0o600 || verbtest.Read(t, path) != want {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
	if s := p.State(); strings.Join(s.Secrets, " ") != "pin token" || s.Task("say").Command != "echo [REDACTED:token]" {
		t.Errorf("the board has %q, %q", s.Secrets, s.Task("say").Command)
	}
}

func TestSecretsInMemoryStandInNoFile(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	p.Config.Secrets.Store = "memory"
	d := p.Service("")
	if _, err := apply(t, d, planOfSecrets); err == nil || !strings.Contains(err.Error(), "only `liza run` can keep them") {
		t.Errorf("a process that ends at once accepts them: %v", err)
	}
	d.Board.Held = &board.HeldSecrets{Memory: true}
	if _, err := apply(t, d, planOfSecrets); err != nil {
		t.Fatal(err)
	}
	values, missing, err := d.Board.Vault().SecretsOf([]string{"token", "pin", "other", "../state.yaml"})
	if err != nil || len(values) != 2 || values["token"] != "tok-12345678" || strings.Join(missing, " ") != "other ../state.yaml" {
		t.Errorf("got %v, missing %q, %v", values, missing, err)
	}
	if _, err := os.Stat(filepath.Join(p.Project.Secrets(), "token")); err == nil {
		t.Error("there is a file")
	}
	if strings.Contains(verbtest.Read(t, p.Project.State()), "tok-12345678") {
		t.Error("the board has the value")
	}
}

func TestSecretsEndWithTheGoal(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	d := p.Service("")
	if _, err := apply(t, d, planOfSecrets); err != nil {
		t.Fatal(err)
	}
	mine := filepath.Join(p.Project.Secrets(), "mine")
	verbtest.Write(t, mine, "put-by-a-person\n")
	if _, err := sprint.Abort(context.Background(), d, "no need", true); err != nil {
		t.Fatal(err)
	}
	if s := p.State(); len(s.Secrets) > 0 {
		t.Errorf("the board still has %q", s.Secrets)
	}
	left, _ := filepath.Glob(filepath.Join(p.Project.Secrets(), "[a-z]*"))
	if len(left) != 1 || left[0] != mine {
		t.Errorf("there are %q", left)
	}
}
