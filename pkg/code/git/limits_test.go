package git

import (
	"bufio"
	"bytes"
	"compress/zlib"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
)

// What git or a remote says is shortened where it is longer than the most of it, and nowhere else.
func TestWhatGitSaysIsShortenedAtItsLimit(t *testing.T) {
	t.Parallel()
	const most = 600
	for name, c := range map[string]struct{ said, want string }{
		"nothing":         {"", "failed without a message"},
		"words":           {"some\n words\n", "some words"},
		"its errors":      {"hint: try\nfatal: bad\nwarning: w\nerror: worse\n", "bad; worse"},
		"as long":         {strings.Repeat("a", most), strings.Repeat("a", most)},
		"longer":          {strings.Repeat("a", most+1), strings.Repeat("a", most) + "…"},
		"within a letter": {strings.Repeat("a", most-1) + "éb", strings.Repeat("a", most-1) + "…"},
	} {
		failed := &Error{Stderr: c.said}
		if got := failed.reason(); got != c.want {
			t.Errorf("%s: git says %q", name, got)
		}
		if got := words(failed, ""); got != c.want {
			t.Errorf("%s: a remote without words says %q", name, got)
		}
		remote := &Error{Stderr: "fatal: no\nremote: \nremote: " + strings.Join(strings.Fields(c.said), " ") + "\n"}
		if got := words(remote, ""); name != "nothing" && name != "its errors" && got != c.want {
			t.Errorf("%s: a remote says %q", name, got)
		}
	}
	for out, want := range map[string]string{
		"!\tmain:main\t[rejected] (stale info)\n":  "[rejected] (stale info)",
		"!\tmain:main\t[rejected] (atomic push)\n": "no", " \tmain:main\tdone\n": "no", "!\tmain:main\n": "no",
		"!\ta:a\tfirst\n!\tb:b\tsecond\x07\n": "first; second",
	} {
		if got := words(&Error{Stderr: "fatal: no"}, out); got != want {
			t.Errorf("of %q a person reads %q", out, got)
		}
	}
}

func TestACommandOfGitIsToldByItsName(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"log": "log", "log -1": "log", "-c": "-c", "-c a=b": "-c", "-c a=b log": "log", "-c a=b log main": "log", "-c a=b -c c=d log -1": "log",
		"worktree add x": "worktree add", "worktree": "worktree", "submodule update": "submodule update",
	} {
		err := &Error{Args: strings.Fields(args), ExitCode: 3, Stderr: "fatal: bad"}
		if got := err.Error(); got != "git "+want+": bad (exit 3)" {
			t.Errorf("%q is told as %q", args, got)
		}
	}
}

// An answer that git would not give is refused, and never read beyond its end.
func TestAnswersOfGitThatAreBrokenOffAreRefused(t *testing.T) {
	t.Parallel()
	const a, b = "1111111111111111111111111111111111111111", "2222222222222222222222222222222222222222"
	head := ":100644 100755 " + a + " " + b + " "
	for out, want := range map[string][]Change{
		"":                                    nil,
		head + "M\x00x\x00":                   {{"M", "x", "", "100755"}},
		head + "T\x00x\x00":                   {{"M", "x", "", "100755"}},
		head + "D\x00x\x00":                   {{"D", "x", "", "100644"}},
		head + "R90\x00x\x00y\x00":            {{"R", "y", "x", "100755"}},
		head + "R90\x00x\x00":                 {{"refused", "", "", ""}},
		head + "M\x00":                        {{"refused", "", "", ""}},
		":100644 100755 " + a + " M\x00x\x00": {{"refused", "", "", ""}},
		head + "M more\x00x\x00":              {{"refused", "", "", ""}},
	} {
		got, err := parseRaw(out)
		if err != nil {
			got = []Change{{"refused", "", "", ""}}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q is read as %q, %v", out, got, err)
		}
	}
	for line, want := range map[string]string{
		"1 M. N... 1 2 3 h i a file":         `["a file"]`,
		"1 M. S.M. 1 2 3 h i sub":            `["sub (submodule)"]`,
		"1 M. SC.. 1 2 3 h i sub":            `["sub (submodule: another commit)"]`,
		"u UU N... 1 2 3 4 h i j a file":     `["a file"]`,
		"? new file":                         `["new file"]`,
		"# branch.oid (initial)":             `[]`,
		"1 M. N... 1 2 3 h i":                "refused",
		"u UU N... 1 2 3 4 h i j":            "refused",
		"2 R. N... 1 2 3 h i R90 new\x00old": "refused",
	} {
		facts, err := parseStatus(line + "\x00")
		got := fmt.Sprintf("%q", facts.Dirty)
		if err != nil {
			got = "refused"
		}
		if got != want {
			t.Errorf("%q is read as %s, %v", line, got, err)
		}
	}
	facts, err := parseStatus("# branch.oid " + a + "\x00# branch.head (detached)\x00# branch.ab +1 -0\x00")
	if err != nil || facts.Head != a || facts.Branch != "" || !facts.Exists {
		t.Errorf("%+v, %v", facts, err)
	}
	if facts, err = parseStatus("# branch.head main\x00# branch.oid (initial)\x00"); err != nil || facts.Head != "" || facts.Branch != "main" {
		t.Errorf("%+v, %v", facts, err)
	}
}

// A list of patches that is cut off is shown as far as it goes, and says of which file the end is missing.
func TestPatchesThatAreCutOffSayWhere(t *testing.T) {
	t.Parallel()
	const hash = "1111111111111111111111111111111111111111"
	raw := func(kind string) string { return ":100644 100755 " + hash + " " + hash + " " + kind + "\x00" }
	all := raw("M") + "x\x00" + raw("R90") + "old\x00new\x00" + raw("T") + "z\x00" + raw("M") + "bin\x00" +
		"1\t2\tx\x00" + "3\t4\t\x00old\x00new\x00" + "5\t6\tz\x00" + "-\t-\tbin\x00\x00" +
		"diff --git a/x b/x\n@@ -1 +1 @@\n+x\n" + "diff --git a/old b/new\nrename\n@@ -2 +2 @@\n+new\n" +
		"diff --git a/z b/z\n@@ -3 +0 @@\n-z\n" + "diff --git a/z b/z\n@@ -0 +4 @@\n+z\n" + "diff --git a/bin b/bin\nBinary files differ\n"
	whole, err := parsePatches(all, false)
	if err != nil || len(whole) != 4 {
		t.Fatalf("%+v, %v", whole, err)
	}
	want := []FilePatch{
		{Change: Change{"M", "x", "", "100755"}, OldMode: "100644", Added: 1, Removed: 2, Hunks: "@@ -1 +1 @@\n+x\n"},
		{Change: Change{"R", "new", "old", "100755"}, OldMode: "100644", Added: 3, Removed: 4, Hunks: "@@ -2 +2 @@\n+new\n"},
		{Change: Change{"M", "z", "", "100755"}, OldMode: "100644", Added: 5, Removed: 6, Hunks: "@@ -3 +0 @@\n-z\n@@ -0 +4 @@\n+z\n"},
		{Change: Change{"M", "bin", "", "100755"}, OldMode: "100644", Binary: true},
	}
	for i := range want {
		if got := whole[i]; got != want[i] {
			t.Errorf("%+v, want %+v", got, want[i])
		}
	}
	for n := range len(all) {
		files, err := parsePatches(all[:n], true)
		if err != nil {
			if err.Error() != "cannot show the change: it has too many files" || strings.Contains(all[:n], "\x001\t2\tx\x00") {
				t.Errorf("cut after %d bytes: %v", n, err)
			}
			continue
		}
		if n < strings.Index(all, "\x001\t2") {
			continue // it looks like a list of fewer files
		}
		for i, f := range files {
			if f.Change != want[i].Change || f.OldMode != want[i].OldMode || f.Hunks != want[i].Hunks && !f.Cut || !strings.HasPrefix(want[i].Hunks, f.Hunks[:strings.LastIndex(f.Hunks, "\n")+1]) {
				t.Errorf("cut after %d bytes: %+v", n, f)
			}
		}
		if sections := strings.Count(all[:n], "diff --git "); len(files) == 4 && files[0].Cut != (sections < 2) {
			t.Errorf("cut after %d bytes, in section %d: the first file is cut: %t", n, sections, files[0].Cut)
		}
	}
}

func TestACountOfLinesMayBeBrokenOff(t *testing.T) {
	t.Parallel()
	for record, want := range map[string]FilePatch{"": {}, "1": {}, "1\t2": {Added: 1, Removed: 2}, "1\t2\tx": {Added: 1, Removed: 2}, "-\t-\tx": {Binary: true}, "-": {Binary: true}} {
		var got FilePatch
		if got.count(record); got != want {
			t.Errorf("%q is read as %+v", record, got)
		}
	}
	for section, want := range map[string]string{"": "", "head\n": "", "head\n@@ a\n@@ b\n": "@@ a\n@@ b\n", "@@ a\n@@ b\n": "@@ a\n@@ b\n"} {
		if got := hunks(section); got != want {
			t.Errorf("the hunks of %q are %q", section, got)
		}
	}
}

func TestAClaimIsReadFromItsReason(t *testing.T) {
	t.Parallel()
	if claimReason("t", "n", false) != "liza t n" || claimReason("t", "n", true) != "liza t n attached" {
		t.Errorf("%q", claimReason("t", "n", true))
	}
	for reason, want := range map[string]string{
		"": "", "liza": "", "liza t": "", "liza t n": "n", "liza t n attached": "n", "liza u n": "", "mine t n": "",
		claimReason("t", "n", false): "n", claimReason("t", "m", true): "m",
	} {
		if got := claimOf(reason, "t"); got != want {
			t.Errorf("%q claims %q", reason, got)
		}
	}
}

func TestOnlySettingsWithANameMatchAPattern(t *testing.T) {
	t.Parallel()
	settings := map[string]string{"filter.clean": "", "filter..clean": "", "filter.x.clean": "", "filter.x.y.clean": "", "other.x.clean": "", "filter.x.smudge": "", "core.pager": ""}
	for pattern, want := range map[string][]string{"filter.*.clean": {"filter.x.clean", "filter.x.y.clean"}, "core.pager": {"core.pager"}, "core.editor": nil} {
		if got := matching(pattern, settings, settings); !slices.Equal(got, want) {
			t.Errorf("%s stands for %q", pattern, got)
		}
	}
	o := overridesOf("local\x00core.a\nb\x00global", nil)
	if len(o.all) != 1 || o.all[0] != [2]string{"core.a", "b"} {
		t.Errorf("a list that is broken off is read as %q", o.all)
	}
}

// Answers are kept up to a size; one more, and all are forgotten.
func TestAnswersAreKeptUpToTheirLimit(t *testing.T) {
	t.Parallel()
	text := func(n int) string { return strings.Repeat("x", n) }
	for name, c := range map[string]struct {
		put  []int // sizes of keys and answers together
		kept []bool
	}{
		"one that fits":        {[]int{answersKept}, []bool{true}},
		"one that does not":    {[]int{answersKept + 1}, []bool{false}},
		"two that fit":         {[]int{answersKept - 10, 10}, []bool{true, true}},
		"two that do not":      {[]int{answersKept - 10, 11}, []bool{false, true}},
		"others fit again":     {[]int{answersKept, 10, answersKept - 10}, []bool{false, true, true}},
		"one too large, a few": {[]int{10, answersKept + 1, 10, 10}, []bool{false, false, true, true}},
	} {
		d := &answers{}
		for i, n := range c.put {
			d.put(fmt.Sprint(i), text(n-1))
		}
		for i, want := range c.kept {
			if out, known := d.get(fmt.Sprint(i)); known != want || known && len(out) != c.put[i]-1 {
				t.Errorf("%s: answer %d is kept: %t", name, i, known)
			}
		}
	}
}

func TestCommitsAreRememberedUpToTheirLimit(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	tip := plumbing.NewHash(f.git("rev-parse", "HEAD"))
	for _, c := range []struct{ before, after int }{{0, 1}, {mostLinks - 1, mostLinks}, {mostLinks, 1}} {
		l := &links{known: map[plumbing.Hash]*link{}}
		for i := range c.before {
			var h plumbing.Hash
			h[0], h[1], h[2], h[19] = byte(i), byte(i>>8), byte(i>>16), 1
			l.known[h] = &link{}
		}
		for range 2 {
			if got, err := l.of(tip, f.repo.goGit); err != nil || got != l.known[tip] || len(l.known) != c.after {
				t.Errorf("with %d there are %d, want %d: %v", c.before, len(l.known), c.after, err)
			}
		}
	}
}

// The sum of an object or an index is that of the repository's format.
func TestTornFilesAreKnownByTheirSums(t *testing.T) {
	t.Parallel()
	body := []byte("DIRC and what it has")
	sha := sha1.Sum(body)
	long := sha256.Sum256(body)
	wrong := bytes.Repeat([]byte{1}, sha256.Size)
	for name, c := range map[string]struct {
		data []byte
		size int
		want bool
	}{
		"nothing":           {nil, sha1.Size, false},
		"less than its sum": {make([]byte, sha1.Size-1), sha1.Size, false},
		"only zeros":        {make([]byte, sha1.Size), sha1.Size, false},
		"whole":             {append(slices.Clone(body), sha[:]...), sha1.Size, true},
		"another sum":       {append(slices.Clone(body), wrong[:sha1.Size]...), sha1.Size, false},
		"without a sum":     {append(slices.Clone(body), make([]byte, sha1.Size)...), sha1.Size, true},
		"long":              {append(slices.Clone(body), long[:]...), sha256.Size, true},
		"a short sum":       {append(slices.Clone(body), sha[:]...), sha256.Size, false},
		"no index":          {append([]byte("X"), make([]byte, sha1.Size)...), sha1.Size, false},
	} {
		if got := wholeIndex(c.data, c.size); got != c.want {
			t.Errorf("%s is whole: %t", name, got)
		}
	}
	path := filepath.Join(t.TempDir(), "object")
	var packed bytes.Buffer
	z := zlib.NewWriter(&packed)
	if _, err := z.Write(body); err != nil || z.Close() != nil {
		t.Fatal(err)
	}
	writeFile(t, path, packed.String())
	for name, want := range map[string]bool{
		hex.EncodeToString(sha[:]): true, hex.EncodeToString(long[:]): true,
		hex.EncodeToString(wrong[:sha1.Size]): false, hex.EncodeToString(wrong): false,
	} {
		if got := isObject(path, name); got != want {
			t.Errorf("it is the object %s: %t", name, got)
		}
	}
	if !isObject(path+" that is gone", hex.EncodeToString(sha[:])) {
		t.Error("what cannot be opened is taken for a torn object")
	}
}

// The file of a ref without content is taken away; no other is.
func TestOnlyTheFileOfARefWithoutContentIsTakenAway(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	s, path := &session{Repo: f.repo}, filepath.Join(f.dir, ".git", "refs", "liza", "x")
	for content, want := range map[string]bool{
		"": true, strings.Repeat("\x00", 41): true, strings.Repeat("\x00", 64): true, strings.Repeat("\x00", 65): false,
		f.integration() + "\n": false, f.integration()[:8]: false, "\n": true, strings.Repeat("\x00", 40) + "\n": true,
	} {
		writeFile(t, path, content)
		if got := s.clearBroken("refs/liza/x", ""); got != want || exists(path) == want {
			t.Errorf("the file with %q is taken away: %t", content, got)
		}
	}
	mustDo(t, os.RemoveAll(path))
	if s.clearBroken("refs/liza/x", "") {
		t.Error("a ref without a file has one")
	}
	if mustDo(t, os.Symlink("nowhere", path)); s.clearBroken("refs/liza/x", "") {
		t.Error("a link is taken away")
	}
}

func TestAFileOfARunIsReadUpToItsLimit(t *testing.T) {
	t.Parallel()
	root, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	writeFile(t, filepath.Join(root.Name(), "file"), "12345")
	for most, want := range map[int64]bool{4: false, 5: true, 6: true} {
		if text, err := (private{root}).read("file", most); (err == nil) != want || want && text != "12345" {
			t.Errorf("of a file with 5 bytes, %d are allowed: %q, %v", most, text, err)
		}
	}
}

// telling is a git that answers questions about objects from a list: "kind size content".
func telling(t *testing.T, objects map[string]held) *asking {
	t.Helper()
	questions, ask := io.Pipe()
	answers, answer := io.Pipe()
	var done sync.WaitGroup
	done.Go(func() {
		defer answer.Close()
		for lines := bufio.NewScanner(questions); lines.Scan(); {
			what, name, _ := strings.Cut(lines.Text(), " ")
			o, known := objects[name]
			text := name + " missing\n"
			if o.says != "" {
				text = o.says + "\n"
			} else if known {
				text = fmt.Sprintf("%s %s %d\n", name, o.kind, max(o.size, int64(len(o.content))))
			}
			if what == "contents" && known {
				text += o.content + "\n"
			}
			if _, err := io.WriteString(answer, text); err != nil {
				return
			}
		}
	})
	t.Cleanup(func() { ask.Close(); answers.Close(); done.Wait() })
	return &asking{ask: ask, answers: bufio.NewReader(answers)}
}

// ending is a git that ends after some questions.
type ending struct {
	io.WriteCloser
	left int
}

func (e *ending) Write(text []byte) (int, error) {
	if e.left--; e.left < 0 {
		return 0, io.ErrClosedPipe
	}
	return e.WriteCloser.Write(text)
}

type nowhere struct{ io.Writer }

func (nowhere) Close() error { return nil }

type held struct {
	kind, content string
	size          int64  // of a content that is not read
	says          string // instead of kind and size
}

// How git ended is told apart: it said why, it crashed, or it is not there.
func TestHowGitEndedIsToldApart(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]struct {
		code int
		says string
	}{"exit 7": {7, "odd"}, "kill -SEGV $$": {128 + 11, "fatal: git crashed: segmentation fault"}, "kill -KILL $$": {-1, "odd"}} {
		failed, ok := errors.AsType[*Error](explain(t.Context(), call{args: []string{"log"}}, exec.Command("sh", "-c", name).Run(), "odd\n"))
		if !ok || failed.ExitCode != want.code || !strings.Contains(failed.Stderr, want.says) {
			t.Errorf("%s: %+v", name, failed)
		}
	}
	err := explain(t.Context(), call{args: []string{"log"}}, exec.Command("liza-has-no-such-program").Run(), "")
	if !errors.Is(err, ErrVersion) || !strings.Contains(err.Error(), "cannot find the git command") {
		t.Errorf("without git: %v", err)
	}
}

func TestWhatGitSaysOfAnObjectIsCheckedBeforeItIsRead(t *testing.T) {
	t.Parallel()
	a := telling(t, map[string]held{
		"tree": {kind: "tree", content: "some"}, "empty": {kind: "tree"}, "blob": {kind: "blob", content: "some"},
		"large": {kind: "tree", size: mostOfTree + 1}, "few": {says: "few tree"}, "many": {says: "many tree 1 more"}, "word": {says: "word tree x"},
	})
	for name, want := range map[string]string{
		"tree": "some", "empty": "", "blob": "bad tree object blob", "large": "bad tree object large", "few": "bad tree object few", "many": "bad tree object many",
		"word": "bad tree object word", "gone": "bad tree object gone",
	} {
		text, err := a.content(name, "tree")
		if _, odd := errors.AsType[oddError](err); odd != strings.HasPrefix(want, "bad") || odd && err.Error() != want || !odd && (err != nil || text != want) {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
	if kind, size, err := a.info("large"); kind != "tree" || size != mostOfTree+1 || err != nil {
		t.Errorf("%s, %d, %v", kind, size, err)
	}
	ended := &asking{ask: nowhere{io.Discard}, answers: bufio.NewReader(strings.NewReader("tree tree 4\ntree tree 4\nsom"))}
	if text, err := ended.content("tree", "tree"); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("half an object is read as %q, %v", text, err)
	}
	if _, _, err := ended.question("info", "tree"); err == nil || !strings.Contains(err.Error(), "it has ended") {
		t.Errorf("a git that has ended: %v", err)
	}
}

// named is the name of an object for tests: a letter, so often.
func named(letter string) string { return strings.Repeat(letter, 40) }

// row is an entry of a tree as git writes it.
func row(mode, name, object string) string {
	raw, err := hex.DecodeString(object)
	if err != nil {
		panic(err)
	}
	return mode + " " + name + "\x00" + string(raw)
}

// rows is a tree with an object so often.
func rows(mode, object string, often int) string {
	var b strings.Builder
	for i := range often {
		b.WriteString(row(mode, fmt.Sprint(i), object))
	}
	return b.String()
}

// What comes in is refused from one file, byte or letter more than the limit on, and not before.
func TestWhatComesInIsMeasuredExactly(t *testing.T) {
	t.Parallel()
	const most = 1000
	files := func(extra int) map[string]held {
		return map[string]held{
			named("b"): {kind: "tree", content: rows("100644", named("a"), 500)},
			named("c"): {kind: "tree", content: rows("40000", named("b"), mostFiles/500) + rows("100644", named("a"), extra)},
		}
	}
	sized := func(size int64) map[string]held {
		return map[string]held{named("d"): {kind: "blob", size: size}, named("c"): {kind: "tree", content: row("100644", "x", named("d"))}}
	}
	long := func(names ...int) map[string]held { // a file in folders, by the lengths of their names
		all, at, mode := map[string]held{}, named("a"), "100644"
		for i, n := range names {
			tree := fmt.Sprintf("%040x", i+1)
			if i == len(names)-1 {
				tree = named("c")
			}
			all[tree] = held{kind: "tree", content: row(mode, strings.Repeat("n", n), at)}
			at, mode = tree, "40000"
		}
		return all
	}
	// beside is the growth over a base: d has 1000 bytes, e 2000, f 2001; the trees 1 to 3 are {x: d}, {x: d, y: d}, {x: d, y: d, z: d}.
	beside := func(base, tip string) map[string]held {
		x, y, z := row("100644", "x", named("d")), row("100644", "y", named("d")), row("100644", "z", named("d"))
		return map[string]held{
			named("d"): {kind: "blob", size: most}, named("e"): {kind: "blob", size: 2 * most}, named("f"): {kind: "blob", size: 2*most + 1},
			named("1"): {kind: "tree", content: x}, named("2"): {kind: "tree", content: x + y}, named("3"): {kind: "tree", content: x + y + z},
			named("b"): {kind: "tree", content: base}, named("c"): {kind: "tree", content: tip},
			named("7"): {kind: "commit", content: "tree " + named("b") + "\n\nbase\n"}, named("8"): {kind: "commit", content: "tree " + named("c") + "\n\ntip\n"},
		}
	}
	file := func(name, object string) string { return row("100644", name, named(object)) }
	folder := func(name, tree string) string { return row("40000", name, named(tree)) }
	const tooLarge = "its files have 0 MB more than those of its base"
	for name, c := range map[string]struct {
		objects map[string]held
		why     string
	}{
		"as many files as may be":     {files(0), ""},
		"one more":                    {files(1), "it adds more than 200000 files"},
		"as many bytes as may be":     {sized(most), ""},
		"one byte more":               {sized(most + 1), "its files have 0 MB more than those of its base"},
		"a submodule":                 {map[string]held{named("c"): {kind: "tree", content: row(ModeGitlink, "x", named("9"))}}, ""},
		"a path as long as may be":    {long(255, 255, 255, 255, 255, 255, 255, 255), ""},
		"a path with a letter more":   {long(255, 255, 255, 255, 255, 255, 255, 129, 126), "the path of a file has more than 2048 bytes"},
		"the same, outside":           {long(126, 255, 255, 255, 255, 255, 255, 255, 129), "the path of a file has more than 2048 bytes"},
		"a file that is not there":    {map[string]held{named("c"): {kind: "tree", content: row("100644", "x", named("9"))}}, ""},
		"a file whose size is known":  {map[string]held{named("c"): {kind: "tree", content: row("100644", "x", named("5"))}, named("5"): {kind: "blob", size: most + 1}}, ""},
		"what was there":              {beside(file("x", "f")+folder("y", "3"), file("x", "f")+folder("y", "3")), ""},
		"what was moved":              {beside(file("x", "d"), file("y", "d")), ""},
		"moved, and once more":        {beside(file("x", "d"), file("y", "d")+file("z", "d")), ""},
		"moved, and twice more":       {beside(file("x", "d"), file("w", "d")+file("y", "d")+file("z", "d")), tooLarge},
		"twice as large":              {beside(file("x", "d"), file("x", "e")), ""},
		"a byte more than that":       {beside(file("x", "d"), file("x", "f")), tooLarge},
		"a file for a folder":         {beside(folder("x", "2"), file("x", "e")), ""},
		"a folder for a file":         {beside(file("x", "d"), folder("x", "2")), ""},
		"a large folder for a file":   {beside(file("x", "d"), folder("x", "3")), tooLarge},
		"a folder with one more":      {beside(folder("x", "1"), folder("x", "2")), ""},
		"a folder with two more":      {beside(folder("x", "1"), folder("x", "3")), tooLarge},
		"another folder of that name": {beside(folder("x", "1")+folder("y", "2"), folder("x", "2")+folder("y", "3")), tooLarge},
		"one letter more":             {map[string]held{named("c"): {kind: "tree", content: row("100644", strings.Repeat("f", 256), named("a"))}}, "the name of a file has more than 255 bytes"},
		"a tree that is broken off":   {map[string]held{named("c"): {kind: "tree", content: row("100644", "x", named("a"))[:28]}}, "its tree ccccccccc is broken off"},
		"a tree without an end":       {map[string]held{named("c"): {kind: "tree", content: "100644"}}, "its tree ccccccccc is broken off"},
	} {
		c.objects[named("a")] = held{kind: "blob"}
		repo := &Repo{}
		repo.MaxTaken = most
		in := &incoming{repo: repo, tip: named("c"), sizes: map[string]int64{named("5"): 1}, objects: telling(t, c.objects)}
		if _, commits := c.objects[named("8")]; commits {
			in.task, in.tip, in.base = "t", named("8"), named("7")
		}
		if why, err := in.extent(); why != c.why || err != nil {
			t.Errorf("%s: %q, %v", name, why, err)
		}
		for n := range 12 { // a git that ends after so many answers says nothing about the work
			in.sizes = map[string]int64{named("5"): 1}
			in.objects = telling(t, c.objects)
			asked := &ending{WriteCloser: in.objects.ask, left: n}
			in.objects.ask = asked
			if why, err := in.extent(); asked.left < 0 && (why != "" || err == nil) {
				t.Errorf("%s: git ended after %d answers: %q, %v", name, n, why, err)
			}
		}
	}
}

func TestAPathIsOneWordOfAShell(t *testing.T) {
	t.Parallel()
	for _, plain := range []string{"a", "z", "A", "Z", "0", "9", "specs/vision.md", "._-+,@%", "ü", "\u0080"} {
		if got := ShellWord(plain); got != plain {
			t.Errorf("%q is quoted as %s", plain, got)
		}
	}
	for _, odd := range []string{" ", "a b", "`", "{", "@[", ":", "$x", "a;b", "\x7f", "\\"} {
		if got := ShellWord(odd); got != "'"+odd+"'" {
			t.Errorf("%q is quoted as %s", odd, got)
		}
	}
	if got := ShellWord("it's"); got != `'it'\''s'` {
		t.Errorf("it is %s", got)
	}
}
