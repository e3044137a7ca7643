package safefile

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// contendMark makes the test binary a process that locks, holds and unlocks in a loop; its
// value is the contest in JSON.
const contendMark = "SAFEFILE_TEST_CONTEND"

// contest is what every one of some processes does with a lock at the same time.
type contest struct {
	Path  string
	Hold  time.Duration
	Pause time.Duration // between two turns
	For   time.Duration
}

// share is what one process got of the lock.
type share struct {
	Count int
	Worst time.Duration // the longest wait
}

// contend runs in a process of its own: it says that it is ready, waits until its input
// ends, takes part, and prints its share.
func contend(mark string) error {
	var c contest
	if err := json.Unmarshal([]byte(mark), &c); err != nil {
		return err
	}
	fmt.Println("ready")
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		return err
	}
	var s share
	for end := time.Now().Add(c.For); time.Now().Before(end); s.Count++ {
		asked := time.Now()
		unlock, err := Lock(context.Background(), c.Path, Holder{PID: os.Getpid(), Op: "contend"})
		if err != nil {
			return err
		}
		s.Worst = max(s.Worst, time.Since(asked))
		<-time.After(c.Hold)
		if err := unlock(); err != nil {
			return err
		}
		if c.Pause > 0 {
			<-time.After(c.Pause)
		}
	}
	return json.NewEncoder(os.Stdout).Encode(s)
}

// fight lets one process for every contest run; begun is called when all were let go.
func fight(t testing.TB, begun func(), contests ...contest) []share {
	t.Helper()
	type process struct {
		cmd *exec.Cmd
		out *bufio.Reader
		in  io.Closer
	}
	var all []process
	for _, c := range contests {
		mark, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(os.Args[0])
		cmd.Env, cmd.Stderr = append(os.Environ(), contendMark+"="+string(mark)), os.Stderr
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
		p := process{cmd, bufio.NewReader(out), in}
		if line, err := p.out.ReadString('\n'); err != nil || line != "ready\n" {
			t.Fatalf("a contender says %q, %v", line, err)
		}
		all = append(all, p)
	}
	for _, p := range all {
		p.in.Close()
	}
	begun()
	shares := make([]share, len(all))
	for i, p := range all {
		if err := json.NewDecoder(p.out).Decode(&shares[i]); err != nil {
			t.Fatalf("contender %d has no result: %v", i, err)
		}
	}
	return shares
}

// jain is the fairness index of the counts: 1 when all are equal, 1/n when one has it all.
func jain(shares []share) float64 {
	var sum, squares float64
	for _, s := range shares {
		sum += float64(s.Count)
		squares += float64(s.Count) * float64(s.Count)
	}
	return sum * sum / (float64(len(shares)) * squares)
}

func total(shares []share) (count int, worst time.Duration) {
	for _, s := range shares {
		count, worst = count+s.Count, max(worst, s.Worst)
	}
	return count, worst
}

// BenchmarkLock is the price of a lock that nobody else wants.
func BenchmarkLock(b *testing.B) {
	path := filepath.Join(b.TempDir(), "a.lock")
	h := Holder{PID: os.Getpid(), PIDStart: 4711, Host: "mac", Agent: "coder-2", Op: "submit"}
	for b.Loop() {
		unlock, err := Lock(b.Context(), path, h)
		if err != nil {
			b.Fatal(err)
		}
		if err := unlock(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkContendedLock has processes ask for the same lock without a pause, each holding
// it for 2 ms. No wait is longer than 10 s with 32 of them.
func BenchmarkContendedLock(b *testing.B) {
	for _, n := range []int{8, 32} {
		b.Run(fmt.Sprintf("processes=%d", n), func(b *testing.B) {
			const length = 3 * time.Second
			count, fairness, worst, runs := 0, 1.0, time.Duration(0), 0
			for b.Loop() {
				shares := fight(b, func() {}, same(n, contest{Path: filepath.Join(b.TempDir(), "a.lock"), Hold: 2 * time.Millisecond, For: length})...)
				c, w := total(shares)
				count, fairness, worst, runs = count+c, min(fairness, jain(shares)), max(worst, w), runs+1
			}
			b.ReportMetric(float64(count)/(float64(runs)*length.Seconds()), "locks/s")
			b.ReportMetric(fairness, "jain")
			b.ReportMetric(float64(worst.Milliseconds()), "worst-wait-ms")
			b.ReportMetric(0, "ns/op")
		})
	}
}

func same(n int, c contest) []contest {
	all := make([]contest, n)
	for i := range all {
		all[i] = c
	}
	return all
}
