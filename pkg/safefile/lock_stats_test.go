package safefile

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// use1 locks and unlocks once.
func use1(t *testing.T, path string) {
	t.Helper()
	unlock, err := Lock(within(t, 10*time.Second), path, Holder{PID: os.Getpid(), Host: "mac", Agent: "coder-1", Op: "claim"})
	if err != nil {
		t.Fatal(err)
	}
	if err := unlock(); err != nil {
		t.Fatal(err)
	}
	if err := unlock(); err != nil {
		t.Fatalf("unlock again: %v", err)
	}
}

func TestUsesOfTheLockAreCounted(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.lock")
	if s, err := ReadLockStats(path); err != nil || s != (LockStats{}) || s.String() != "never used" {
		t.Fatalf("before the first use: %+v, %v", s, err)
	}
	began := time.Now()
	for range 3 {
		use1(t, path)
	}
	unlock, err := Lock(t.Context(), path, Holder{PID: 7, Host: "mac", Agent: "coder-2", Op: "submit"})
	if err != nil {
		t.Fatal(err)
	}
	const hold = 60 * time.Millisecond
	asks, waited := make(chan bool), make(chan error)
	asked := time.Now()
	go func() {
		close(asks)
		unlock, err := Lock(t.Context(), path, Holder{PID: 8})
		if err == nil {
			err = unlock()
		}
		waited <- err
	}()
	<-asks
	<-time.After(hold)
	if err := unlock(); err != nil {
		t.Fatal(err)
	}
	if err := <-waited; err != nil {
		t.Fatal(err)
	}
	took := time.Since(asked)

	s, err := ReadLockStats(path)
	if err != nil {
		t.Fatal(err)
	}
	if s.Count != 5 || s.Killed != 0 || s.Since.Before(began.Add(-time.Second)) || s.Since.After(time.Now()) {
		t.Errorf("got %+v", s)
	}
	if s.Hold.Max < hold || s.Hold.Max > took || s.Hold.Total < s.Hold.Max {
		t.Errorf("held for at most %s, %s altogether, want at least %s", s.Hold.Max, s.Hold.Total, hold)
	}
	if s.Wait.Max < time.Millisecond || s.Wait.Max > took {
		t.Errorf("waited at most %s, want at least a moment and no more than %s", s.Wait.Max, took)
	}
	if l := s.Longest; l.PID != 7 || l.Host != "mac" || l.Agent != "coder-2" || l.Op != "submit" || l.Since.Before(s.Since) {
		t.Errorf("the longest was %+v", l)
	}
	if text := s.String(); !strings.Contains(text, "5 uses since") || !strings.Contains(text, "by coder-2 (pid 7, host mac, submit) at ") {
		t.Errorf("it reads %q", text)
	}
	info, err := os.Stat(queuePath(path))
	if err != nil || info.Size() != int64(recordSize) {
		t.Errorf("the file has %d bytes, %v, want %d", info.Size(), err, recordSize)
	}
}

func TestDamagedOrMissingStatisticsDoNotStopTheLock(t *testing.T) {
	t.Parallel()
	good := (&LockStats{Since: time.Now(), Count: 9}).encode()
	flipped := append([]byte(nil), good...)
	flipped[40] ^= 1
	for name, data := range map[string]string{
		"text": "what is this?", "zeros": strings.Repeat("\x00", recordSize), "half": string(good[:100]), "a bit": string(flipped),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), ".liza", "a.lock")
			if err := os.Mkdir(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			write(t, queuePath(path), data)
			_, err := ReadLockStats(path)
			if want := "cannot read the statistics of .liza/a: damaged; the next use of the lock begins anew"; err == nil || err.Error() != want {
				t.Errorf("got %v, want %s", err, want)
			}
			use1(t, path)
			if s, err := ReadLockStats(path); err != nil || s.Count != 1 {
				t.Errorf("after one use: %d, %v", s.Count, err)
			}
			if err := os.Remove(queuePath(path)); err != nil {
				t.Fatal(err)
			}
			use1(t, path)
		})
	}
}

func TestTheLockWorksWithoutAQueue(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, obstacle := range map[string]func(path string) error{
		"folder": func(path string) error { return os.Mkdir(path, 0o755) },
		"link":   func(path string) error { return os.Symlink(filepath.Join(dir, "target"), path) },
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(dir, name+".lock")
			if err := obstacle(queuePath(path)); err != nil {
				t.Fatal(err)
			}
			use1(t, path)
			_, kill := holder(t, path)
			if _, err := Lock(within(t, 50*time.Millisecond), path, Holder{PID: 1}); err == nil {
				t.Error("the lock was granted twice")
			}
			kill()
			use1(t, path)
			if _, err := os.Stat(filepath.Join(dir, "target")); !os.IsNotExist(err) {
				t.Errorf("the link was followed: %v", err)
			}
		})
	}
}

func TestKilledHoldersAreCountedAndLeaveTheStatisticsWhole(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.lock")
	_, kill := holder(t, path)
	kill()
	use1(t, path)
	if s, err := ReadLockStats(path); err != nil || s.Count != 1 || s.Killed != 1 {
		t.Fatalf("after one killed holder: %+v, %v", s, err)
	}
	// Killed at any moment of lock, unlock and counting.
	count := uint64(1)
	for range 8 {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), contendMark+`={"Path":"`+path+`","For":60000000000}`)
		if err := cmd.Start(); err != nil { // its input is empty: it begins at once
			t.Fatal(err)
		}
		t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
		until(t, "it has used the lock", func() bool {
			s, err := ReadLockStats(path)
			return err == nil && s.Count > count+50
		})
		cmd.Process.Kill()
		cmd.Wait()
		s, err := ReadLockStats(path)
		if err != nil || s.Count <= count {
			t.Fatalf("after %d uses and a kill there are %d, %v", count, s.Count, err)
		}
		count = s.Count
	}
	use1(t, path)
	if s, err := ReadLockStats(path); err != nil || s.Count != count+1 || s.Killed > 9 {
		t.Errorf("in the end: %+v, %v, want %d uses", s, err, count+1)
	}
}

func TestPercentilesComeFromTheBuckets(t *testing.T) {
	t.Parallel()
	var d Durations
	if d.Percentile(99) != 0 || d.Mean() != 0 {
		t.Error("nothing was counted")
	}
	for range 98 {
		d.add(700 * time.Microsecond)
	}
	d.add(50 * time.Millisecond)
	d.add(time.Hour)
	for p, want := range map[float64]time.Duration{
		50: 1024 * time.Microsecond, 98: 1024 * time.Microsecond, 99: 65536 * time.Microsecond, 100: time.Hour,
	} {
		if got := d.Percentile(p); got != want {
			t.Errorf("%v %%: got %s, want %s", p, got, want)
		}
	}
	if want := (98*700*time.Microsecond + 50*time.Millisecond + time.Hour) / 100; d.Mean() != want {
		t.Errorf("on average %s, want %s", d.Mean(), want)
	}
	if got, want := d.String(), "36s on average, 99 % up to 65.5ms, longest 1h0m0s"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestStatisticsAreReadAsTheyWereWritten(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 21, 15, 0, 0, 123, time.UTC)
	s := LockStats{Since: at}
	for i := range 40 {
		s.add(use{wait: time.Duration(i) * time.Millisecond, hold: time.Microsecond << i, at: at, killed: i%2 == 0,
			holder: Holder{PID: i, PIDStart: 1 << 40, Host: "mac", Agent: "coder-1", Op: "submit"}})
	}
	got, err := decodeStats(s.encode())
	if err != nil || got != s {
		t.Errorf("got %+v, %v\nwant %+v", got, err, s)
	}
	s.Longest.Agent = strings.Repeat("ä", 100)
	if got, err = decodeStats(s.encode()); err != nil || got.Longest.Agent != strings.Repeat("ä", recordText/2) {
		t.Errorf("a long name became %q, %v", got.Longest.Agent, err)
	}
}
