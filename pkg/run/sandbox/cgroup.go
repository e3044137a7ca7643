package sandbox

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// findCgroups looks for them: by the group that a process is in, and where the tree is mounted. Each is tried.
func findCgroups(membership, mounts string) Cgroups {
	text, _ := os.ReadFile(membership)
	_, own, _ := strings.Cut("\n"+string(text), "\n0::")
	own, _, _ = strings.Cut(own, "\n")
	text, _ = os.ReadFile(mounts)
	for line := range strings.Lines(string(text)) {
		before, after, _ := strings.Cut(line, " - ")
		if f := strings.Fields(before); len(f) >= 5 && strings.HasPrefix(after, "cgroup2 ") {
			group := strings.TrimPrefix(own, strings.TrimSuffix(f[3], "/"))
			return Cgroups{Pids: usable(f[4], group, "pids"), Memory: usable(f[4], group, "memory")}
		}
	}
	return Cgroups{}
}

// limitFile is where a group takes its limit.
var limitFile = map[string]string{"pids": "pids.max", "memory": "memory.max"}

// usable is the nearest group at or above our own, below which one with this controller can be made and entered.
func usable(mounted, group, controller string) string {
	for dir := filepath.Join(mounted, group); within(dir, mounted); dir = filepath.Dir(dir) {
		trial := filepath.Join(dir, groupName())
		if os.Mkdir(trial, 0o755) != nil {
			continue
		}
		found := canWrite(filepath.Join(trial, limitFile[controller]))
		entered := canWrite(filepath.Join(dir, "cgroup.procs")) && canWrite(filepath.Join(trial, "cgroup.procs"))
		_ = os.Remove(trial)
		if found && entered {
			return dir
		}
	}
	return ""
}

func canWrite(path string) bool {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err == nil {
		f.Close()
	}
	return err == nil
}

const groupPrefix = "liza-"

// groupName returns a unique name, also among processes in other namespaces that share the tree. It has the time of its
// creation.
func groupName() string { return fmt.Sprintf("%s%d-%s", groupPrefix, time.Now().Unix(), rand.Text()) }

// groups are the control groups of one run: by folder of the parent, the values of files.
type groups map[string]map[string]int64

func (c Cgroups) plan(l Limits) groups {
	g := groups{}
	add := func(parent, controller string, limit int64) {
		if parent == "" || limit <= 0 {
			return
		}
		if g[parent] == nil {
			g[parent] = map[string]int64{}
		}
		g[parent][controller] = limit
	}
	add(c.Pids, "pids", int64(l.Processes))
	add(c.Memory, "memory", l.Memory)
	return g
}

func (g groups) countsProcesses() bool { return g.counts("pids") }
func (g groups) countsMemory() bool    { return g.counts("memory") }

func (g groups) counts(controller string) bool {
	for _, limits := range g {
		if limits[controller] > 0 {
			return true
		}
	}
	return false
}

// make makes the groups and returns their folders. It removes those of killed processes.
func (g groups) make() (folders []string, err error) {
	for parent, limits := range g {
		sweepGroups(parent)
		dir := filepath.Join(parent, groupName())
		if err = os.Mkdir(dir, 0o755); err == nil {
			folders = append(folders, dir)
			for controller, limit := range limits {
				err = errors.Join(err, writeLimit(dir, controller, limit))
			}
		}
		if err != nil {
			for _, dir := range folders {
				_ = os.Remove(dir)
			}
			return nil, fmt.Errorf("cannot make the control group %s: %w", dir, err)
		}
	}
	return folders, nil
}

func writeLimit(dir, controller string, limit int64) error {
	f, err := os.OpenFile(filepath.Join(dir, limitFile[controller]), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(strconv.FormatInt(limit, 10))
	return errors.Join(err, f.Close())
}

// groupIdle is how long a group may be empty before its program is in it.
const groupIdle = time.Hour

// sweepGroups removes empty groups that no program will enter any more. The kernel refuses to remove one in which anything runs.
// Who made one is not asked: a process of another namespace cannot be seen from here.
func sweepGroups(parent string) {
	list, _ := filepath.Glob(filepath.Join(parent, groupPrefix+"*"))
	for _, dir := range list {
		made, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(dir), groupPrefix), "-")
		if at, err := strconv.ParseInt(made, 10, 64); err == nil && time.Since(time.Unix(at, 0)) > groupIdle {
			_ = os.Remove(dir)
		}
	}
}
