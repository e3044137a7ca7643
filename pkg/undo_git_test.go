package pkg_test

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A past is the history of this repository beside the tree as it is now. What it writes into git lies in a folder of its own.
type past struct {
	dir   string
	env   []string
	now   string            // the tree as it is
	blobs map[string][]byte // files of the history that were read
}

// openPast skips the test where the history is not here.
func openPast(t *testing.T) *past {
	t.Helper()
	p := &past{dir: t.TempDir(), blobs: map[string][]byte{}}
	if shallow, err := p.git("rev-parse", "--is-shallow-repository"); err != nil || strings.TrimSpace(shallow) != "false" {
		t.Skipf("NOT RUN: the history is not here: shallow repository: %q, %v", strings.TrimSpace(shallow), err)
	}
	objects, err := p.git("rev-parse", "--path-format=absolute", "--git-path", "objects")
	if err = errors.Join(err, os.Mkdir(filepath.Join(p.dir, "objects"), 0o755)); err != nil {
		t.Fatal(err)
	}
	p.env = []string{"GIT_ALTERNATE_OBJECT_DIRECTORIES=" + strings.TrimSpace(objects), "GIT_OBJECT_DIRECTORY=" + filepath.Join(p.dir, "objects"),
		"GIT_INDEX_FILE=" + filepath.Join(p.dir, "index"), "GIT_AUTHOR_NAME=Ada", "GIT_AUTHOR_EMAIL=ada@localhost", "GIT_COMMITTER_NAME=Ada", "GIT_COMMITTER_EMAIL=ada@localhost"}
	for _, args := range [][]string{{"read-tree", "HEAD"}, {"add", "--update", "pkg", "cmd"}, {"write-tree"}} {
		if p.now, err = p.git(args...); err != nil {
			t.Fatal(err)
		}
	}
	p.now = strings.TrimSpace(p.now)
	return p
}

func (p *past) git(args ...string) (string, error) { return p.gitWith("", args...) }

// gitWith is git with a text to read; the error holds what git said.
func (p *past) gitWith(input string, args ...string) (string, error) {
	cmd := exec.Command("git", append([]string{"-c", "merge.directoryRenames=false", "-c", "core.autocrlf=false"}, args...)...)
	cmd.Dir, cmd.Env, cmd.Stdin = "..", append(os.Environ(), p.env...), strings.NewReader(input)
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("git %s: %w: %s", strings.Join(args, " "), err, bytes.TrimSpace(said.Bytes()))
	}
	return string(out), err
}

// isCode and isTest divide what a mend changes; other files are neither.
func isCode(file string) bool {
	return strings.HasSuffix(file, ".go") && !strings.HasSuffix(file, "_test.go")
}

func isTest(file string) bool {
	return strings.HasSuffix(file, "_test.go") || strings.HasPrefix(file, "testdata/script/") && strings.HasSuffix(file, ".txtar")
}

// mends are the commits that changed code and a test, the newest first.
func (p *past) mends(t *testing.T) (list []mend) {
	t.Helper()
	text, err := p.git("log", "--no-merges", "--name-only", "--format=%x01%h%x00%s%x00%P%x00", "--abbrev=8", "HEAD")
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range strings.Split(text, "\x01")[1:] {
		fields := strings.SplitN(part, "\x00", 4)
		files := strings.Fields(fields[3])
		if fields[2] != "" && slices.ContainsFunc(files, isCode) && slices.ContainsFunc(files, isTest) {
			list = append(list, mend{Commit: fields[0], Subject: fields[1]})
		}
	}
	return list
}

// A changed is a file that two trees have differently; a mode or an object of zeros says that a tree lacks it.
type changed struct{ modes, objects [2]string }

func (p *past) changes(from, to string) (map[string]changed, error) {
	text, err := p.git("diff-tree", "-r", "--no-renames", "--raw", "--no-abbrev", from, to)
	files := map[string]changed{}
	for _, line := range strings.Split(strings.TrimSpace(text), "\n") {
		about, name, ok := strings.Cut(strings.TrimPrefix(line, ":"), "\t")
		if f := strings.Fields(about); ok && len(f) == 5 {
			files[name] = changed{[2]string{f[0], f[1]}, [2]string{f[2], f[3]}}
		}
	}
	return files, err
}

// gone is the object of a file that is not there.
var gone = strings.Repeat("0", 40)

// An undoing is the code as it would be without a mend, for the compiler to read instead of the tree's.
type undoing struct {
	overlay string
	files   []string // of the tree, those that differ
}

// undo takes the code of a commit, but not its tests, back from the tree as it is, as `git revert` would: files that were
// renamed since then are followed. The second result says why that cannot be done.
func (p *past) undo(commit string) (u undoing, cannot string, err error) {
	theirs, err := p.before(commit)
	if err != nil {
		return u, "", err
	}
	out, err := p.git("merge-tree", "--write-tree", "--name-only", "--no-messages", p.commit(p.now, theirs[0]), theirs[1])
	tree, conflicts, _ := strings.Cut(strings.TrimSpace(out), "\n")
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.ExitCode() == 1 {
		return u, "the code is another now: " + path.Base(strings.Fields(conflicts)[0]), nil
	} else if err != nil {
		return u, "", err
	}
	return p.lay(tree)
}

// before makes two commits of which the second takes the code of a mend back from the first.
func (p *past) before(commit string) (pair [2]string, err error) {
	files, err := p.changes(commit, commit+"^")
	if err != nil {
		return pair, err
	}
	var index strings.Builder
	for name, f := range files {
		if isCode(name) {
			fmt.Fprintf(&index, "%s %s\t%s\n", f.modes[1], f.objects[1], name)
		}
	}
	for _, step := range []struct {
		input string
		args  []string
	}{{"", []string{"read-tree", commit}}, {index.String(), []string{"update-index", "--index-info"}}} {
		if _, err = p.gitWith(step.input, step.args...); err != nil {
			return pair, err
		}
	}
	tree, err := p.git("write-tree")
	pair[0] = p.commit(commit + "^{tree}")
	pair[1] = p.commit(strings.TrimSpace(tree), pair[0])
	return pair, err
}

// commit makes a commit of a tree; a failure is told by what uses it.
func (p *past) commit(tree string, parents ...string) string {
	args := []string{"commit-tree", tree, "-m", "A tree"}
	for _, parent := range parents {
		args = append(args, "-p", parent)
	}
	id, _ := p.git(args...)
	return strings.TrimSpace(id)
}

// lay writes the overlay in which the tree looks like another one.
func (p *past) lay(tree string) (u undoing, cannot string, err error) {
	changes, err := p.changes(p.now, tree)
	files := map[string][]byte{}
	for name, f := range changes {
		if files[name] = nil; f.objects[1] != gone {
			text, err2 := p.git("cat-file", "blob", f.objects[1])
			files[name], err = []byte(text), errors.Join(err, err2)
		}
	}
	if err != nil {
		return u, "", err
	}
	return p.overlay(files)
}

// withoutComments is a file as the compiler understands it; what does not parse stays as it is.
func withoutComments(text []byte) string {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, "", text, parser.SkipObjectResolution)
	if err != nil {
		return string(text)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GenDecl:
			n.Doc = nil
		case *ast.FuncDecl:
			n.Doc = nil
		case *ast.Field:
			n.Doc, n.Comment = nil, nil
		case *ast.ValueSpec:
			n.Doc, n.Comment = nil, nil
		case *ast.TypeSpec:
			n.Doc, n.Comment = nil, nil
		}
		return true
	})
	file.Doc, file.Comments = nil, nil
	var out bytes.Buffer
	_ = printer.Fprint(&out, token.NewFileSet(), file)
	return out.String()
}

var touchedTest = regexp.MustCompile(`(?m)^(?:@@ .*@@ |\+)func ((?:Test|Fuzz)\w+)\(`)

// touched are the tests that a commit changed, by the packages in which they are today.
func (p *past) touched(commit string, at map[string]string) (map[string][]string, error) {
	text, err := p.git("diff", "-U0", "--no-renames", commit+"^", commit, "--", "*_test.go")
	files, err2 := p.changes(commit+"^", commit)
	tests := map[string][]string{}
	for _, m := range touchedTest.FindAllStringSubmatch(text, -1) {
		if pkg, ok := at[m[1]]; ok && !slices.Contains(tests[pkg], m[1]) {
			tests[pkg] = append(tests[pkg], m[1])
		}
	}
	for name := range files {
		if !isTest(name) || !strings.HasSuffix(name, ".txtar") {
			continue
		}
		if _, err := os.Stat(filepath.Join("..", name)); err == nil {
			tests["face/cli"] = append(tests["face/cli"], "TestScript/"+strings.TrimSuffix(path.Base(name), ".txtar"))
		}
	}
	return tests, errors.Join(err, err2)
}
