// Package scripts_test runs the scripts as somebody with an empty home folder would.
package scripts_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// inHome runs a command in the root of the repository, with nothing set but what finds tools and caches.
func inHome(t *testing.T, home string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
	cmd.Dir = ".."
	cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "SHELL=/bin/zsh", "GOFLAGS=-trimpath", "CGO_ENABLED=0"} // the flags of the Makefile: nothing is compiled twice
	for _, name := range []string{"GOCACHE", "GOMODCACHE", "GOPROXY", "GOSUMDB", "GOTOOLCHAIN"} {
		out, err := exec.CommandContext(t.Context(), "go", "env", name).Output()
		if err != nil {
			t.Fatal(err)
		}
		cmd.Env = append(cmd.Env, name+"="+strings.TrimSpace(string(out)))
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v\n%s", args, err, out)
	}
	return string(out)
}

func filesBelow(t *testing.T, dir string) (list []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(dir, path)
		if err == nil && !e.IsDir() && !strings.HasPrefix(rel, ".config") && !strings.HasPrefix(rel, "Library") { // what the go command notes for itself
			list = append(list, rel)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestInstallSaysWhatIsWhereAndUninstallLeavesNothing(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	out := inHome(t, home, "make", "install")
	files := filesBelow(t, home)
	for _, want := range []string{"go/bin/liza", "go/bin/liza-agent", "go/bin/liza-spawn", "go/bin/liza-telemetry", ".local/share/man/man1/liza.1", ".local/share/man/man1/liza-agent.1", ".local/share/man/man1/liza-telemetry.1",
		".local/share/man/man1/liza-run.1", ".local/share/bash-completion/completions/liza", ".local/share/zsh/site-functions/_liza", ".local/share/fish/vendor_completions.d/liza.fish"} {
		if !slices.Contains(files, want) {
			t.Errorf("%s is missing", want)
		}
	}
	for _, want := range []string{home + "/go/bin: liza liza-agent liza-spawn liza-telemetry", `export PATH="` + home + `/go/bin:$PATH"`, "fpath=(" + home + "/.local/share/zsh/site-functions $fpath)"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not said:\n%s", want, out)
		}
	}
	if got := inHome(t, home, filepath.Join(home, "go", "bin", "liza"), "version"); !strings.HasPrefix(got, "liza ") {
		t.Errorf("liza version says %q", got)
	}
	inHome(t, home, "make", "uninstall")
	if files := filesBelow(t, home); len(files) > 0 {
		t.Errorf("left: %v", files)
	}

	prefix := filepath.Join(home, "prefix")
	inHome(t, home, "make", "install", "PREFIX="+prefix)
	if files := filesBelow(t, home); !slices.Contains(files, "prefix/bin/liza") || slices.ContainsFunc(files, func(f string) bool { return !strings.HasPrefix(f, "prefix/") }) {
		t.Errorf("with a PREFIX of one's own: %v", files)
	}
	inHome(t, home, "make", "uninstall", "PREFIX="+prefix)
	if files := filesBelow(t, home); len(files) > 0 {
		t.Errorf("left: %v", files)
	}
}

func TestGoInstallWorksFromAClone(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	inHome(t, home, "go", "install", "./cmd/...")
	if got, want := filesBelow(t, home), []string{"go/bin/liza", "go/bin/liza-agent", "go/bin/liza-spawn"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
