package pkg_test

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"gopkg.in/yaml.v3"
)

// A mend is a commit of the history that changed code and a test, and what becomes of today's tests when its code alone is
// taken back. One of the last five is set, or none where it was not tried yet.
type mend struct {
	Commit  string
	Subject string
	Taken   string `yaml:",omitempty"` // what can be taken back: whole, or the numbers of some hunks
	Noticed string `yaml:",omitempty"` // the package and the test that sees it
	Written string `yaml:",omitempty"` // the same, of a test that was written because nothing saw it
	Cannot  string `yaml:",omitempty"` // why it cannot be taken back
	Same    string `yaml:",omitempty"` // why a user or a test could not see it: it made the code another, not what it does
	Debt    string `yaml:",omitempty"` // nothing sees it, and what is missing
	Quick   bool   `yaml:",omitempty"` // taken back by each `make test`
}

const (
	undoFile = "../testdata/undo.yaml"
	undoHead = `# Mends of the history whose code alone was taken back from the tree, and which of today's tests noticed it. Those that are not
# here were not looked at. "taken" is whole, or the numbers of the hunks of its code that can still be taken back; what has
# that alone was not tried. ` + "`make undo`" + ` tries some again; ` + "`make undo N UPDATE=1`" + ` tries N others and writes them here. "same" and "debt"
# are written by people.
`
	whole = "whole"
)

func readMends(t *testing.T) (list []mend) {
	t.Helper()
	data, err := os.ReadFile(undoFile)
	if err == nil {
		err = yaml.Unmarshal(data, &list)
	}
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// writeMends writes the list in the order of the history.
func writeMends(t *testing.T, list []mend, history []mend) {
	t.Helper()
	place := map[string]int{}
	for i, m := range history {
		place[m.Commit] = i
	}
	slices.SortStableFunc(list, func(a, b mend) int { return cmp.Compare(place[a.Commit], place[b.Commit]) })
	data, err := yaml.Marshal(list)
	if err == nil {
		err = os.WriteFile(undoFile, append([]byte(undoHead), data...), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// What the list says of the mends has its form, and its commits are those of the history. Some quick ones are taken back in
// each run, and each is noticed. UNDO=N tries N others of the list again, chosen by UNDO_SEED; UNDO_UPDATE=1 tries the N newest that are not in it
// and writes what became of them. See specs/testing.md, "Undone mends".
func TestUndoneMendsAreNoticed(t *testing.T) {
	t.Parallel()
	list, p := readMends(t), openPast(t)
	history := p.mends(t)
	known := map[string]string{}
	for _, m := range history {
		known[m.Commit] = m.Subject
	}
	for _, m := range list {
		said := 0
		for _, word := range []string{m.Noticed, m.Written, m.Cannot, m.Same, m.Debt} {
			said += min(len(word), 1)
		}
		if said > 1 || said == 0 && m.Taken == "" || (m.Taken == "") != (m.Cannot != "") || known[m.Commit] != m.Subject {
			t.Errorf("testdata/undo.yaml: %s %q says %d things, taken %q; of the history it is %q", m.Commit, m.Subject, said, m.Taken, known[m.Commit])
		}
		delete(known, m.Commit) // once
	}
	n, _ := strconv.Atoi(os.Getenv("UNDO"))
	switch u := newUndoer(t, p); {
	case os.Getenv("UNDO_UPDATE") != "":
		u.extend(list, history, n)
	case n > 0:
		seed, _ := strconv.ParseUint(os.Getenv("UNDO_SEED"), 10, 64)
		seen := slices.DeleteFunc(list, func(m mend) bool { return m.test() == "" || !wantsMend(m) })
		rand.New(rand.NewPCG(seed, 0)).Shuffle(len(seen), func(i, j int) { seen[i], seen[j] = seen[j], seen[i] })
		u.again(seen[:min(n, len(seen))], 0)
	default:
		u.again(slices.DeleteFunc(list, func(m mend) bool { return !m.Quick }), 2)
	}
}

// The totals of the list, as specs/testing.md has them.
func TestGeneratedTotalsOfUndoneMends(t *testing.T) {
	t.Parallel()
	page := filepath.Join("..", "specs", "testing.md")
	is, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	should := between(t, is, "<!-- Generated from testdata/undo.yaml by `make generate`; do not edit from here … -->", totals(readMends(t)))
	switch {
	case bytes.Equal(is, should):
	case *update:
		if err := os.WriteFile(page, should, 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Error("specs/testing.md differs from testdata/undo.yaml; run `make generate` and look at the difference")
	}
}

// totals is the table of what became of the mends of the list.
func totals(list []mend) string {
	count := map[string]int{}
	for _, m := range list {
		for kind, is := range map[string]bool{
			"noticed": m.Noticed != "", "written": m.Written != "", "same": m.Same != "", "debt": m.Debt != "", "comments": strings.HasPrefix(m.Cannot, "only comments"),
			"compile": strings.Contains(m.Cannot, "compile"), "cannot": m.Cannot != "", whole: m.Taken == whole, "part": m.Taken != "" && m.Taken != whole,
		} {
			if is {
				count[kind]++
			}
		}
	}
	taken := count["noticed"] + count["written"] + count["debt"]
	percent := func(n int) string { return fmt.Sprintf("%d (%.1f %%)", n, 100*float64(n)/float64(max(taken, 1))) }
	var b strings.Builder
	b.WriteString("| mends | |\n|---|---|\n")
	for _, row := range []struct {
		what string
		n    string
	}{
		{"looked at", strconv.Itoa(len(list))},
		{"cannot be undone: the code has been rewritten since", strconv.Itoa(count["cannot"] - count["compile"] - count["comments"])},
		{"cannot be undone: the rest does not compile without it", strconv.Itoa(count["compile"])},
		{"only comments differ", strconv.Itoa(count["comments"])},
		{"can be undone: the whole", strconv.Itoa(count[whole])},
		{"can be undone: a part", strconv.Itoa(count["part"])},
		{"not tried yet", strconv.Itoa(count[whole] + count["part"] - count["same"] - taken)},
		{"undone, and what it does is the same", strconv.Itoa(count["same"])},
		{"undone, and what it does is another", strconv.Itoa(taken)},
		{"of these noticed by the tests that were there", percent(count["noticed"])},
		{"noticed by a test that was written for it", percent(count["written"])},
		{"noticed by nothing yet", percent(count["debt"])},
	} {
		fmt.Fprintf(&b, "| %s | %s |\n", row.what, row.n)
	}
	return b.String()
}

// test is the test that notices a mend's undoing.
func (m mend) test() string { return cmp.Or(m.Noticed, m.Written) }

// An undoer takes mends back and runs tests over what is left.
type undoer struct {
	t    *testing.T
	past *past
	at   map[string]string // the package of each test
	jail bool
}

func newUndoer(t *testing.T, p *past) *undoer {
	t.Helper()
	u := &undoer{t, p, map[string]string{}, canJail(t)}
	function := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
	err := filepath.WalkDir(".", func(file string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() || !strings.HasSuffix(file, "_test.go") {
			return err
		}
		text, err := os.ReadFile(file)
		for _, m := range function.FindAllSubmatch(text, -1) {
			u.at[string(m[1])] = filepath.ToSlash(filepath.Dir(file))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// again takes mends of the list back, each of which has to be noticed by its test. Of those whose code has changed since
// then, at least so many have to be left.
func (u *undoer) again(list []mend, least int) {
	u.t.Helper()
	tried := 0
	for _, m := range list {
		undone, cannot := u.take(m)
		if cannot != "" {
			u.t.Logf("%s %s cannot be undone any more: %s", m.Commit, m.Subject, cannot)
			continue
		}
		tried++
		pkg, test, _ := strings.Cut(m.test(), " ")
		began := time.Now()
		verdict, failed := u.run(undone.overlay, pkg, strings.Fields(test))
		u.t.Logf("%s %s: %s %s (%s)", m.Commit, m.Subject, verdict, failed, time.Since(began).Round(time.Second/10))
		if verdict != killed {
			u.t.Errorf("%s %q is undone, and %s says: %s; see specs/testing.md, \"Undone mends\"", m.Commit, m.Subject, m.test(), verdict)
		}
	}
	if tried < least {
		u.t.Errorf("%d mends of the list can still be undone, want %d: choose other quick ones, `make undo N UPDATE=1` finds some", tried, least)
	}
}

// extend looks at what is not in the list, tries the newest n that can be taken back and were not tried, and writes what came of them.
func (u *undoer) extend(list, history []mend, n int) {
	u.t.Helper()
	if !u.jail {
		u.t.Fatalf("mends are undone where processes are their own: %s has to work (root, or user namespaces)", strings.Join(jail[:5], " "))
	}
	for _, m := range history {
		if !wantsMend(m) {
			continue
		}
		at := slices.IndexFunc(list, func(o mend) bool { return o.Commit == m.Commit })
		if at < 0 {
			at, list = len(list), append(list, u.look(m))
			u.t.Logf("%s %s: taken %q, cannot %q", m.Commit, m.Subject, list[at].Taken, list[at].Cannot)
			writeMends(u.t, slices.Clone(list), history)
		}
		m.Taken = list[at].Taken
		if n <= 0 || m != list[at] || m.Taken == "" {
			continue
		}
		began := time.Now()
		list[at] = u.try(m)
		m = list[at]
		u.t.Logf("%s %s: taken %q, noticed %q, cannot %q, debt %q (%s)", m.Commit, m.Subject, m.Taken, m.Noticed, m.Cannot, m.Debt, time.Since(began).Round(time.Second))
		if m.Cannot == "" {
			n--
		}
		writeMends(u.t, slices.Clone(list), history)
	}
}

// look says of a mend whether it can be taken back: all of it, a part of it, or why it cannot.
func (u *undoer) look(m mend) mend {
	_, cannot, err := u.past.undo(m.Commit)
	if m.Taken = whole; cannot != "" {
		m.Taken = ""
	}
	if strings.Contains(cannot, " is another now") {
		_, m.Taken, cannot, err = u.past.part(m.Commit, "")
	}
	if m.Cannot = cannot; cannot != "" {
		m.Taken = ""
	}
	if err != nil {
		u.t.Fatal(err)
	}
	return m
}

// take takes a mend back as the list says.
func (u *undoer) take(m mend) (undone undoing, cannot string) {
	u.t.Helper()
	var err error
	if m.Taken == whole {
		undone, cannot, err = u.past.undo(m.Commit)
	} else {
		undone, _, cannot, err = u.past.part(m.Commit, m.Taken)
	}
	if err != nil {
		u.t.Fatal(err)
	}
	return undone, cannot
}

// try undoes a mend and says what came of it.
func (u *undoer) try(m mend) mend {
	undone, cannot := u.take(m)
	var dirs []string
	for _, file := range undone.files {
		if dir := "./" + path.Dir(file); !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	if cannot == "" && m.Taken == whole { // of a part it is known
		if out, err := u.command(10*time.Minute, append([]string{"go", "build", "-overlay", undone.overlay, "-o", os.DevNull}, dirs...)...); err != nil {
			cannot = "does not compile: " + problem(out)
		}
	}
	if cannot != "" {
		return u.less(m, cannot)
	}
	plan, err := u.plan(m.Commit, dirs)
	if err != nil {
		u.t.Fatal(err)
	}
	for _, group := range plan {
		verdict, test := u.run(undone.overlay, group[0], group[1:])
		switch verdict {
		case broken:
			return u.less(m, "does not compile: "+test)
		case killed:
			// A test that fails for another reason, such as a busy machine, notices nothing.
			without, _ := u.run("", group[0], strings.Fields(test))
			again, _ := u.run(undone.overlay, group[0], strings.Fields(test))
			if without == survived && again == killed {
				m.Noticed = strings.TrimSpace(group[0] + " " + test)
				return m
			}
			u.t.Logf("%s: %s says %s without it, and %s the second time", m.Commit, test, without, again)
		}
	}
	m.Debt = "nothing notices it"
	return m
}

// less tries a part of a mend that cannot be taken back as the list has it.
func (u *undoer) less(m mend, cannot string) mend {
	_, part, _, err := u.past.part(m.Commit, "")
	if err != nil {
		u.t.Fatal(err)
	}
	if part != "" && part != m.Taken {
		m.Taken = part
		return u.try(m)
	}
	m.Taken, m.Cannot = "", cannot
	return m
}

// wantsMend reports whether a mend is one of UNDO_ONLY, where that names some.
func wantsMend(m mend) bool {
	only := os.Getenv("UNDO_ONLY")
	return only == "" || strings.Contains(only, m.Commit)
}

// mostScripts bounds what is run for a commit that touched many.
const mostScripts = 8

// plan is the order of tests: those that the commit touched, its own packages first; then its scripts; then the packages of its code.
func (u *undoer) plan(commit string, dirs []string) (groups [][]string, err error) {
	touched, err := u.past.touched(commit, u.at)
	own := func(pkg string) bool { return slices.Contains(dirs, "./pkg/"+pkg) }
	var scripts []string
	for pkg, tests := range touched {
		slices.Sort(tests)
		if pkg == "face/cli" {
			scripts = slices.DeleteFunc(slices.Clone(tests), func(s string) bool { return !strings.HasPrefix(s, "TestScript/") })
			tests = slices.DeleteFunc(tests, func(s string) bool { return strings.HasPrefix(s, "TestScript") })
		}
		if pkg != "." && len(tests) > 0 {
			groups = append(groups, append([]string{pkg}, tests...))
		}
	}
	slices.SortFunc(groups, func(a, b []string) int {
		if own(a[0]) != own(b[0]) {
			return map[bool]int{true: -1, false: 1}[own(a[0])]
		}
		return cmp.Compare(a[0], b[0])
	})
	if len(scripts) > 0 {
		groups = append(groups, append([]string{"face/cli"}, scripts[:min(len(scripts), mostScripts)]...))
	}
	for _, dir := range dirs {
		if pkg, ok := strings.CutPrefix(dir, "./pkg/"); ok && pkg != "face/cli" {
			groups = append(groups, []string{pkg})
		}
	}
	return groups, err
}

var failedTest = regexp.MustCompile(`(?m)^\s*--- FAIL: ((?:Test|Fuzz|Example)\S+)`)

// run runs tests of a package, all without names, and returns the verdict and the test that failed.
func (u *undoer) run(overlay, pkg string, tests []string) (verdict, failed string) {
	args := []string{"go", "test", "-vet=off", "-count=1", "-failfast", "-timeout", "10m"}
	if overlay != "" {
		args = append(args, "-overlay", overlay)
	}
	if len(tests) > 0 {
		var names []string
		for _, name := range tests {
			names = append(names, exactly(name))
		}
		args = append(args, "-run", strings.Join(names, "|"))
	}
	out, err := u.command(20*time.Minute, append(args, "./pkg/"+pkg)...)
	text := string(out)
	if err != nil && overlay != "" {
		u.t.Logf("%s", text[max(0, len(text)-1500):])
	}
	switch {
	case err == nil && strings.Contains(text, "no tests to run"):
		return "there is no such test", ""
	case err == nil:
		return survived, ""
	case strings.Contains(text, "[build failed]"), strings.Contains(text, "[setup failed]"):
		return broken, problem(out)
	case len(tests) == 1:
		return killed, tests[0]
	default:
		for _, m := range failedTest.FindAllStringSubmatch(text, -1) {
			if m[1] != "TestScript" { // which has failed when one of the scripts has
				return killed, m[1]
			}
		}
		return killed, strings.Join(tests, " ")
	}
}

// problem is the first line of the compiler's that names a place.
func problem(out []byte) string {
	for _, line := range strings.Split(string(out), "\n") {
		if m := regexp.MustCompile(`^\S+?([^/\s]+\.go):\d+:\d+: (.*)$`).FindStringSubmatch(line); m != nil {
			return m[1] + ": " + m[2]
		}
	}
	return "the linker refuses it"
}

// command runs a program at the top of the tree, where the machine lets it with processes of its own: code without a mend
// may end others'. It and all that it left is ended after a while.
func (u *undoer) command(limit time.Duration, args ...string) ([]byte, error) {
	ctx, stop := context.WithTimeout(u.t.Context(), limit)
	defer stop()
	if u.jail {
		args = slices.Concat(jail[:5], []string{"sh", "-c", `"$@"; exit $?`, "sh"}, args)
	}
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir, cmd.WaitDelay = "..", 5*time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	if err != nil && ctx.Err() != nil {
		err = fmt.Errorf("it takes longer than %s: %w", limit, err)
	}
	return out.Bytes(), err
}
