package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	urfave "github.com/urfave/cli/v3"

	"liza/pkg/base/safefile"
	"liza/pkg/board/blackboard"
	"liza/pkg/board/transition"
	"liza/pkg/code/forge"
	"liza/pkg/run/checklist"
	"liza/pkg/verb/importer"
	"liza/pkg/verb/verb"
)

type importOptions struct {
	env    *Env
	labels []string
	in     importer.ImportInput
	items  []importer.Outside
	at     func(name string) string // path of a file that was named
}

func newImport(env *Env) *urfave.Command {
	o := &importOptions{env: env, at: env.path}
	return &urfave.Command{
		Name: "import", Category: "steer", Usage: "make drafts of issues and of check lists, and look at them again", ArgsUsage: "[TRACKER|FILE|FOLDER…]",
		Description: "TRACKER is github, gitlab or gitea, with its ISSUES behind it; FILE is a Markdown check list, FOLDER has a tasks.md (spec-kit, OpenSpec), itself or below it. Each issue and each\n" +
			"open item becomes a draft for the planner; its text is material, not an instruction. Again, it makes nothing twice: the planner gets a note\n" +
			"of what changed outside. Without arguments everything that was imported is looked at again. When all that was made of an issue has landed it gets one comment and\n" +
			"is closed: at the end of liza run, liza land and liza import. The settings are those of the section import." +
			examples("liza import github --label agents", "liza import specs/001-albums", "liza import github 12") + exitsText(0, 1, 2, 3, 4, 5),
		Flags: []urfave.Flag{
			texts("label", "`NAME`: the open issues that have it; given again, also this one", &o.labels),
		},
		Action: env.onService(o.run),
	}
}

func (o *importOptions) run(ctx context.Context, d *verb.Service, args []string) error {
	out, err := o.bring(ctx, d, args)
	if err != nil {
		return err
	}
	told, err := o.env.forges().returner(d).Round(ctx)
	out.Told = append(out.Told, told...)
	if err != nil {
		o.env.Notices(strings.Split(err.Error(), "\n"))
	}
	return o.env.Print(out, "%s", importedText(out))
}

// bring takes in what args name.
func (o *importOptions) bring(ctx context.Context, d *verb.Service, args []string) (importer.Imported, error) {
	if err := o.gather(ctx, d, args); err != nil {
		return importer.Imported{}, err
	}
	return importer.Import(ctx, d, o.items, o.in)
}

// gather reads what args name.
func (o *importOptions) gather(ctx context.Context, d *verb.Service, args []string) error {
	s, err := d.Board.View(ctx)
	if err != nil {
		return err
	}
	switch {
	case len(args) == 0 && len(o.labels) > 0:
		return usagef("liza help import", "--label needs a tracker: liza import github --label NAME")
	case len(args) == 0:
		err = o.again(ctx, d, s)
	case slices.Contains(forge.TrackerKinds, args[0]):
		err = o.tracker(ctx, d, s, args[0], args[1:])
	case len(o.labels) > 0:
		return usagef("liza help import", "--label is for trackers; %q is none of %s", args[0], strings.Join(forge.TrackerKinds, ", "))
	default:
		for _, name := range args {
			if err = o.lists(d, o.at(name)); err != nil {
				break
			}
		}
	}
	if err != nil {
		return importTrouble(err)
	}
	return nil
}

// lists takes what the check lists at a path say.
func (o *importOptions) lists(d *verb.Service, path string) error {
	all, err := listsAt(d, path)
	o.items, o.in.Whole = append(o.items, all.items...), append(o.in.Whole, all.whole...)
	return err
}

func importedText(out importer.Imported) string {
	var b strings.Builder
	list := func(what string, ids []string) {
		if len(ids) > 0 {
			fmt.Fprintf(&b, "%s: %s\n", what, strings.Join(ids, ", "))
		}
	}
	list("made", out.Made)
	list("changed", out.Changed)
	for _, t := range out.Told {
		fmt.Fprintf(&b, "! %s\n", t)
	}
	fmt.Fprintf(&b, "%d new, %d as they were, %d closed before\n", len(out.Made), out.Same, out.Over)
	if len(out.Made) > 0 {
		b.WriteString("next: liza run\n")
	}
	return b.String()
}

// importTrouble adds what helps to an error of a tracker.
func importTrouble(err error) error {
	if _, ok := errors.AsType[*usageError](err); ok {
		return err
	}
	err = forgeTrouble(err)
	if r, ok := err.(*transition.Refusal); ok { //nolint:errorlint // made there, never wrapped
		r.Next = strings.ReplaceAll(strings.ReplaceAll(r.Next, "liza land", "liza import"), "land.repo", "import.repo")
	}
	return err
}

var ticketKey = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)^(?:[a-z][a-z0-9_]*-)?\d+$`) })

// keyOf reads what a person calls an issue: its number, its key, or its address.
func keyOf(arg string) (string, error) {
	for part := range strings.SplitSeq(strings.TrimPrefix(arg, "#"), "/") {
		part, _, _ = strings.Cut(part, "#")
		if ticketKey().MatchString(part) {
			return strings.ToUpper(part), nil
		}
	}
	return "", usagef("liza help import", "%q is not the number, key or address of an issue", arg)
}

// tracker takes issues by number or by label; with a label also those that are known, which may have been closed or lost the label.
func (o *importOptions) tracker(ctx context.Context, d *verb.Service, s *blackboard.State, kind string, args []string) error {
	if len(args) == 0 && len(o.labels) == 0 {
		return usagef("liza help import", "name issues, or a label: liza import %s --label NAME", kind)
	}
	var keys []string
	for _, arg := range args {
		key, err := keyOf(arg)
		if err != nil {
			return err
		}
		keys = append(keys, key)
	}
	options, err := o.env.forges().tracker(ctx, d, kind, "")
	if err != nil {
		return err
	}
	if len(o.labels) > 0 {
		for _, rec := range s.Imports {
			if known, repo, key := rec.Place(); known == kind && repo == options.Repo && rec.Status == blackboard.ImportOpen {
				keys = append(keys, key)
			}
		}
	}
	return o.fetch(ctx, options, keys)
}

func (o *importOptions) fetch(ctx context.Context, options forge.Options, keys []string) error {
	t, err := forge.NewTracker(options)
	if err != nil {
		return &transition.Refusal{Exit: transition.ExitUsage, Next: "liza config import", Message: err.Error()}
	}
	seen := map[string]bool{}
	if len(o.labels) > 0 {
		found, err := t.Labelled(ctx, o.labels)
		if err != nil {
			return err
		}
		for _, f := range found {
			seen[f.Key] = true
			o.items = append(o.items, outsideOf(options, f))
		}
	}
	for _, key := range keys {
		if seen[key] {
			continue
		}
		seen[key] = true
		found, err := t.Ticket(ctx, key)
		if err != nil {
			return err
		}
		o.items = append(o.items, outsideOf(options, found))
	}
	return nil
}

func outsideOf(options forge.Options, t forge.Ticket) importer.Outside {
	source, id := options.Kind+":"+t.Key, t.Key
	if options.Repo != "" {
		source, id = options.Kind+":"+options.Repo+"#"+t.Key, "issue-"+t.Key
	}
	text := t.Body
	if t.Author != "" {
		text = "(" + t.Author + ")\n\n" + text
	}
	return importer.Outside{Source: source, URL: t.URL, ID: id, Title: t.Title, Text: text, Closed: t.Closed}
}

// again looks at everything that was imported and is not done.
func (o *importOptions) again(ctx context.Context, d *verb.Service, s *blackboard.State) error {
	type tracker struct{ kind, repo string }
	keys := map[tracker][]string{}
	var order []tracker
	files := map[string]bool{}
	for _, rec := range s.Imports {
		if rec == nil || rec.Status == blackboard.ImportDone {
			continue
		}
		kind, place, key := rec.Place()
		if kind == "" {
			if !files[place] {
				files[place] = true
				if err := o.lists(d, fileAt(d, place)); err != nil {
					o.env.Notices([]string{err.Error()})
				}
			}
			continue
		}
		t := tracker{kind, place}
		if keys[t] == nil {
			order = append(order, t)
		}
		keys[t] = append(keys[t], key)
	}
	for _, t := range order {
		options, err := o.env.forges().tracker(ctx, d, t.kind, t.repo)
		if err != nil {
			return err
		}
		if err := o.fetch(ctx, options, keys[t]); err != nil {
			return err
		}
	}
	return nil
}

// Bounds of what is read of a folder.
const (
	maxListBytes = 1 << 20
	maxListDepth = 5
)

func noList(path, why string) error {
	return &transition.Refusal{Exit: transition.ExitFailure, Next: "liza help import", Message: "cannot import " + path + ": " + why}
}

// fileAt is the place of a file that a source names.
func fileAt(d *verb.Service, name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(d.Board.Project.Root, filepath.FromSlash(name))
}

// listed is what check lists say.
type listed struct {
	items []importer.Outside
	whole []string // the files of which every item was taken
}

// listsAt has the items of a file, of one item FILE#KEY, or of each tasks.md in a folder.
func listsAt(d *verb.Service, path string) (all listed, err error) {
	only := ""
	info, err := os.Stat(path)
	if at := strings.LastIndex(path, "#"); err != nil && at > 0 {
		path, only = path[:at], path[at+1:]
		info, err = os.Stat(path)
	}
	if err != nil {
		return all, noList(path, "there is no such file, folder or tracker")
	}
	lists := []string{path}
	if info.IsDir() {
		if lists = tasksIn(path); len(lists) == 0 {
			return all, noList(path, "there is no tasks.md in it")
		}
	}
	for _, list := range lists {
		if err := all.add(d, list, only); err != nil {
			return all, err
		}
	}
	return all, nil
}

// tasksIn are the lists of a folder: its own, those of spec-kit's features, those of OpenSpec's changes that are not archived.
func tasksIn(dir string) []string {
	var found []string
	_ = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(dir, path)
		switch {
		case err != nil:
			return nil
		case e.IsDir() && path != dir && (strings.HasPrefix(e.Name(), ".") || e.Name() == "archive" || e.Name() == "node_modules" || strings.Count(rel, string(filepath.Separator)) >= maxListDepth):
			return fs.SkipDir
		case e.Name() == "tasks.md":
			found = append(found, path)
		}
		return nil
	})
	return found
}

func (l *listed) add(d *verb.Service, path, only string) error {
	data, err := safefile.Read(path)
	if err != nil {
		return err
	}
	if len(data) > maxListBytes {
		return noList(path, "it has more than 1 MB")
	}
	items := checklist.Parse(string(data))
	name := nameIn(d.Board.Project.Root, path)
	spec := ""
	for _, beside := range []string{"spec.md", "proposal.md"} {
		at := filepath.Join(filepath.Dir(path), beside)
		if _, err := os.Stat(at); err == nil && spec == "" && !filepath.IsAbs(filepath.FromSlash(name)) {
			spec = nameIn(d.Board.Project.Root, at)
		}
	}
	taken := false
	for _, i := range items {
		if only != "" && i.Key != only {
			continue
		}
		taken = true
		id := i.Key
		if i.ID && id[0] >= '0' && id[0] <= '9' {
			id = filepath.Base(filepath.Dir(path)) + "-" + id
		}
		text := i.Detail
		if i.Heading != "" {
			text = "Below the heading: " + i.Heading + "\n" + text
		}
		l.items = append(l.items, importer.Outside{Source: name + "#" + i.Key, ID: id, Title: i.Text, Text: text, Spec: spec, Closed: i.Done})
	}
	switch {
	case !taken && only != "":
		return noList(path, "it has no item "+only)
	case !taken:
		return noList(path, "it has no check list (- [ ] …)")
	case only == "":
		l.whole = append(l.whole, name)
	}
	return nil
}

// nameIn is how a file is known: by its path in the project, the same on every host, else by its whole path.
func nameIn(root, path string) string {
	if real, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
		path = filepath.Join(real, filepath.Base(path))
	}
	if rel, err := filepath.Rel(root, path); err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	return path
}
