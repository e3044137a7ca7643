package git

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"
)

// ModeGitlink is the mode of a submodule's entry in a tree.
const ModeGitlink = "160000"

// Of a difference at most MostDiff bytes are read, and no file above MostFile: an agent may commit any number of lines, and a
// reader of them has them in memory.
const (
	MostDiff = 16 << 20
	MostFile = 4 << 20
)

// withoutLarge lets git show a file of more than MostFile as one without lines.
var withoutLarge = []string{"-c", fmt.Sprintf("core.bigFileThreshold=%d", MostFile)}

// A Change is one file that differs between two commits.
type Change struct {
	Status  string // A added, M modified (also its mode or kind), D deleted, R renamed
	Path    string
	OldPath string // former path of a renamed file
	Mode    string // mode in the tree: 100644, 100755, 120000, 160000; of a deleted file the former one
}

// ChangedFiles returns the differences between the commits base and commit, submodules by commit.
func (r *objects) ChangedFiles(ctx context.Context, base, commit string) ([]Change, error) {
	if changes, err := r.compare(ctx, base, commit); err == nil {
		return changes, nil
	}
	out, err := r.diffTree(ctx, base, commit, nil, 0, "--raw", "-z")
	if err != nil {
		return nil, err
	}
	return parseRaw(out)
}

// parseRaw reads ":oldmode newmode oldhash newhash status NUL path NUL", with two paths when renamed.
func parseRaw(out string) ([]Change, error) {
	var changes []Change
	parts := fields(out)
	for len(parts) > 0 {
		head := strings.Fields(strings.TrimPrefix(parts[0], ":"))
		if len(head) != 5 || len(parts) < 2 {
			return nil, fmt.Errorf("cannot read git's list of changes: %q", parts[0])
		}
		change := Change{Status: head[4][:1], Path: parts[1], Mode: head[1]}
		parts = parts[2:]
		switch change.Status {
		case "D":
			change.Mode = head[0]
		case "T":
			change.Status = "M"
		case "R":
			if len(parts) == 0 {
				return nil, fmt.Errorf("cannot read git's list of changes: %q has no new path", change.Path)
			}
			change.OldPath, change.Path, parts = change.Path, parts[0], parts[1:]
		}
		changes = append(changes, change)
	}
	return changes, nil
}

// stat has git write the summary of a difference.
const stat = "--stat=120"

// patch has git write a difference itself.
var patch = []string{"--patch", "--src-prefix=a/", "--dst-prefix=b/"}

// DiffStat returns the output of git diff --stat for two commits.
func (r *objects) DiffStat(ctx context.Context, base, commit string) (string, error) {
	return r.diffTree(ctx, base, commit, nil, 0, stat)
}

// Diff returns the first MostDiff bytes of the patch from base to commit, for the given files and folders or for all. For
// all, git writes the summary in the same run, and it is cached for DiffStat.
func (r *objects) Diff(ctx context.Context, base, commit string, paths ...string) (string, error) {
	if len(paths) > 0 || !isFullHash(base) || !isFullHash(commit) {
		return r.diffTree(ctx, base, commit, paths, MostDiff, patch...)
	}
	key := diffKey(base, commit, nil, patch)
	if out, known := r.answers.get(key); known {
		return out, nil
	}
	both, err := r.comparedBy(ctx, base, commit, nil, 2*MostDiff, slices.Concat([]string{stat}, patch))
	if err != nil {
		return "", err
	}
	summary, out, whole := strings.Cut(both, "\n\n") // no line of a summary is empty
	if both != "" && !whole {
		return r.diffTree(ctx, base, commit, nil, MostDiff, patch...)
	}
	if both != "" {
		summary += "\n"
	}
	out = out[:min(len(out), MostDiff)]
	r.answers.put(key, out)
	r.answers.put(diffKey(base, commit, nil, []string{stat}), summary)
	return out, nil
}

func diffKey(base, commit string, paths, format []string) string {
	return strings.Join(slices.Concat([]string{"diff", base, commit}, format, []string{"--"}, paths), "\x00")
}

// diffTree is the difference of two commits in a format of git.
func (r *objects) diffTree(ctx context.Context, base, commit string, paths []string, most int, format ...string) (string, error) {
	key := diffKey(base, commit, paths, format)
	if out, known := r.answers.get(key); known {
		return out, nil
	}
	out, err := r.comparedBy(ctx, base, commit, paths, most, format)
	if err == nil && isFullHash(base) && isFullHash(commit) {
		r.answers.put(key, out)
	}
	return out, err
}

// comparedBy asks git for the difference of two commits.
func (r *objects) comparedBy(ctx context.Context, base, commit string, paths []string, most int, format []string) (string, error) {
	if err := plainRevs(base, commit); err != nil {
		return "", err
	}
	args := slices.Concat([]string{"diff-tree", "-r", "--find-renames", "--no-color", "--no-ext-diff", "--no-textconv", "--ignore-submodules=none"},
		format, []string{base, commit, "--"}, paths)
	literal := []string{"GIT_LITERAL_PATHSPECS=1"}
	out, err := r.run(ctx, call{dir: r.place.Root, args: args, env: literal, config: withoutLarge, most: most})
	if err != nil {
		return "", fmt.Errorf("cannot compare commits %.9s and %.9s: %w", base, commit, err)
	}
	return out, nil
}

// ReadFile returns the content of a file in a commit, or the target of a symbolic link; path is relative to the top of the
// tree. It returns ErrNotFound if the commit has no such file.
func (r *objects) ReadFile(ctx context.Context, commit, file string) ([]byte, error) {
	fail := func(err error) ([]byte, error) { return nil, about(fmt.Sprintf("file %q in %s", file, commit), err) }
	if !plainRev(commit) || strings.ContainsRune(file, 0) {
		return fail(ErrNotFound)
	}
	if content, there, err := r.fileOf(commit, path.Clean(file)); err == nil && there {
		return content, nil
	} else if err == nil {
		return fail(ErrNotFound)
	}
	name := commit + ":" + path.Clean(file)
	out, err := r.run(ctx, call{dir: r.place.Root, args: []string{"cat-file", "--batch", "-z"}, stdin: name + "\x00"})
	if err != nil {
		return fail(err)
	}
	if strings.HasSuffix(out, " missing\n") && strings.HasPrefix(out, name) {
		return fail(ErrNotFound)
	}
	head, content, _ := strings.Cut(out, "\n")
	if kind := strings.Fields(head); len(kind) != 3 || kind[1] != "blob" {
		return fail(ErrNotFound)
	}
	return []byte(strings.TrimSuffix(content, "\n")), nil
}

// fileOf is ReadFile without a process. An error means that git has to be asked.
func (r *objects) fileOf(commit, file string) (content []byte, there bool, err error) {
	if !isFullHash(commit) {
		return nil, false, errors.ErrUnsupported
	}
	repo, err := r.goGit()
	if err != nil {
		return nil, false, err
	}
	c, err := repo.CommitObject(plumbing.NewHash(commit))
	if err != nil {
		return nil, false, err
	}
	tree, err := c.Tree()
	if err != nil {
		return nil, false, err
	}
	entry, err := tree.FindEntry(file)
	switch {
	case errors.Is(err, object.ErrEntryNotFound), errors.Is(err, object.ErrDirectoryNotFound):
		return nil, false, nil
	case err != nil:
		return nil, false, err
	case entry.Mode == filemode.Dir || entry.Mode == filemode.Submodule:
		return nil, false, nil
	}
	blob, err := repo.BlobObject(entry.Hash)
	if err != nil {
		return nil, false, err
	}
	in, err := blob.Reader()
	if err != nil {
		return nil, false, err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	content, err = io.ReadAll(in)
	return content, err == nil, err
}

// A FilePatch is one file that differs between two commits, with its patch.
type FilePatch struct {
	Change
	OldMode        string // mode before; zeros for an added file
	Added, Removed int    // numbers of lines
	Binary         bool
	Hunks          string // git's text from the first @@ on; "" without one
	Cut            bool   // Hunks is incomplete
}

// Patches returns the difference of two commits, file by file. It reads at most most bytes of git's output; cut reports
// whether there is more. It runs no program that the repository configures.
func (r *objects) Patches(ctx context.Context, base, commit string, most int) (files []FilePatch, cut bool, err error) {
	if err := plainRevs(base, commit); err != nil {
		return nil, false, err
	}
	args := slices.Concat([]string{"diff-tree", "-r", "--ignore-submodules=none"}, patchFormat, []string{base, commit, "--"})
	key := fmt.Sprint(most, strings.Join(args, "\x00"))
	out, known := r.answers.get(key)
	if !known {
		if out, err = r.run(ctx, call{dir: r.place.Root, args: args, config: withoutLarge, most: most}); err != nil {
			return nil, false, fmt.Errorf("cannot compare commits %.9s and %.9s: %w", base, commit, err)
		}
		if isFullHash(base) && isFullHash(commit) {
			r.answers.put(key, out)
		}
	}
	cut = len(out) >= most
	files, err = parsePatches(out, cut)
	return files, cut, err
}

// patchFormat makes git write the format of parsePatches, without starting a program.
var patchFormat = []string{"--find-renames", "--no-color", "--no-ext-diff", "--no-textconv", "--raw", "--numstat", "--patch", "-z", "--abbrev=40", "--src-prefix=a/", "--dst-prefix=b/"}

// parsePatches parses git's output in patchFormat, without its end if it was cut: the raw records, the counts and the patch,
// one after the other. All have the same order, so that it need not parse the paths in the patch, which git may quote.
func parsePatches(out string, cut bool) ([]FilePatch, error) {
	list, patch, _ := strings.Cut(out, "\x00\x00")
	raw, counts := splitRecords(fields(list))
	changes, err := parseRaw(strings.Join(raw, "\x00"))
	if err != nil && cut {
		return nil, errors.New("cannot show the change: it has too many files")
	}
	if err != nil {
		return nil, err
	}
	files := make([]FilePatch, len(changes))
	heads := rawHeads(raw)
	for i, c := range changes {
		files[i] = FilePatch{Change: c, OldMode: heads[i].oldMode, Cut: cut}
		if i < len(counts) {
			files[i].count(counts[i])
		}
	}
	sections := splitSections(patch)
	for i := range files {
		n := 1
		if heads[i].kind == "T" { // a removal and an addition
			n = 2
		}
		n = min(n, len(sections))
		for _, s := range sections[:n] {
			files[i].Hunks += hunks(s)
		}
		files[i].Cut = cut && len(sections) <= n
		sections = sections[n:]
	}
	return files, nil
}

// splitRecords separates the fields of raw records from the counts, of which each is one text.
func splitRecords(parts []string) (raw, counts []string) {
	n := 0
	for n < len(parts) && strings.HasPrefix(parts[n], ":") {
		n += 2
		if status := strings.Fields(parts[n-2]); strings.HasPrefix(status[len(status)-1], "R") {
			n++
		}
	}
	n = min(n, len(parts))
	for i := n; i < len(parts); i++ {
		counts = append(counts, parts[i])
		if strings.HasSuffix(parts[i], "\t") { // of a renamed file: two paths follow
			i += 2
		}
	}
	return parts[:n], counts
}

type rawHead struct{ oldMode, kind string }

func rawHeads(raw []string) (heads []rawHead) {
	for i := 0; i < len(raw); i += 2 {
		head := strings.Fields(strings.TrimPrefix(raw[i], ":"))
		heads = append(heads, rawHead{head[0], head[4][:1]})
		if head[4][0] == 'R' {
			i++
		}
	}
	return heads
}

// count reads "added TAB removed TAB path", with "-" for a binary file.
func (f *FilePatch) count(record string) {
	parts := strings.SplitN(record, "\t", 3)
	if f.Binary = parts[0] == "-"; f.Binary || len(parts) < 2 {
		return
	}
	f.Added, _ = strconv.Atoi(parts[0])
	f.Removed, _ = strconv.Atoi(parts[1])
}

// splitSections splits a patch at its heads: no line of a hunk begins with their first word.
func splitSections(patch string) (sections []string) {
	const head = "diff --git "
	for patch != "" {
		next := strings.Index(patch, "\n"+head)
		if next < 0 {
			return append(sections, patch)
		}
		sections, patch = append(sections, patch[:next+1]), patch[next+1:]
	}
	return sections
}

// hunks is a section without its head.
func hunks(section string) string {
	if strings.HasPrefix(section, "@@ ") {
		return section
	}
	if i := strings.Index(section, "\n@@ "); i >= 0 {
		return section[i+1:]
	}
	return ""
}

// Proposal returns the two sides of the difference that a merge of commit into the branch at tip makes. As a rule they are
// the one merge base and commit; if there are several bases, which git merges first, the sides are tip and the merged tree.
func (r *objects) Proposal(ctx context.Context, tip, commit string) (from, to string, err error) {
	bases, err := r.bases(ctx, tip, commit)
	if err != nil {
		return "", "", err
	}
	if len(bases) == 1 {
		return bases[0], commit, nil
	}
	tree, err := r.MergeTree(ctx, tip, commit)
	if _, conflict := errors.AsType[*ConflictError](err); conflict {
		return tip, commit, nil
	}
	return tip, tree, err
}

// Undone lists the files in which to, the tree of a merge of commit, lacks changes that came onto the branch from fork to its
// later commit from, though the history of to has them.
func (r *objects) Undone(ctx context.Context, fork, from, to, commit string) ([]string, error) {
	fail := func(err error) ([]string, error) {
		return nil, fmt.Errorf("cannot compare %s with the work merged before: %w", commit, err)
	}
	fork, err := r.MergeBase(ctx, fork, from)
	if err != nil || fork == from {
		return nil, err
	}
	scratch, env, err := r.scratchObjects()
	if err != nil {
		return fail(err)
	}
	defer func() { _ = os.RemoveAll(scratch) }()
	// Merged once more with fork as the base, what to has of it stays as it is, and what it lacks comes back.
	tree, err := r.run(ctx, call{dir: r.place.Root, args: []string{"rev-parse", "--verify", "--end-of-options", to + "^{tree}"}})
	if err != nil {
		return fail(err)
	}
	without, err := r.run(ctx, call{dir: r.place.Root, args: []string{"commit-tree", strings.TrimSpace(tree), "-p", fork, "-m", "compared"}, write: true,
		env: append(slices.Clone(env), "GIT_AUTHOR_NAME=Liza", "GIT_AUTHOR_EMAIL=liza@localhost", "GIT_COMMITTER_NAME=Liza", "GIT_COMMITTER_EMAIL=liza@localhost")})
	if err != nil {
		return fail(err)
	}
	out, err := r.run(ctx, call{dir: r.place.Root, args: []string{"merge-tree", "--write-tree", "-z", "--name-only", "--no-messages", strings.TrimSpace(without), from}, write: true, env: env})
	merged := fields(out)
	if err != nil && exitCode(err) != 1 || len(merged) == 0 {
		return fail(err)
	}
	conflicts := merged[1:]
	if out, err = r.run(ctx, call{dir: r.place.Root, args: []string{"diff-tree", "-r", "-z", "--name-only", "--no-renames", to, merged[0], "--"}, env: env}); err != nil {
		return fail(err)
	}
	undone := slices.DeleteFunc(fields(out), func(file string) bool { return slices.Contains(conflicts, file) })
	// Both sides changed the same lines: either what is there has both, or one side alone was kept.
	own, err := r.ownSide(ctx, from, to, commit, conflicts)
	if err != nil {
		return fail(err)
	}
	undone = append(undone, own...)
	slices.Sort(undone)
	return slices.Compact(undone), nil
}

// mergesLook is how many commits of a submission are looked at for merges.
const mergesLook = 1000

// ownSide lists those of some files that a merge on the way to commit left as they were on the own side, though the
// branch had changed them, and that are so in to.
func (r *objects) ownSide(ctx context.Context, from, to, commit string, files []string) (own []string, err error) {
	if len(files) == 0 {
		return nil, nil
	}
	commits, err := r.LogBetween(ctx, from, commit, mergesLook)
	if err != nil {
		return nil, err
	}
	isOwn := func(hash string) bool {
		return slices.ContainsFunc(commits, func(c Logged) bool { return c.Hash == hash })
	}
	for _, merge := range commits {
		if len(merge.Parents) < 2 {
			continue
		}
		for _, mine := range merge.Parents {
			for _, theirs := range merge.Parents {
				if !isOwn(mine) || isOwn(theirs) {
					continue
				}
				kept, err := r.kept(ctx, mine, theirs, to, files)
				if err != nil {
					return nil, err
				}
				own = append(own, kept...)
			}
		}
	}
	return own, nil
}

// kept lists those of some files that are in to as in mine, although theirs has them otherwise than the commit where
// both parted.
func (r *objects) kept(ctx context.Context, mine, theirs, to string, files []string) (list []string, err error) {
	base, err := r.MergeBase(ctx, mine, theirs)
	if err != nil {
		return nil, err
	}
	changed, err := r.ChangedFiles(ctx, base, theirs)
	if err != nil {
		return nil, err
	}
	later, err := r.ChangedFiles(ctx, mine, to)
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		if touches(changed, file) && !touches(later, file) {
			list = append(list, file)
		}
	}
	return list, nil
}

func touches(changes []Change, file string) bool {
	return slices.ContainsFunc(changes, func(c Change) bool { return c.Path == file || c.OldPath == file })
}

// A Merged is a commit of the branch itself that changed some files.
type Merged struct {
	Commit string
	Task   string // value of its trailer Liza-Task, or ""
	Files  []string
}

// MergesOf returns the commits of the branch itself from fork to tip that changed one of the files, the newest first.
func (r *objects) MergesOf(ctx context.Context, fork, tip string, files ...string) (list []Merged, err error) {
	if err := plainRevs(fork, tip); err != nil {
		return nil, err
	}
	args := append([]string{"log", "--first-parent", "-m", "--no-renames", "--no-show-signature", "--name-only", "-z",
		"--format=%x01%H %(trailers:key=Liza-Task,valueonly,separator=%x2C)", tip, "^" + fork, "--"}, files...)
	out, err := r.run(ctx, call{dir: r.place.Root, args: args, env: []string{"GIT_LITERAL_PATHSPECS=1"}})
	if err != nil {
		return nil, fmt.Errorf("cannot read the commits between %s and %s: %w", fork, tip, err)
	}
	for _, part := range strings.Split(out, "\x00") {
		part = strings.TrimLeft(part, "\n")
		if head, is := strings.CutPrefix(part, "\x01"); is {
			commit, task, _ := strings.Cut(head, " ")
			list = append(list, Merged{Commit: commit, Task: strings.TrimSpace(task)})
		} else if part != "" && len(list) > 0 {
			list[len(list)-1].Files = append(list[len(list)-1].Files, part)
		}
	}
	return list, nil
}

// scratchObjects makes a folder for objects that git writes in read-only commands, and returns it with the variables that
// make git use it.
func (r *runner) scratchObjects() (folder string, env []string, err error) {
	folder, err = scratchFolder()
	return folder, []string{
		"GIT_OBJECT_DIRECTORY=" + folder,
		"GIT_ALTERNATE_OBJECT_DIRECTORIES=" + strconv.Quote(filepath.Join(r.place.CommonDir, "objects")),
	}, err
}

// ScratchObjects is the prefix of folders for temporary objects, in the folder for temporary files. The id of the process
// that uses one follows.
const ScratchObjects = "liza-objects-"

func scratchFolder() (string, error) {
	return os.MkdirTemp("", fmt.Sprintf("%s%d-", ScratchObjects, os.Getpid()))
}
