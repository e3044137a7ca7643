package cli

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"liza/pkg/team/assembly"
)

func TestLongWorkSaysThatItGoesOn(t *testing.T) {
	t.Parallel()
	for took, want := range map[time.Duration]string{
		900 * time.Millisecond: "", 1500 * time.Millisecond: "looks … 1s\n", 12500 * time.Millisecond: "looks … 1s\nlooks … 11s\n"} {
		synctest.Test(t, func(t *testing.T) {
			var out, errs bytes.Buffer
			e := &Env{System: assembly.Environment{Stdout: &out, Stderr: &errs}}
			e.direct.out, e.direct.errs = &out, &errs
			err := e.slow("looks", func(context.Context, []string) error {
				time.Sleep(took)
				fmt.Fprint(e.System.Stdout, "found")
				return nil
			})(t.Context(), nil)
			if err != nil || errs.String() != want || out.String() != "found" || e.System.Stdout != &out {
				t.Errorf("after %s stderr has %q, want %q; stdout %q, %v", took, errs.String(), want, out.String(), err)
			}
		})
	}
}

// On a terminal the line is drawn again, and is gone before anything else is written.
func TestTheLineOfAProgressIsTakenAwayByWhatIsWritten(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	p := &progress{what: "looks", to: &out, live: true}
	p.tick()
	p.tick()
	fmt.Fprint(after{p, &out}, "found\n")
	p.clear()
	if got, want := out.String(), "\r\x1b[Klooks … 1s\r\x1b[Klooks … 2s\r\x1b[Kfound\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if strings.Count(out.String(), "\n") != 1 {
		t.Error("the line stays on the screen")
	}
}
