package review

import (
	"context"
	"path"
	"slices"
	"strconv"
	"strings"

	"liza/pkg/code/git"
)

// Changed is one file of a submission, with its added and removed lines.
type Changed struct {
	Path    string
	OldPath string // former path of a renamed file
	Status  string // A added, M modified, D deleted, R renamed
	Mode    string // mode in the tree
	OldMode string // "" for a new file, and if the mode is unchanged
	Binary  bool
	Unread  bool // some of its lines are missing: the file or the change is too large
	Lines   []Line
	Head    []byte // the beginning of its text, of sources and tests
	Tested  bool   // of Go's testdata: the package has a *_test.go, changed or not
}

// Line is a line that was added or removed.
type Line struct {
	Added bool
	N     int // number in the new file; of a removed line, that of the next line
	Text  string
}

// added are the lines that a file gains.
func (c Changed) added() []Line { return c.lines(true) }

// removed are the lines that it loses.
func (c Changed) removed() []Line { return c.lines(false) }

func (c Changed) lines(added bool) []Line {
	return slices.DeleteFunc(slices.Clone(c.Lines), func(l Line) bool { return l.Added != added })
}

// file returns the file for the test gate.
func (c Changed) file() File {
	f := File{Path: c.Path, Status: c.Status, Head: c.Head, Tested: c.Tested}
	text := []byte{}
	for _, l := range c.added() {
		f.AddedLines = true
		text = append(append(text, l.Text...), '\n')
	}
	f.Added = text
	f.AddedLines = f.AddedLines || c.Binary || c.Unread
	return f
}

// Files returns the changed files for the test gate (specs/protocol.md#4.7).
func Files(changes []Changed) []File {
	files := make([]File, len(changes))
	for i, c := range changes {
		files[i] = c.file()
	}
	return files
}

const (
	largestText = 1 << 20  // greatest size of a file whose text is read
	textAtOnce  = 64 << 20 // greatest size of all texts together
)

// Changes compares two commits. It starts at most four git processes, however many files
// there are.
func Changes(ctx context.Context, repo *git.Repo, base, commit string) ([]Changed, error) {
	raw, err := repo.ChangedFiles(ctx, base, commit)
	if err != nil || len(raw) == 0 {
		return nil, err
	}
	patch, err := repo.Diff(ctx, base, commit)
	if err != nil {
		return nil, err
	}
	parsed := parsePatch(patch)
	changes, last := make([]Changed, len(raw)), 0
	for i, r := range raw {
		c := Changed{Path: r.Path, OldPath: r.OldPath, Status: r.Status, Mode: r.Mode}
		if p := parsed[r.Path]; p != nil {
			c.OldMode, c.Binary, c.Lines, last = p.OldMode, p.Binary, p.Lines, i
		}
		changes[i] = c
	}
	if len(patch) >= git.MostDiff { // git ended within the last of those that it showed
		for i := last; i < len(changes); i++ {
			changes[i].Unread = true
		}
	}
	return changes, fillHeads(ctx, repo, commit, changes)
}

// fillHeads reads the texts of the changed sources and tests, all at once, and notes which files are too large to be compared.
func fillHeads(ctx context.Context, repo *git.Repo, commit string, changes []Changed) error {
	wanted, binary, testdata := map[string]int{}, map[string]int{}, false
	for i, c := range changes {
		if c.Binary {
			binary[c.Path] = i
		}
		testdata = testdata || goTestdata(c.Path)
		if c.Status != "D" && c.Mode != git.ModeGitlink && Classify(c.Path, nil) != Neither {
			wanted[c.Path] = i
		}
	}
	if len(wanted)+len(binary) == 0 {
		return nil
	}
	list, err := repo.ListCommit(ctx, commit)
	if err != nil {
		return err
	}
	if testdata {
		markTested(list, changes)
	}
	var objects []string
	of := map[string][]int{}
	room := int64(textAtOnce)
	for _, f := range list {
		if i, ok := binary[f.Path]; ok && f.Size > git.MostFile {
			changes[i].Unread = true
		}
		if i, ok := wanted[f.Path]; ok && f.Regular && f.Size <= largestText && f.Size <= room {
			room -= f.Size
			objects, of[f.Object] = append(objects, f.Object), append(of[f.Object], i)
		}
	}
	texts, err := repo.ReadObjects(ctx, objects)
	if err != nil {
		return err
	}
	for object, places := range of {
		for _, i := range places {
			changes[i].Head = []byte(texts[object])
		}
	}
	return nil
}

// markTested notes of Go's testdata whether its package has a test at all.
func markTested(list []git.Listed, changes []Changed) {
	tested := map[string]bool{}
	for _, f := range list {
		if strings.HasSuffix(f.Path, "_test.go") {
			tested[path.Dir("/"+f.Path)] = true
		}
	}
	for i, c := range changes {
		if pkg, _, inside := strings.Cut("/"+c.Path, "/testdata/"); inside {
			changes[i].Tested = tested[path.Clean("/"+pkg)]
		}
	}
}

// parsePatch parses git's patch of two commits, by path. It joins the two parts of a file that changed its kind.
func parsePatch(patch string) map[string]*Changed {
	files := map[string]*Changed{}
	var p patchReader
	for line := range strings.Lines(patch) {
		line = strings.TrimSuffix(line, "\n")
		if p.left == [2]int{} && strings.HasPrefix(line, "diff --git ") {
			p.end(files)
			p = patchReader{file: &Changed{}, header: strings.TrimPrefix(line, "diff --git ")}
			continue
		}
		if p.file != nil {
			p.line(line)
		}
	}
	p.end(files)
	return files
}

// patchReader is in the middle of one file's part of a patch.
type patchReader struct {
	file   *Changed
	header string
	path   string // path of the new file, or of a deleted one
	next   int    // number of the next line of the new file
	left   [2]int // remaining lines of the hunk, old and new
}

func (p *patchReader) line(line string) {
	if p.left != [2]int{} {
		p.inHunk(line)
		return
	}
	key, value, _ := strings.Cut(line, " ")
	switch {
	case strings.HasPrefix(line, "@@ "):
		p.hunk(line)
	case strings.HasPrefix(line, "old mode "):
		p.file.OldMode = strings.TrimPrefix(line, "old mode ")
	case strings.HasPrefix(line, "rename to "):
		p.path = unquote(strings.TrimPrefix(line, "rename to "))
	case strings.HasPrefix(line, "Binary files ") || strings.HasPrefix(line, "GIT binary patch"):
		p.file.Binary = true
	case key == "---" || key == "+++":
		if name := unquote(strings.TrimSuffix(value, "\t")); name != "/dev/null" && len(name) > 2 {
			p.path = name[2:]
		}
	}
}

func (p *patchReader) inHunk(line string) {
	kind := byte(' ')
	if line != "" {
		kind = line[0]
	}
	switch kind {
	case '+':
		p.file.Lines = append(p.file.Lines, Line{Added: true, N: p.next, Text: line[1:]})
		p.next++
		p.left[1]--
	case '-':
		p.file.Lines = append(p.file.Lines, Line{N: p.next, Text: line[1:]})
		p.left[0]--
	case '\\': // no newline at the end of the file
	default:
		p.next++
		p.left[0]--
		p.left[1]--
	}
}

// hunk reads "@@ -1,2 +3,4 @@".
func (p *patchReader) hunk(line string) {
	parts := strings.Fields(line)
	if len(parts) < 3 {
		return
	}
	_, p.left[0] = span(parts[1])
	p.next, p.left[1] = span(parts[2])
}

func span(text string) (start, count int) {
	from, n, many := strings.Cut(text[1:], ",")
	start, _ = strconv.Atoi(from)
	if !many {
		return start, 1
	}
	count, _ = strconv.Atoi(n)
	return start, count
}

func (p *patchReader) end(files map[string]*Changed) {
	if p.file == nil {
		return
	}
	if p.path == "" && p.header != "" { // nothing but a mode, or an empty or binary file: both names are the same
		if name := unquote(p.header[:(len(p.header)-1)/2]); len(name) > 2 {
			p.path = name[2:]
		}
	}
	if was := files[p.path]; was != nil {
		was.Lines, was.Binary = append(was.Lines, p.file.Lines...), was.Binary || p.file.Binary
		return
	}
	files[p.path] = p.file
}

// unquote reads a name that git wrote in quotes because of unusual characters.
func unquote(name string) string {
	if !strings.HasPrefix(name, `"`) {
		return name
	}
	if end := strings.LastIndexByte(name, '"'); end > 0 {
		if text, err := strconv.Unquote(name[:end+1]); err == nil {
			return text
		}
	}
	return name
}
