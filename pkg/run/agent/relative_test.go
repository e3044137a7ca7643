package agent

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestRelativePathsOfAProgramAreThoseOfTheProject(t *testing.T) {
	t.Parallel()
	root := filepath.Join(t.TempDir(), "project")
	for _, name := range []string{"my-agent.sh", "tools/agent", "../beside.sh"} {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	in := func(name string) string { return filepath.Join(root, name) }
	for _, c := range []struct{ argv, want []string }{
		{[]string{"bash", "./my-agent.sh"}, []string{"bash", in("my-agent.sh")}},
		{[]string{"bash", "../beside.sh"}, []string{"bash", in("../beside.sh")}},
		{[]string{"./my-agent.sh", "./tools/agent"}, []string{in("my-agent.sh"), in("tools/agent")}},
		{[]string{"tools/agent"}, []string{in("tools/agent")}},
		{[]string{"./missing", "./missing"}, []string{in("missing"), "./missing"}}, // the program is named by its place, an argument may be anything
		{[]string{"my-agent.sh", "my-agent.sh", "tools/agent"}, []string{"my-agent.sh", "my-agent.sh", "tools/agent"}},
		{[]string{"sh", "{{.Worktree}}/my-agent.sh", "./tools"}, []string{"sh", "{{.Worktree}}/my-agent.sh", "./tools"}},
		{[]string{"{{.Worktree}}/my-agent.sh"}, []string{"{{.Worktree}}/my-agent.sh"}},
		{[]string{"/bin/sh", "-c", "./my-agent.sh --fast"}, []string{"/bin/sh", "-c", "./my-agent.sh --fast"}},
	} {
		a, err := Lookup("mine", Options{Root: root, Custom: map[string]Entry{"mine": {Command: c.argv}}})
		if err != nil {
			t.Fatal(err)
		}
		cmd, err := a.Command(Spec{Worktree: "{{.Worktree}}"})
		if err != nil || !slices.Equal(cmd.Argv, c.want) {
			t.Errorf("%q became %q (%v), want %q", c.argv, cmd.Argv, err, c.want)
		}
	}
}
