package verb

import (
	"bytes"
	"context"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"liza/pkg/base/prose"
	"liza/pkg/board/blackboard"
)

// A place is a line of a file that a rejection names.
type place struct {
	file string
	line int
}

// maxPlaces is how many places of one rejection are looked up.
const maxPlaces = 100

// fileLine recognises hello.go:12, ./cmd/hello.go:12:5 and hello.go:12-15 in a text.
var fileLine = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile("(?:^|[\\s(\\[\"'`,;])(\\.?[\\w@+-][\\w.@~+/-]*\\.[A-Za-z]\\w*|(?:[\\w.@~+-]+/)*[\\w@+-]+):([0-9]{1,7})\\b")
})

// placesOf lists the lines of files that a rejection names, in its findings and in its texts.
func placesOf(in VerdictInput) []place {
	var list []place
	add := func(p place) {
		if len(list) < maxPlaces && !slices.Contains(list, p) {
			list = append(list, p)
		}
	}
	texts := []string{in.Reason}
	for _, x := range in.Inject {
		texts = append(texts, x.Detail)
	}
	for _, f := range in.Findings {
		if f.File != "" && f.Line > 0 {
			add(place{path.Clean(f.File), f.Line})
		}
		texts = append(texts, f.Message)
	}
	for _, text := range texts {
		for _, m := range fileLine().FindAllStringSubmatch(text, maxPlaces) {
			if line, err := strconv.Atoi(m[2]); err == nil {
				add(place{path.Clean(m[1]), line})
			}
		}
	}
	return list
}

// misplaced says which place of a rejection is not in the commit that was submitted, "" when all are. What only looks like a place, such
// as a host with its port, is none: its name has neither a file of the commit nor the extension of one.
func (v *Service) misplaced(ctx context.Context, t *blackboard.Task, in VerdictInput) string {
	places := placesOf(in)
	if len(places) == 0 || t.ReviewCommit == "" || !t.ChangesFiles() {
		return ""
	}
	list, err := v.Board.Repo.Files(ctx, t.ReviewCommit)
	if err != nil {
		return ""
	}
	extensions := map[string]bool{}
	for _, f := range list {
		extensions[path.Ext(f.Path)] = true
	}
	for _, p := range places {
		var same []string // files that the name may mean
		for _, f := range list {
			if f.Path == p.file || strings.HasSuffix(f.Path, "/"+p.file) {
				same = append(same, f.Path)
			}
		}
		if len(same) == 0 {
			named := slices.ContainsFunc(in.Findings, func(f *blackboard.Finding) bool { return path.Clean(f.File) == p.file })
			if ext := path.Ext(p.file); named || ext != "" && extensions[ext] {
				return fmt.Sprintf("%s:%d does not exist: %.9s has no file %s", p.file, p.line, t.ReviewCommit, p.file)
			}
			continue
		}
		most := 0
		for _, file := range same {
			data, err := v.Board.Repo.ReadFile(ctx, t.ReviewCommit, file)
			if err != nil {
				return "" // a submodule, or a file that cannot be read: nothing is known of its lines
			}
			most = max(most, linesOf(data))
		}
		if p.line > most {
			return fmt.Sprintf("%s:%d does not exist: in %.9s %s has %s", p.file, p.line, t.ReviewCommit, p.file, prose.Count(most, "line"))
		}
	}
	return ""
}

// linesOf counts the lines of a file; the last one needs no end.
func linesOf(data []byte) int {
	n := bytes.Count(data, []byte("\n"))
	if len(data) > 0 && !bytes.HasSuffix(data, []byte("\n")) {
		n++
	}
	return n
}
