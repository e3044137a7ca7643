package git

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A FilePatch is one file that differs between two commits, with what changed in it.
type FilePatch struct {
	Change
	OldMode        string // of the file before; zeros for one that was added
	Added, Removed int    // lines
	Binary         bool
	Hunks          string // as git writes them, from the first @@ on; "" without any
	Cut            bool   // Hunks does not have all
}

// Patches is the difference of two commits, file by file. Of what git writes, no more than most bytes are read; cut
// reports whether there is more. Nothing that the repository configures is run.
func (r *Repo) Patches(ctx context.Context, base, commit string, most int) (files []FilePatch, cut bool, err error) {
	if err := plainRevs(base, commit); err != nil {
		return nil, false, err
	}
	args := slices.Concat([]string{"diff-tree", "-r", "--ignore-submodules=none"}, patchFormat, []string{base, commit, "--"})
	key := fmt.Sprint(most, strings.Join(args, "\x00"))
	out, known := r.answers.get(key)
	if !known {
		if out, err = r.run(ctx, call{dir: r.place.Root, args: args, config: withoutLarge, most: most}); err != nil {
			return nil, false, fmt.Errorf("cannot compare commits %s and %s: %w", base, commit, err)
		}
		if isFullHash(base) && isFullHash(commit) {
			r.answers.put(key, out)
		}
	}
	cut = len(out) >= most
	files, err = ParsePatches(out, cut)
	return files, cut, err
}

// patchFormat has git write what ParsePatches reads, and start no program for it.
var patchFormat = []string{"--find-renames", "--no-color", "--no-ext-diff", "--no-textconv", "--raw", "--numstat", "--patch", "-z", "--abbrev=40", "--src-prefix=a/", "--dst-prefix=b/"}

// ParsePatches reads what git wrote in patchFormat, without its end when it was cut: the raw records, the counts and the patch,
// one after the other. All have the same order, so that no path in the patch, which git may quote, has to be read.
func ParsePatches(out string, cut bool) ([]FilePatch, error) {
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
