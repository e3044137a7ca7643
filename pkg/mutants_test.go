package pkg_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gopkg.in/yaml.v3"
)

// A mutant is one fault to put into the code, and the tests that have to see it.
type mutant struct {
	Name  string
	File  string // below the module's root
	From  string // is exactly once in the file
	To    string
	Tests string // arguments of go test: a package and, mostly, -run
}

// verdicts of one mutant.
const (
	killed   = "killed"
	survived = "SURVIVED"
	broken   = "does not compile"
)

// code returns the file with the fault in it.
func (m mutant) code() ([]byte, error) {
	text, err := os.ReadFile(filepath.Join("..", m.File))
	if err != nil {
		return nil, err
	}
	if n := strings.Count(string(text), m.From); n != 1 {
		return nil, fmt.Errorf("%s: its text is %d times in %s, want once: the code has moved", m.Name, n, m.File)
	}
	return []byte(strings.Replace(string(text), m.From, m.To, 1)), nil
}

// try runs the tests over the code with the fault in it. The tree is not touched: the
// compiler reads the file through an overlay.
func (m mutant) try(t *testing.T, code []byte, limit time.Duration) string {
	t.Helper()
	dir := t.TempDir()
	original, err := filepath.Abs(filepath.Join("..", m.File))
	if err != nil {
		t.Fatal(err)
	}
	changed, overlay := filepath.Join(dir, "changed.go"), filepath.Join(dir, "overlay.json")
	list, _ := json.Marshal(map[string]map[string]string{"Replace": {original: changed}})
	if err := errors.Join(os.WriteFile(changed, code, 0o600), os.WriteFile(overlay, list, 0o600)); err != nil {
		t.Fatal(err)
	}
	run := func(limit time.Duration, args ...string) ([]byte, error) {
		ctx, stop := context.WithTimeout(t.Context(), limit)
		defer stop()
		cmd := exec.CommandContext(ctx, "go", args...)
		cmd.Dir, cmd.WaitDelay = "..", 5*time.Second
		return cmd.CombinedOutput()
	}
	if out, err := run(10*time.Minute, "vet", "-overlay", overlay, strings.Fields(m.Tests)[0]); err != nil && strings.Contains(string(out), "changed.go") {
		return broken
	}
	args := append([]string{"test", "-overlay", overlay, "-count=1", "-failfast", "-timeout", limit.String()}, strings.Fields(m.Tests)...)
	out, err := run(limit+5*time.Minute, args...)
	if err != nil {
		return killed
	}
	if strings.Contains(string(out), "no tests to run") {
		t.Errorf("%s: %s: there is no such test", m.Name, m.Tests)
	}
	return survived
}

func namedMutants(t *testing.T) []mutant {
	t.Helper()
	data, err := os.ReadFile("../testdata/mutants.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var list []mutant
	if err := yaml.Unmarshal(data, &list); err != nil {
		t.Fatal(err)
	}
	return list
}

// The faults of testdata/mutants.yaml fit the code as it is: a list that has gone stale would
// prove nothing. With MUTANTS=named each is tried, and none may survive.
func TestNamedMutants(t *testing.T) {
	t.Parallel()
	list := namedMutants(t)
	if len(list) == 0 {
		t.Fatal("there are no mutants")
	}
	for _, m := range list {
		code, err := m.code()
		if err != nil {
			t.Error(err)
			continue
		}
		if os.Getenv("MUTANTS") != "named" {
			continue
		}
		t.Run(m.Name, func(t *testing.T) {
			if verdict := m.try(t, code, 3*time.Minute); verdict != killed {
				t.Errorf("%s: %s", verdict, m.Tests)
			}
		})
	}
}
