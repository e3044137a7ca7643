package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"liza/pkg/board/blackboard"
	"liza/pkg/team/assembly"
	"liza/pkg/verb/verb/verbtest"
)

// state.example.yaml is valid at the time that it tells of, and shows every section.
func TestTheExampleBlackboardIsValidAndComplete(t *testing.T) {
	t.Parallel()
	path, err := filepath.Abs(filepath.Join("..", "..", "..", "state.example.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var out, diagnostics bytes.Buffer
	env := &Env{System: assembly.Environment{Stdout: &out, Stderr: &diagnostics, Dir: t.TempDir(), Environ: []string{"PATH=" + os.Getenv("PATH"), "SKIP_SPEC_FILE_CHECK=1"}, Now: func() time.Time { return time.Date(2026, 1, 19, 15, 0, 0, 0, time.UTC) }}}
	if code := Liza([]string{"validate", path}, env); code != 0 || strings.TrimSpace(out.String()) != "VALID" {
		t.Errorf("validate exits with %d and says\n%s%s", code, out.String(), diagnostics.String())
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range blackboard.SettingKeys() {
		if !strings.Contains(string(data), "\n  "+key+": ") {
			t.Errorf("the section config of the example lacks %s", key)
		}
	}
	state := reflect.TypeFor[blackboard.State]()
	for i := range state.NumField() {
		key, _, _ := strings.Cut(state.Field(i).Tag.Get("yaml"), ",")
		if key != "" && key != "-" && !strings.Contains("\n"+string(data), "\n"+key+":") {
			t.Errorf("the example lacks the section %s", key)
		}
	}
}

// 4.6: copied into a project, the example has commits that are not there; validate failed without a rule or a line.
func TestTheExampleInAProjectIsJudgedByRuleAndLine(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	example, err := os.ReadFile(filepath.Join("..", "..", "..", "state.example.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	verbtest.Write(t, p.Project.State(), string(example))
	var out bytes.Buffer
	env := &Env{System: assembly.Environment{Stdout: &out, Stderr: &out, Dir: p.Dir, Environ: []string{"PATH=" + os.Getenv("PATH"), "XDG_STATE_HOME=" + p.StateHome()}, Now: time.Now}}
	if code := Liza([]string{"validate"}, env); code != 3 {
		t.Errorf("validate exits with %d", code)
	}
	for _, want := range []string{"ERROR V63 integration (line ", "ERROR V59 task-1 (line 39): merge commit 77aa01b is not in integration", "INVALID\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in\n%s", want, out.String())
		}
	}
}
