//go:build linux && !race

package power

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
	"gopkg.in/yaml.v3"
)

// A train is a sprint in a repository of its own, on a disk whose power goes again and again. Everything in it comes from its seed.
type train struct {
	seed    uint64
	r       *rand.Rand
	bin     string // the programs
	dir     string
	boots   int
	disk    *disk
	server  *fuse.Server
	stories map[string]int // steps that were done, by their kinds
	number  int            // of the last task, note or change

	boards map[int]map[string]bool // contents of state.yaml that Liza wrote, by revision
	acked  acknowledged
	trail  []string // what was done, for a failure
	aside  int      // worktrees that Liza set aside
	helped int      // times that a command which Liza named repaired the person's checkout
	said   int      // revision that the last answer acknowledged
	edited bool     // by hand, and not synced yet
	broken string   // what was acknowledged and is lost
}

// acknowledged is what holds after the last step that was answered with exit code 0.
type acknowledged struct {
	revision int
	journal  string
	refs     map[string]string
}

const (
	board   = "project/.liza/state.yaml"
	journal = "project/.liza/log.yaml"
)

// strict are folders of Liza's own: it has to sync them.
func strict(path string) bool {
	return path == "project/.liza" || strings.HasPrefix(path, "project/.liza/") || path == "project/.git/liza" || path == "project/.git/liza/snapshots"
}

func (t *train) mnt() string  { return filepath.Join(t.dir, "mnt") }
func (t *train) root() string { return filepath.Join(t.mnt(), "project") }

// boot mounts a disk, in whose place there is none.
func (t *train) boot(d *disk) error {
	t.boots++
	t.disk, d.renamed = d, t.written
	if err := os.MkdirAll(t.mnt(), 0o755); err != nil {
		return err
	}
	if err := os.MkdirAll(t.tmp(), 0o755); err != nil {
		return err
	}
	var err error
	t.server, err = d.mount(t.mnt())
	return err
}

func (t *train) tmp() string { return filepath.Join(t.dir, "tmp", strconv.Itoa(t.boots)) }

// halt ends what runs on the disk and takes it away.
func (t *train) halt() error {
	if t.server == nil {
		return nil
	}
	t.kill()
	ended := make(chan error, 1)
	go func(s *fuse.Server) { ended <- s.Unmount() }(t.server)
	t.server = nil
	select {
	case err := <-ended:
		if err != nil { // a process is there that could not be seen
			err = syscall.Unmount(t.mnt(), syscall.MNT_DETACH)
		}
		return err
	case <-time.After(time.Minute):
		return errors.New("the disk cannot be unmounted: another mount namespace has it")
	}
}

// kill ends all processes of the train, until there are none.
func (t *train) kill() {
	for range 1000 {
		if all := t.processes(); len(all) == 0 {
			return
		} else {
			for _, pid := range all {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		}
	}
}

func (t *train) mark() string { return "POWER_TRAIN=" + t.dir }

// processes are those of the train: they have its mark, or their folder is on its disk. Zombies have neither.
func (t *train) processes() (found []int) {
	all, _ := os.ReadDir("/proc")
	for _, e := range all {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		env, _ := os.ReadFile(filepath.Join("/proc", e.Name(), "environ"))
		cwd, _ := os.Readlink(filepath.Join("/proc", e.Name(), "cwd"))
		if bytes.Contains(env, []byte(t.mark())) || cwd == t.mnt() || strings.HasPrefix(cwd, t.mnt()+"/") {
			found = append(found, pid)
		}
	}
	return found
}

func (t *train) env() []string {
	home := filepath.Join(t.mnt(), "home")
	return []string{t.mark(), "HOME=" + home, "XDG_CONFIG_HOME=" + home, "XDG_RUNTIME_DIR=" + t.tmp(), "TMPDIR=" + t.tmp(), "USER=ada", "TERM=dumb",
		"GIT_CONFIG_GLOBAL=" + filepath.Join(home, ".gitconfig"), "GIT_CONFIG_NOSYSTEM=1", "LIZA_SANDBOX=open",
		"PATH=" + t.bin + ":" + os.Getenv("PATH")}
}

// An answer is what a command came to. Without power there is none.
type answer struct {
	code int
	text string
	dark bool
}

// run runs a command in the project's folder.
func (t *train) run(name string, args ...string) answer { return t.runIn("", name, args...) }

func (t *train) runIn(dir, name string, args ...string) answer {
	var out bytes.Buffer
	cmd := exec.Command(name, args...)
	if name == "liza" || name == "liza-agent" {
		cmd = exec.Command(filepath.Join(t.bin, name), args...)
	}
	// Not cmd.Dir: to find it on a disk without power would keep this process, which has to give the power.
	cmd.Args = append([]string{"sh", "-c", `cd "$0" && exec "$@"`, filepath.Join(t.root(), dir), cmd.Path}, args...)
	cmd.Path = "/bin/sh"
	cmd.Env, cmd.Stdout, cmd.Stderr = t.env(), &out, &out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = 10 * time.Second
	if err := cmd.Start(); err != nil {
		return answer{code: 1, text: err.Error()}
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	select {
	case <-done:
	case <-t.disk.lost:
		t.kill()
		<-done
	case <-time.After(2 * time.Minute):
		t.kill()
		<-done
		return answer{code: 1, text: "HANGS: " + out.String()}
	}
	t.aside += strings.Count(out.String(), "git could not read its worktree, which is kept as")
	select {
	case <-t.disk.lost:
		return answer{dark: true, text: out.String()}
	default:
		return answer{code: cmd.ProcessState.ExitCode(), text: out.String()}
	}
}

var revisionLine = regexp.MustCompile(`(?m)^revision: (\d+)$`)

func revisionOf(text string) int {
	if found := revisionLine.FindStringSubmatch(text); found != nil {
		n, _ := strconv.Atoi(found[1])
		return n
	}
	return 0
}

// written remembers each board that got its name by a rename, which is how Liza writes.
func (t *train) written(path string, content []byte) {
	if path != board {
		return
	}
	n := revisionOf(string(content))
	if t.boards[n] == nil {
		t.boards[n] = map[string]bool{}
	}
	t.boards[n][string(content)] = true
}

// ack takes down what holds now.
func (t *train) ack() {
	text, _ := t.disk.read(board)
	entries, _ := t.disk.read(journal)
	if t.boards[1] == nil && revisionOf(text) == 1 {
		t.written(board, []byte(text)) // init renames the folder
	}
	t.acked = acknowledged{revision: revisionOf(text), journal: entries, refs: t.refs(t.disk)}
}

// refs are the branches and what Liza keeps, as they stand on a disk.
func (t *train) refs(d *disk) map[string]string {
	all := map[string]string{}
	packed, _ := d.read("project/.git/packed-refs")
	for line := range strings.Lines(packed) {
		if commit, ref, ok := strings.Cut(strings.TrimSpace(line), " "); ok && strings.HasPrefix(ref, "refs/") {
			all[ref] = commit
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	var walk func(n *node, at string)
	walk = func(n *node, at string) {
		for name, below := range n.names {
			if below.isDir() {
				walk(below, at+name+"/")
			} else if !strings.HasSuffix(name, ".lock") {
				all[at+name] = strings.TrimSpace(string(below.data))
			}
		}
	}
	if refs := d.find("project/.git/refs"); refs != nil {
		walk(refs, "refs/")
	}
	return all
}

// A task as it stands on the board.
type task struct {
	ID             string `yaml:"id"`
	Status         string `yaml:"status"`
	AssignedTo     string `yaml:"assigned_to"`
	ReviewingBy    string `yaml:"reviewing_by"`
	Worktree       string `yaml:"worktree"`
	ReviewCommit   string `yaml:"review_commit"`
	ApprovedCommit string `yaml:"approved_commit"`
	MergeCommit    string `yaml:"merge_commit"`
}

func (t *train) tasks() []task {
	text, _ := t.disk.read(board)
	var doc struct {
		Tasks []task `yaml:"tasks"`
	}
	_ = yaml.Unmarshal([]byte(text), &doc)
	return doc.Tasks
}

func (t *train) next() int { t.number++; return t.number }

// fail notes what was lost. Only the first counts.
func (t *train) fail(format string, args ...any) {
	t.broken = cmp.Or(t.broken, fmt.Sprintf(format, args...))
}
