package cli_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"gopkg.in/yaml.v3"
)

// reported is a defect that somebody has found from outside.
type reported struct {
	ID     string
	Issue  string // and the point of it
	Said   string
	Before string // the version in which it was found
	Mended string // the commit that ended it
	Seen   string // at which commits it was run
	Open   string // why it is still there
	Out    string // why it cannot be rebuilt
	Quick  bool
}

// How the script of a report ends; any other exit code proves nothing.
const (
	isMended = 0
	cannotBe = 8 // shown on this machine
	isThere  = 9
)

// builds lets one version be built at a time.
var builds sync.Mutex

// repositoryTop is the folder of the sources.
const repositoryTop = "../../.."

// Each defect that was reported from outside has its row and its script. The quick ones run with today's programs in each run;
// REPRODUCE=all or some IDs builds the versions before as well, and shows them red and today's green. See specs/testing.md, "Ledger of reports".
func TestWhatWasReportedIsMended(t *testing.T) {
	t.Parallel()
	wanted := strings.Fields(os.Getenv("REPRODUCE"))
	left := slices.DeleteFunc(slices.Clone(wanted), func(id string) bool { return id == "all" })
	for _, r := range readReports(t) {
		left = slices.DeleteFunc(left, func(id string) bool { return id == r.ID })
		if r.Out != "" || len(wanted) == 0 && !r.Quick || len(wanted) > 0 && !slices.Contains(wanted, "all") && !slices.Contains(wanted, r.ID) {
			continue
		}
		t.Run(r.ID, func(t *testing.T) {
			t.Parallel()
			if len(wanted) > 0 {
				bin, err := buildReported(t, r.Before)
				if err != nil {
					t.Fatal(err)
				}
				r.run(t, bin, r.Before, isThere)
			}
			want := isMended
			if r.Open != "" {
				want = isThere
			}
			r.run(t, "", "today", want)
		})
	}
	if len(left) > 0 {
		t.Errorf("there is no report %q; testdata/reports.yaml has them", left)
	}
}

// readReports returns the rows, each of which has its form, and a script.
func readReports(t *testing.T) (list []reported) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(repositoryTop, "testdata", "reports.yaml"))
	if err == nil {
		err = yaml.Unmarshal(data, &list)
	}
	scripts, err2 := filepath.Glob(filepath.Join(repositoryTop, "testdata", "reports", "*.sh"))
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	rows := map[string]bool{"lib": true}
	for _, r := range list {
		ends := 0
		for _, end := range []string{r.Seen, r.Open, r.Out} {
			ends += min(len(end), 1)
		}
		if r.ID == "" || r.Issue == "" || r.Said == "" || r.Before == "" || r.Mended == "" || ends != 1 || rows[r.ID] || r.Open != "" && r.Quick {
			t.Errorf("testdata/reports.yaml: the row %q is not whole, or is there twice: %+v", r.ID, r)
		}
		if rows[r.ID] = true; r.Seen != "" && !strings.HasPrefix(r.Seen, "red at "+r.Before+", green at ") {
			t.Errorf("testdata/reports.yaml: %s was seen %q; want red at %s", r.ID, r.Seen, r.Before)
		}
		if r.Out == "" && !slices.Contains(scripts, r.script()) {
			t.Errorf("testdata/reports.yaml: %s has no script %s", r.ID, r.script())
		}
	}
	for _, script := range scripts {
		if !rows[strings.TrimSuffix(filepath.Base(script), ".sh")] {
			t.Errorf("testdata/reports.yaml has no row for %s", script)
		}
	}
	return list
}

func (r reported) script() string {
	return filepath.Join(repositoryTop, "testdata", "reports", r.ID+".sh")
}

// run runs the script of a report with the programs of a folder, or with those of the tests.
func (r reported) run(t *testing.T, bin, version string, want int) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), 3*time.Minute)
	defer stop()
	cmd := exec.CommandContext(ctx, "bash", r.script())
	cmd.Env = append(os.Environ(), "TMPDIR="+t.TempDir())
	if bin != "" {
		cmd.Env = append(cmd.Env, "PATH="+bin+string(filepath.ListSeparator)+os.Getenv("PATH"))
	}
	cmd.WaitDelay = 5 * time.Second
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	began := time.Now()
	err := cmd.Run()
	t.Logf("%s: %s (%s)", version, bytes.TrimSpace(out.Bytes()), time.Since(began).Round(time.Second/10))
	if cmd.ProcessState != nil && cmd.ProcessState.ExitCode() == cannotBe {
		t.Skipf("NOT RUN: %s", bytes.TrimSpace(out.Bytes()))
	}
	if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != want {
		t.Errorf("%s: the script %s says %v, want exit code %d", version, r.script(), err, want)
	}
}

// buildReported returns the folder with the programs of a commit, below the cache folder of the user.
func buildReported(t *testing.T, commit string) (bin string, err error) {
	t.Helper()
	builds.Lock()
	defer builds.Unlock()
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	bin = filepath.Join(cache, "liza-reports", commit)
	if _, err := os.Stat(filepath.Join(bin, "liza-agent")); err == nil {
		return bin, nil
	}
	dir := t.TempDir()
	build := exec.CommandContext(t.Context(), "sh", "-ec", `git archive -o "$2/source.tar" "$1"; cd "$2"; tar -xf source.tar; mkdir built; go build -o built/ ./cmd/...; mkdir -p "$3"; mv built/* "$3"`,
		"sh", commit, dir, bin)
	build.Dir = repositoryTop
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("cannot build %s: %w\n%s", commit, err, out)
	}
	return bin, nil
}
