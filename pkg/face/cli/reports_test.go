package cli_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// How the script of a report ends; any other exit code proves nothing.
const cannotBeShown = 8 // on this machine

// Each script of testdata/reports shows a defect that was reported from outside, and ends with 0 where it is mended.
func TestWhatWasReportedIsMended(t *testing.T) {
	t.Parallel()
	scripts, err := filepath.Glob(filepath.Join("../../../testdata/reports", "*.sh"))
	if err != nil || len(scripts) < 2 {
		t.Fatalf("testdata/reports has %d scripts: %v", len(scripts), err)
	}
	for _, script := range scripts {
		name := strings.TrimSuffix(filepath.Base(script), ".sh")
		if name == "lib" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, stop := context.WithTimeout(t.Context(), 3*time.Minute)
			defer stop()
			cmd := exec.CommandContext(ctx, "bash", script)
			cmd.Env = append(os.Environ(), "TMPDIR="+t.TempDir())
			cmd.WaitDelay = 5 * time.Second
			out, err := cmd.CombinedOutput()
			if out = bytes.TrimSpace(out); cmd.ProcessState != nil && cmd.ProcessState.ExitCode() == cannotBeShown {
				t.Skipf("NOT RUN: %s", out)
			}
			if err != nil {
				t.Errorf("%s: %v: %s", script, err, out)
			}
		})
	}
}
