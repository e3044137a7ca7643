package agent

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"
)

// Versions remembers what programs said when they were asked for their version, for as long as
// their files are what they were.
type Versions struct {
	mu    sync.Mutex
	known map[string]string // by file, size and time
}

// versionTimeout is how long a run waits for the version of its program, once a process.
const versionTimeout = 15 * time.Second

// versionNumber is what is taken of the line that a program prints.
var versionNumber = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\d+\.\d+[\w.+-]*`) })

// Of is the version of a program, "" when it does not tell.
func (v *Versions) Of(ctx context.Context, a Adapter) string {
	p, ok := a.(*entryProgram)
	if !ok || len(p.entry.Version) == 0 {
		return ""
	}
	path, err := exec.LookPath(p.entry.Version[0])
	if err != nil {
		return ""
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	info, err := os.Stat(path)
	if err != nil {
		return ""
	}
	key := fmt.Sprint(p.name, " ", path, " ", info.Size(), " ", info.ModTime().UnixNano())
	v.mu.Lock() // also while it is asked: who wants the same waits for it
	defer v.mu.Unlock()
	if version, ok := v.known[key]; ok {
		return version
	}
	ctx, cancel := context.WithTimeout(ctx, versionTimeout)
	defer cancel()
	said, _ := p.ask(ctx, p.entry.Version)
	version := versionNumber().FindString(firstLine(clean(said)))
	if v.known == nil {
		v.known = map[string]string{}
	}
	v.known[key] = version
	return version
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return line
}
