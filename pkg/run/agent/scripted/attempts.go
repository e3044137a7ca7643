package scripted

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/gofrs/flock"
)

// nextAttempt counts the runs of a scenario, role and task, over all processes: 0 for the
// first. dir is `.liza/tmp/scripted` of the project and is made when it is missing.
func nextAttempt(dir, scenario, role, task string) (int, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return 0, fmt.Errorf("cannot count the attempts: %v", err)
	}
	lock := flock.New(filepath.Join(dir, "lock"))
	if err := lock.Lock(); err != nil {
		return 0, fmt.Errorf("cannot count the attempts: %v", err)
	}
	defer lock.Close()

	key := sha256.Sum256([]byte(scenario + "\x00" + role + "\x00" + task))
	file := filepath.Join(dir, hex.EncodeToString(key[:12]))
	n := 0
	data, err := os.ReadFile(file)
	if err == nil {
		n, err = strconv.Atoi(strings.TrimSpace(string(data)))
	} else if errors.Is(err, os.ErrNotExist) {
		err = nil
	}
	if err != nil {
		return 0, fmt.Errorf("cannot count the attempts: %v", err)
	}
	next := file + ".new"
	if err := os.WriteFile(next, []byte(strconv.Itoa(n+1)+"\n"), 0o644); err != nil {
		return 0, fmt.Errorf("cannot count the attempts: %v", err)
	}
	if err := os.Rename(next, file); err != nil {
		return 0, fmt.Errorf("cannot count the attempts: %v", err)
	}
	return n, nil
}
