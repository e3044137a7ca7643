package pkg_test

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// beforeTheRule is the last commit that need not follow the form of commits.
const beforeTheRule = "bde982dfe243728ed96d44c52086585615a8061f"

const (
	longestSubject = 69
	needsReason    = 50  // more changed lines than this need a body
	mostCommits    = 500 // newest ones; older ones were looked at in their time
)

// A commit is what `git log --numstat` tells of one.
type commit struct {
	id, subject, body string
	lines             int // added and removed, without generated files
}

var (
	subjectForm = regexp.MustCompile(`^[a-z0-9][a-z0-9./-]*(?:, [a-z0-9][a-z0-9./-]*)*: [a-z0-9].*[^.]$`)
	unfinished  = regexp.MustCompile(`(?i)\b(?:wip|fixup|squash|tmp)\b`)
	trailer     = regexp.MustCompile(`^[A-Z][A-Za-z-]+: `)
)

// madeFiles are written by `make generate` or by go; nobody reads them line by line.
var madeFiles = []string{"specs/commands.md", "specs/exit-codes.md", "specs/state-machines.md", "specs/traceability.md", "specs/config.schema.json",
	"specs/schemas/*", "man/*", "go.sum"}

// problems says what is wrong with a commit.
func (c commit) problems() []string {
	var wrong []string
	if !subjectForm.MatchString(c.subject) {
		wrong = append(wrong, "the subject must be `package: what it does`, in lower case, without a full stop")
	}
	if n := len([]rune(c.subject)); n > longestSubject {
		wrong = append(wrong, fmt.Sprintf("the subject has %d characters, at most %d are allowed", n, longestSubject))
	}
	if unfinished.MatchString(c.subject) {
		wrong = append(wrong, "it is not finished")
	}
	said := slices.ContainsFunc(strings.Split(c.body, "\n"), func(line string) bool { return strings.TrimSpace(line) != "" && !trailer.MatchString(line) })
	if c.lines > needsReason && !said {
		wrong = append(wrong, fmt.Sprintf("%d lines change, and no body says why", c.lines))
	}
	return wrong
}

// readLog reads the output of git log as commitsSince asks for it.
func readLog(text string) (list []commit) {
	for _, part := range strings.Split(text, "\x01") {
		fields := strings.SplitN(part, "\x00", 4)
		if len(fields) < 4 {
			continue
		}
		c := commit{id: fields[0], subject: fields[1], body: fields[2]}
		for _, line := range strings.Split(fields[3], "\n") {
			n := strings.SplitN(line, "\t", 3)
			if len(n) < 3 || slices.ContainsFunc(madeFiles, func(p string) bool { ok, _ := filepath.Match(p, n[2]); return ok }) {
				continue
			}
			added, _ := strconv.Atoi(n[0]) // "-" for a binary file
			removed, _ := strconv.Atoi(n[1])
			c.lines += added + removed
		}
		list = append(list, c)
	}
	return list
}

// commitsSince lists the commits after base. A shallow clone may lack base: then all that is there
// came later, but for its oldest commit, whose parents are missing.
func commitsSince(ctx context.Context, dir, base string) ([]commit, error) {
	git := func(arguments ...string) (string, error) {
		out, err := exec.CommandContext(ctx, "git", append([]string{"-C", dir}, arguments...)...).Output()
		return strings.TrimRight(string(out), "\n"), err
	}
	revisions := base + "..HEAD"
	if _, err := git("cat-file", "-e", base+"^{commit}"); err != nil {
		if shallow, err := git("rev-parse", "--is-shallow-repository"); err != nil || shallow != "true" {
			return nil, fmt.Errorf("the history has no commit %s: %v", base, err)
		}
		revisions = "HEAD"
	}
	text, err := git("log", "--no-merges", "--find-renames", "--numstat", "--max-count="+strconv.Itoa(mostCommits), "--format=%x01%H%x00%s%x00%b%x00", revisions)
	if err != nil {
		return nil, err
	}
	list := readLog(text)
	return slices.DeleteFunc(list, func(c commit) bool {
		_, err := git("rev-parse", "--verify", "--quiet", c.id+"^")
		return err != nil && revisions == "HEAD"
	}), nil
}

func TestCommitsSayWhy(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	list, err := commitsSince(ctx, "..", beforeTheRule)
	if err != nil {
		t.Skipf("the commits cannot be looked at: %v", err)
	}
	for _, c := range list {
		for _, p := range c.problems() {
			t.Errorf("%.10s %q: %s", c.id, c.subject, p)
		}
	}
}

func TestCommitsThatSayTooLittleAreNamed(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		c    commit
		want string
	}{
		{commit{subject: "store: refuse a stale lease", lines: 50}, ""},
		{commit{subject: "store, safefile: refuse a stale lease", lines: 51, body: "A late writer\ncould win."}, ""},
		{commit{subject: "store: refuse a stale lease", lines: 51, body: "\n"}, "51 lines change, and no body says why"},
		{commit{subject: "store: refuse a stale lease", lines: 51, body: "Signed-off-by: Ada <ada@localhost>\n"}, "51 lines change, and no body says why"},
		{commit{subject: "store: refuse a stale lease."}, "the subject must be `package: what it does`, in lower case, without a full stop"},
		{commit{subject: "Refuse a stale lease"}, "the subject must be `package: what it does`, in lower case, without a full stop"},
		{commit{subject: "store: wip"}, "it is not finished"},
		{commit{subject: "store: " + strings.Repeat("x", 63)}, "the subject has 70 characters, at most 69 are allowed"},
	} {
		if got := strings.Join(tt.c.problems(), "; "); got != tt.want {
			t.Errorf("%+v: %q, want %q", tt.c, got, tt.want)
		}
	}
}

// The log of a real repository, whole and in a shallow clone that lacks the beginning.
func TestCommitsAreReadInAShallowCloneToo(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	run := func(arguments ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "git", append([]string{"-c", "user.name=Ada", "-c", "user.email=ada@localhost"}, arguments...)...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v\n%s", arguments, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	run("init", "--quiet")
	run("commit", "--quiet", "--allow-empty", "-m", "Begin")
	base := run("rev-parse", "HEAD")
	for _, subject := range []string{"one: say it", "two: say it"} {
		run("commit", "--quiet", "--allow-empty", "-m", subject, "-m", "The reason.")
	}
	list, err := commitsSince(t.Context(), dir, base)
	if err != nil || len(list) != 2 || list[0].subject != "two: say it" || strings.TrimSpace(list[0].body) != "The reason." {
		t.Errorf("the commits are %+v, %v", list, err)
	}
	run("clone", "--quiet", "--depth", "2", "file://"+dir, "clone")
	if list, err = commitsSince(t.Context(), filepath.Join(dir, "clone"), base); err != nil || len(list) != 1 {
		t.Errorf("in a shallow clone the commits are %+v, %v", list, err)
	}
	if _, err = commitsSince(t.Context(), dir, strings.Repeat("1", 40)); err == nil {
		t.Error("a history without the base was looked at")
	}
}
