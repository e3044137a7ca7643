package review

import (
	"bytes"
	"context"
	"fmt"
	"image"
	_ "image/jpeg" // decoders of Compare
	_ "image/png"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"liza/pkg/base/prose"
	"liza/pkg/base/safefile"
	"liza/pkg/board/blackboard"
)

// Limits of the files that commands of review.evidence make.
const (
	mostExhibits = 50
	mostBytes    = 50 << 20
	mostPixels   = 16 << 20 // of a picture that is decoded
	tolerance    = 8 << 8   // of the 65,536 values of a colour: two pixels that differ by less are equal
)

// A Rule is a command that makes evidence of a change of certain paths.
type Rule struct {
	Paths   string
	Command []string
	Files   []string
}

// Shell returns the command of r as a line for sh.
func (r Rule) Shell() string {
	var words []string
	for _, w := range r.Command {
		if w == "" || strings.ContainsFunc(w, func(c rune) bool {
			return !strings.ContainsRune("-_./:=@%+,", c) && !unicode.IsLetter(c) && !unicode.IsDigit(c)
		}) {
			w = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
		words = append(words, w)
	}
	return strings.Join(words, " ")
}

// Touched returns the rules whose paths a change touches, in their order.
func Touched(rules []Rule, changes []Changed) []Rule {
	return slices.DeleteFunc(slices.Clone(rules), func(r Rule) bool {
		return !slices.ContainsFunc(changes, func(c Changed) bool {
			return slices.ContainsFunc(c.names(), func(name string) bool { return Within(r.Paths, name) })
		})
	})
}

// Gathered has the files that the commands of rules made in one tree, and why evidence is missing, or "".
type Gathered struct {
	Files   map[string][]byte
	Missing string
	Exit    int
	Seconds int
}

// Gather removes what the patterns of the rules match in dir, runs their commands, and reads the files that match then: regular files
// only, through no link. Its error is that of a command that could not be run.
func Gather(rules []Rule, dir string, run func(shell string) Ran) (g Gathered, err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return g, fmt.Errorf("cannot gather evidence: %w", err)
	}
	defer root.Close()
	g.Files = map[string][]byte{}
	lacks := func(format string, args ...any) { g.Missing += prose.After("; ", fmt.Sprintf(format, args...)) }
	for _, r := range rules {
		err := matching(root, r.Files, func(name string, _ fs.DirEntry) error { return root.Remove(name) })
		if err != nil {
			return g, fmt.Errorf("cannot remove older evidence: %w", err)
		}
	}
	left := int64(mostBytes)
	for _, r := range rules {
		ran := run(r.Shell())
		if ran.Err != nil {
			return g, ran.Err
		}
		g.Seconds += ran.Seconds
		switch g.Exit = max(g.Exit, ran.ExitCode); {
		case ran.TimedOut:
			lacks("%q did not end within its time limit", r.Shell())
		case ran.Failed():
			lacks("%q ended with exit code %d%s", r.Shell(), ran.ExitCode, ran.Unreached())
		}
		for _, pattern := range r.Files {
			found := false
			err := matching(root, []string{pattern}, func(name string, e fs.DirEntry) error {
				if !e.Type().IsRegular() {
					return nil
				}
				found = true
				if g.Files[name] != nil {
					return nil
				}
				data, err := read(root, name, left)
				if err == nil && len(g.Files) == mostExhibits {
					err = fmt.Errorf("there are more than %d files", mostExhibits)
				}
				if err == nil {
					g.Files[name], left = data, left-int64(len(data))
				}
				return err
			})
			switch {
			case err != nil:
				lacks("%s: %v", pattern, err)
			case !found:
				lacks("no file matches %s", pattern)
			}
		}
	}
	g.Missing = strings.TrimPrefix(g.Missing, "; ")
	return g, nil
}

// read reads a regular file of at most most bytes. Opening it waits for nobody.
func read(root *os.Root, name string, most int64) ([]byte, error) {
	if !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl) {
		return nil, fmt.Errorf("the name %q has odd characters", name)
	}
	f, err := safefile.OpenIn(root, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(data)) > most {
		err = fmt.Errorf("the files have more than %d MB", mostBytes>>20)
	}
	return data, err
}

// matching calls do for each entry below root, but folders, that a pattern matches. It enters no link, and no folder that cannot have one.
func matching(root *os.Root, patterns []string, do func(name string, e fs.DirEntry) error) error {
	return fs.WalkDir(root.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil && name != ".":
			return fs.SkipDir // nothing is found in a folder that cannot be read
		case err != nil || name == ".":
			return err
		case e.IsDir() && (strings.EqualFold(e.Name(), ".git") || !slices.ContainsFunc(patterns, func(p string) bool { return mayHold(p, name) })):
			return fs.SkipDir
		case !e.IsDir() && !strings.EqualFold(e.Name(), ".git") && matchesAny(patterns, name):
			return do(name, e)
		}
		return nil
	})
}

// mayHold reports whether a pattern can match a file in a folder.
func mayHold(pattern, folder string) bool {
	globs := strings.Split(pattern, "/")
	for i, part := range strings.Split(folder, "/") {
		if i >= len(globs)-1 || globs[i] == "**" {
			return i < len(globs) && globs[i] == "**"
		}
		if ok, err := path.Match(globs[i], part); err != nil || !ok {
			return false
		}
	}
	return true
}

// The results of comparing a file with that of the base.
const (
	Identical = "identical"
	Differs   = "differs"
	Added     = "new"
	Gone      = "gone"
)

// Evidence is what commands of review.evidence made of a commit, beside what they made of its base.
type Evidence struct {
	Task    string    `json:"task"`
	Commit  string    `json:"commit"`
	Base    string    `json:"base"`
	Key     string    `json:"key"`            // of the rules and the base
	Missing string    `json:"missing"`        // why evidence of the commit is missing; "": it is complete
	NoBase  string    `json:"no_base"`        // the same of the base
	Exit    int       `json:"exit,omitempty"` // of the command that failed
	Seconds int       `json:"seconds,omitempty"`
	Files   []Exhibit `json:"files"`
}

// An Exhibit is one file of an Evidence.
type Exhibit struct {
	Name   string `json:"name"`
	Kind   string `json:"kind"`   // the media type of a picture or video, or "" for any other file
	Size   int    `json:"size"`   // in bytes; of a file that is gone, that of the base
	Result string `json:"result"` // identical, differs, new or gone
	Says   string `json:"says"`   // the same in words
}

// Compared lists the files of a commit and its base by name, with what comparing them gave.
func Compared(ours, base map[string][]byte) []Exhibit {
	list := []Exhibit{}
	for name, data := range ours {
		x := Exhibit{Name: name, Kind: MediaType(data), Size: len(data), Result: Added, Says: "new: the base has none"}
		if old, there := base[name]; there {
			x.Result, x.Says = Compare(data, old)
		}
		list = append(list, x)
	}
	for name, data := range base {
		if _, there := ours[name]; !there {
			list = append(list, Exhibit{Name: name, Kind: MediaType(data), Size: len(data), Result: Gone, Says: "gone: only the base has it"})
		}
	}
	slices.SortFunc(list, func(a, b Exhibit) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// MediaType returns the media type of a picture or video that a browser shows without running anything, by its content, or "".
func MediaType(data []byte) string {
	kind := http.DetectContentType(data)
	if slices.Contains([]string{"image/png", "image/jpeg", "image/gif", "image/webp", "video/mp4", "video/webm"}, kind) {
		return kind
	}
	return ""
}

// Compare compares two files: PNG and JPEG by their pixels, with a tolerance, anything else, and what is too large to decode, by content.
func Compare(ours, base []byte) (result, says string) {
	how, same := "", bytes.Equal(ours, base)
	if a, b := decode(ours), decode(base); !same && a != nil && b != nil {
		how, same = comparePixels(a, b)
	}
	if same {
		return Identical, "proves nothing: it is identical to that of the base"
	}
	return Differs, "differs from that of the base" + how
}

func comparePixels(a, b image.Image) (how string, same bool) {
	n, size := 0, a.Bounds().Size()
	if was := b.Bounds().Size(); size != was {
		return fmt.Sprintf(" in size: %d × %d, it was %d × %d", size.X, size.Y, was.X, was.Y), false
	}
	for y := range size.Y {
		for x := range size.X {
			r, g, bl, al := a.At(a.Bounds().Min.X+x, a.Bounds().Min.Y+y).RGBA()
			r2, g2, bl2, al2 := b.At(b.Bounds().Min.X+x, b.Bounds().Min.Y+y).RGBA()
			if far(r, r2) || far(g, g2) || far(bl, bl2) || far(al, al2) {
				n++
			}
		}
	}
	return fmt.Sprintf(" in %.3g %% of its pixels", max(0.001, 100*float64(n)/float64(size.X*size.Y))), n == 0
}

func far(a, b uint32) bool { return max(a, b)-min(a, b) > tolerance }

// decode decodes a PNG or JPEG picture; nil: it is none, or says that it has too many pixels.
func decode(data []byte) image.Image {
	c, _, err := image.DecodeConfig(bytes.NewReader(data))
	if err != nil || c.Width <= 0 || c.Height <= 0 || c.Width > mostPixels/c.Height {
		return nil
	}
	img, _, err := image.Decode(bytes.NewReader(data))
	if err != nil {
		return nil
	}
	return img
}

// check is the result of the check, whose log is given: it fails when evidence is missing.
func (e *Evidence) check(log string) blackboard.Check {
	c := blackboard.Check{Name: Exhibits, Status: Passed, ExitCode: e.Exit, Seconds: e.Seconds, Log: log}
	var told []string
	for _, result := range []string{Identical, Gone, Differs, Added} {
		for _, x := range e.Files {
			if x.Result == result {
				told = append(told, x.Name+": "+x.Says)
			}
		}
	}
	const most = 5
	if n := len(told); n > most {
		told = append(told[:most], fmt.Sprintf("and %d more", n-most))
	}
	if e.NoBase != "" {
		told = append(told, "of the base: "+e.NoBase)
	}
	if c.Message = strings.Join(told, "; "); e.Missing != "" {
		c.Status, c.Message = Failed, e.Missing
	}
	return c
}

// evidence gathers the evidence of the rules that the change touches, or takes what is kept of it; is is false if there is no such rule.
func (s *Submission) evidence(ctx context.Context, b *Environment) (r Result, is bool, err error) {
	rules := Touched(s.Settings.Evidence, s.Changes)
	if !s.Settings.Checks[Exhibits].Enabled || b.Evidence == nil || len(rules) == 0 {
		return r, false, nil
	}
	log := b.Log(Exhibits)
	kept, err := b.Evidence(ctx, rules, nil)
	if kept == nil && err == nil {
		if b.LookOnly {
			return skipped(NotRun), true, nil
		}
		if r, ready, err := s.prepare(ctx, b, Exhibits, log); !ready {
			return r, true, err
		}
		var made Gathered
		made, err = Gather(rules, b.worktree, func(shell string) Ran {
			b.say("check " + Exhibits + ": " + shell)
			return b.command(s, shell, log).RunIn(ctx, b.Enclose)
		})
		if err == nil {
			made.Missing = b.quote(made.Missing)
			kept, err = b.Evidence(ctx, rules, &made)
		}
	}
	if err != nil {
		return r, true, fmt.Errorf("cannot run the check %s: %w", Exhibits, err)
	}
	return s.resultOf(kept.check(log)), true, nil
}
