package git

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"liza/pkg/base/safefile"
)

// FolderSpec describes the git folder of one run.
type FolderSpec struct {
	Task     string // task of the worktree; "": the main checkout, which is read-only
	Agent    string // agent of the run
	Keep     bool   // commits on the task's branch are taken over; false: they are dropped
	Branches map[string]string
	// Branches are branches that it sees at another commit than they are at: the integration branch, where Liza left it.

	Known    []string // commits that the work may be based on: its base, the integration branch; "" is skipped
	Redirect bool     // the worktree's .git names the folder until Close; false: the folder is mounted
	Remotes  bool     // it may push to the remotes
	Logins   bool     // their addresses have the names and passwords with which the person logs in
}

// A Folder is the git folder of one run: a plain repository with its own branches, index, configuration and objects, which
// borrows the repository's objects. Changes in it have no effect elsewhere; TakeOver takes over the commits of the task.
type Folder struct {
	Git    string   // the folder that the run sees
	Target string   // its mount point: git's folder of the worktree, or the common folder
	Read   []string // further read-only paths, mounted at the same place; some are below Target

	repo   *Repo
	dir    string
	record folderRecord
	lock   *os.File
}

// folderRecord is Liza's record of a folder, out of reach of the run.
type folderRecord struct {
	Task  string   `json:"task,omitempty"`
	Agent string   `json:"agent"`
	Keep  bool     `json:"keep,omitempty"`
	Seq   int      `json:"seq"`           // number; of several folders of the task the newest counts
	Tip   string   `json:"tip,omitempty"` // tip of the task's branch when the folder was made or last taken over
	Known []string `json:"known,omitempty"`
}

func (f *Folder) write() error {
	data, err := json.Marshal(f.record)
	if err != nil {
		return err
	}
	return safefile.Replace(filepath.Join(f.dir, recordFile), data, 0o600)
}

// restoreLink lets the worktree's .git name git's folder again, if it names this one.
func (f *Folder) restoreLink() error {
	if f.record.Task == "" {
		return nil
	}
	link := filepath.Join(f.repo.WorktreePath(f.record.Task), ".git")
	if info, err := os.Lstat(link); err != nil || !info.Mode().IsRegular() {
		return nil
	}
	if target, err := readGitFile(link); err != nil || target != f.Git {
		return nil
	}
	admin := f.repo.adminOf(link)
	if admin == "" {
		return nil
	}
	return replaceLink(link, "gitdir: "+admin)
}

// remove takes the record first: without it the folder is a half-made one.
func (f *Folder) remove() error {
	err := os.Remove(filepath.Join(f.dir, recordFile))
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return errors.Join(err, safefile.RemoveTree(f.dir), f.lock.Close())
}

// Taking selects the work to take over.
type Taking struct {
	Task  string
	Known []string // further commits that the work may be based on now; "" is skipped
	Late  bool     // the branch must not move any more: commits are saved in the attic
}

// Taken is the result of taking over the git folder of a run.
type Taken struct {
	Open    bool     // there is such a folder; if not, the rest is empty
	Branch  string   // branch of its HEAD; "" if detached
	Head    string   // commit of HEAD, or ""
	Commit  string   // tip of the task's branch there
	Moved   bool     // the task's branch moved to Commit
	Attic   string   // ref of the commits, if the branch could not move
	Refused string   // why the commits were not taken over, or ""
	Others  []string // refs of the commits on other branches and in the stash; only when the folder is removed
}

// foldersOf are the folders of a task that have a record, the newest first. Their locks are not taken.
func (r *Repo) foldersOf(task string) []*Folder {
	all := slices.DeleteFunc(r.folders(), func(f *Folder) bool { return f.record.Task != task })
	slices.SortFunc(all, func(a, b *Folder) int { return b.record.Seq - a.record.Seq })
	return all
}

// folders are all folders of runs that have a record.
func (r *Repo) folders() []*Folder {
	dir := filepath.Join(r.place.CommonDir, foldersDir)
	entries, _ := os.ReadDir(dir)
	var all []*Folder
	for _, e := range entries {
		f := &Folder{repo: r, dir: filepath.Join(dir, e.Name())}
		if f.load() == nil {
			all = append(all, f)
		}
	}
	return all
}

func (f *Folder) load() error {
	data, err := safefile.Read(filepath.Join(f.dir, recordFile))
	if err == nil {
		err = json.Unmarshal(data, &f.record)
	}
	f.Git = filepath.Join(f.dir, "git")
	return err
}

// current is the folder in which the work of a task is done, nil when there is none.
func (r *Repo) current(task string) *Folder {
	for _, f := range r.foldersOf(task) {
		if f.record.Keep {
			return f
		}
	}
	return nil
}

// replaceLink writes one of git's small files whole: anyone who reads it sees the old line or
// the new one.
func replaceLink(path, line string) error {
	next := path + ".liza"
	if err := os.RemoveAll(next); err != nil { // what an agent put there must not be followed
		return err
	}
	file, err := os.OpenFile(next, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = file.WriteString(line + "\n")
	if err := errors.Join(err, file.Close()); err != nil {
		return err
	}
	return os.Rename(next, path)
}

// OpenFolder makes the git folder of a run. It starts no process except to read a changed configuration. It first takes over
// the work of former runs of the task.
func (r *Repo) OpenFolder(ctx context.Context, spec FolderSpec) (*Folder, error) {
	fail := func(err error) (*Folder, error) {
		return nil, fmt.Errorf("cannot make the git folder of %s: %w", spec.Agent, err)
	}
	if !folderName().MatchString(folderOf(spec.Task, spec.Agent)) {
		return fail(errors.New("the names of task and agent are not names of files"))
	}
	if spec.Task != "" {
		if _, err := r.Settle(ctx, spec.Task, !spec.Keep); err != nil {
			return fail(err)
		}
	}
	s, err := r.lock(ctx)
	if err != nil {
		return fail(err)
	}
	defer s.unlock()
	f, err := s.reserve(spec)
	if err != nil {
		return fail(err)
	}
	if err = s.fill(ctx, f, spec); err == nil {
		err = f.write()
	}
	if err == nil && spec.Redirect {
		err = replaceLink(filepath.Join(r.WorktreePath(spec.Task), ".git"), "gitdir: "+f.Git)
	}
	if err != nil {
		return fail(errors.Join(err, f.remove()))
	}
	return f, nil
}

// AdoptFolder takes over the folder of a run whose supervisor died: f has its exported fields, and lock is what Lock returned.
func (r *Repo) AdoptFolder(f Folder, lock *os.File) (*Folder, error) {
	f.repo, f.dir, f.lock = r, filepath.Dir(f.Git), lock
	if err := f.load(); err != nil {
		return nil, fmt.Errorf("cannot adopt the git folder of a run: %w", err)
	}
	return &f, nil
}

// Lock says that the run goes on for as long as a process has this file open.
func (f *Folder) Lock() *os.File { return f.lock }

// reserve makes the empty folder under a name that no living run has.
func (s *session) reserve(spec FolderSpec) (*Folder, error) {
	f := &Folder{repo: s.Repo, record: folderRecord{Task: spec.Task, Agent: spec.Agent, Keep: spec.Keep && spec.Task != "", Seq: 1}}
	for _, other := range s.foldersOf(spec.Task) {
		f.record.Seq = max(f.record.Seq, other.record.Seq+1)
	}
	for n := 1; f.lock == nil; n++ {
		f.dir = filepath.Join(s.place.CommonDir, foldersDir, folderOf(spec.Task, spec.Agent))
		if n > 1 {
			f.dir += fmt.Sprintf(".%d", n)
		}
		if err := safefile.MakeFolder(f.dir, 0o700); err != nil {
			return nil, err
		}
		lock, err := safefile.Hold(filepath.Join(f.dir, "lock"), os.O_RDWR|os.O_CREATE)
		if err != nil && !errors.Is(err, safefile.ErrInUse) {
			return nil, err
		}
		if lock != nil && !exists(filepath.Join(f.dir, recordFile)) { // a half-made one of a killed process is made again
			f.lock = lock
		} else {
			_ = lock.Close()
		}
	}
	f.Git = filepath.Join(f.dir, "git")
	return f, safefile.RemoveTree(f.Git)
}

// fill writes the repository.
func (s *session) fill(ctx context.Context, f *Folder, spec FolderSpec) error {
	common, admin, worktree := s.place.CommonDir, s.place.CommonDir, ""
	if spec.Task == "" {
		worktree = readCore(common).worktree
		if worktree != "" {
			worktree = absolute(common, worktree)
		}
	} else if admin = s.adminDir(s.WorktreePath(spec.Task)); admin == "" {
		return fmt.Errorf("%s is not a worktree of this repository", s.WorktreePath(spec.Task))
	}
	f.Target = admin
	head, packed, err := s.folderRefs(ctx, f, spec)
	if err != nil {
		return err
	}
	objects, alternates := s.alternates()
	if spec.Task != "" { // those of the main checkout are at their place
		alternates = append([]string{objects}, alternates...)
	}
	if err := s.layOut(ctx, f.Git, layout{admin: admin, worktree: worktree, remotes: spec.Remotes, logins: spec.Logins, head: head, packed: packed, borrowed: alternates}); err != nil {
		return err
	}
	f.Read = append([]string{objects}, s.alternatesOf(objects)...)
	for _, path := range []string{filepath.Join(admin, "modules"), filepath.Join(common, "lfs")} {
		if exists(path) {
			f.Read = append(f.Read, path)
		}
	}
	return nil
}

// A layout describes a plain repository that borrows objects.
type layout struct {
	admin    string // git's folder of the worktree, whose index is copied
	index    string // copied instead of that index
	worktree string // "": it has no worktree
	remotes  bool   // it may push to the remotes
	logins   bool   // their addresses are the person's
	person   bool   // it ignores the files that the person's git ignores everywhere
	head     string
	packed   string // content of packed-refs
	borrowed []string
}

// layOut writes the repository as files, without a process but to read a configuration that has changed.
func (r *runner) layOut(ctx context.Context, git string, l layout) error {
	for _, dir := range []string{"info", "objects/info", "refs", "modules"} { // git makes the others when it needs them
		if err := safefile.MakeFolder(filepath.Join(git, dir), 0o700); err != nil {
			return err
		}
	}
	config, err := r.folderConfig(ctx, l)
	if err != nil {
		return err
	}
	common := r.place.CommonDir
	copies := map[string]string{"info/exclude": common, "info/attributes": common, "shallow": common, "index": l.admin, "info/sparse-checkout": l.admin}
	shared, _ := filepath.Glob(filepath.Join(l.admin, "sharedindex.*"))
	for _, path := range shared {
		copies[filepath.Base(path)] = l.admin
	}
	for name, from := range copies {
		from = filepath.Join(from, name)
		if name == "index" && l.index != "" {
			from = l.index
		}
		if err := copyIndex(from, filepath.Join(git, name)); err != nil {
			return err
		}
	}
	if l.person {
		own, err := r.personFiles(ctx, git)
		if err != nil {
			return err
		}
		config += own + "[core]\n\tfsmonitor = false\n\tquotePath = false\n\tsafecrlf = false\n[advice]\n\taddEmbeddedRepo = false\n[gc]\n\tauto = 0\n[pack]\n\twindowMemory = 64m\n\tthreads = 1\n"
	}
	texts := map[string]string{"config": config, "HEAD": l.head + "\n", "packed-refs": l.packed}
	if len(l.borrowed) > 0 {
		texts["objects/info/alternates"] = strings.Join(l.borrowed, "\n") + "\n"
	}
	for name, text := range texts {
		if err := os.WriteFile(filepath.Join(git, filepath.FromSlash(name)), []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// personFiles copies the files of patterns and attributes that hold for all repositories of the person, and returns the settings that
// name the copies.
func (r *runner) personFiles(ctx context.Context, git string) (config string, err error) {
	o, err := r.configured(ctx, r.place.CommonDir, r.place.CommonDir)
	if err != nil {
		return "", err
	}
	values, home := o.effective(), r.variable("HOME")
	own := cmp.Or(r.variable("XDG_CONFIG_HOME"), filepath.Join(home, ".config"))
	for key, usual := range map[string]string{"core.excludesfile": "ignore", "core.attributesfile": "attributes"} {
		path := cmp.Or(values[key], filepath.Join(own, "git", usual))
		if rest, inHome := strings.CutPrefix(path, "~/"); inHome {
			path = filepath.Join(home, rest)
		}
		to := filepath.Join(git, "person-"+usual)
		if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() || info.Size() > 1<<20 {
			to = os.DevNull
		} else if err := copyIndex(path, to); err != nil {
			return "", err
		}
		config += setting(key, to)
	}
	return config, nil
}

// alternates returns the folder of the repository's objects, and those that it borrows from.
func (r *runner) alternates() (objects string, borrowed []string) {
	objects = filepath.Join(r.place.CommonDir, "objects")
	return objects, r.alternatesOf(objects)
}

// alternatesOf are the folders from which a folder of objects borrows, and these from others: git follows five.
func (r *runner) alternatesOf(objects string) []string {
	var all []string
	for next := []string{objects}; len(next) > 0 && len(all) < 100; next = next[1:] {
		data, err := safefile.Read(filepath.Join(next[0], "info", "alternates"))
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(data)) {
			if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
				path := absolute(next[0], line)
				if !slices.Contains(all, path) {
					all, next = append(all, path), append(next, path)
				}
			}
		}
	}
	return all
}

// folderRefs are HEAD and the branches, tags and remote branches that a run sees: all but those of other tasks. That of
// its own is kept in the record.
func (s *session) folderRefs(ctx context.Context, f *Folder, spec FolderSpec) (head, packed string, err error) {
	refs, err := s.refsIn(ctx, "refs/heads/", "refs/tags/", "refs/remotes/")
	if err != nil {
		return "", "", err
	}
	for name, commit := range spec.Branches {
		if commit != "" {
			refs[branches+name] = commit
		}
	}
	if spec.Task != "" {
		head = "ref: " + branches + TaskBranch(spec.Task)
		f.record.Tip = refs[branches+TaskBranch(spec.Task)]
		f.record.Known = slices.DeleteFunc(slices.Clone(spec.Known), func(rev string) bool { return rev == "" })
	} else {
		at, err := s.Head(ctx)
		if err != nil {
			return "", "", err
		}
		if head = at.Commit; at.Branch != "" {
			head = "ref: " + branches + at.Branch
		}
	}
	var b strings.Builder
	b.WriteString("# pack-refs with: sorted \n")
	for _, name := range slices.Sorted(maps.Keys(refs)) {
		if spec.Task == "" || !strings.HasPrefix(name, branches+"task/") || name == branches+TaskBranch(spec.Task) {
			b.WriteString(refs[name] + " " + name + "\n")
		}
	}
	return head, b.String(), nil
}

// LeftFolders returns the tasks with a git folder of a run whose supervisor was killed.
func (r *Repo) LeftFolders() []string {
	var tasks []string
	for _, f := range r.folders() {
		if f.claim() {
			tasks = append(tasks, f.record.Task)
			_ = f.lock.Close()
		}
	}
	slices.Sort(tasks)
	return slices.Compact(tasks)
}

// ClearFolders removes incomplete folders of killed processes: they have no record.
func (r *Repo) ClearFolders(ctx context.Context) error {
	s, err := r.lock(ctx) // nobody makes one now
	if err != nil {
		return err
	}
	defer s.unlock()
	dir := filepath.Join(r.place.CommonDir, foldersDir)
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if path := filepath.Join(dir, e.Name()); !exists(filepath.Join(path, recordFile)) {
			err = errors.Join(err, safefile.RemoveTree(path))
		}
	}
	return errors.Join(err, r.clearHelp())
}

// claim takes the lock of a folder whose run is over.
func (f *Folder) claim() bool {
	var err error
	if f.lock, err = safefile.Hold(filepath.Join(f.dir, "lock"), os.O_RDWR|os.O_CREATE); err == nil && f.load() == nil { // nobody has removed it meanwhile
		return true
	}
	_ = f.lock.Close()
	return false
}

// Settle takes over the work in git folders of a task whose supervisors were killed, and removes the folders. It leaves those
// of living runs. With late the task's branch stays, and commits are saved in the attic. It returns the result of the last
// folder.
func (r *Repo) Settle(ctx context.Context, task string, late bool) (taken Taken, err error) {
	all := r.foldersOf(task)
	slices.Reverse(all)
	for _, f := range all {
		if !f.claim() {
			continue
		}
		if taken, err = f.Close(ctx, late); err != nil {
			return taken, err
		}
	}
	return taken, nil
}

// folderSettings are the settings that the git folder of a run gets from the person's and the repository's configuration,
// because honest work differs without them. All others are left out: addresses to push to (except with FolderSpec.Remotes; else
// noRemote), credentials, and settings that start programs, such as hooks, except the filters in Repo.Filters, which run with
// the rights of the run.
var folderSettings = []struct{ key, reason string }{
	{"user.name", "who commits"},
	{"user.email", "who commits"},
	{"user.useconfigonly", "who commits"},
	{"i18n.commitencoding", "the encoding of messages"},
	{"core.autocrlf", "the ends of lines in files"},
	{"core.eol", "the ends of lines in files"},
	{"core.safecrlf", "the ends of lines in files"},
	{"core.filemode", "what the file system can keep"},
	{"core.symlinks", "what the file system can keep"},
	{"core.ignorecase", "what the file system can keep"},
	{"core.precomposeunicode", "what the file system can keep"},
	{"core.checkstat", "what counts as a change of a file"},
	{"core.trustctime", "what counts as a change of a file"},
	{"core.sparsecheckout", "which files are checked out"},
	{"core.sparsecheckoutcone", "which files are checked out"},
	{"index.sparse", "the index is a copy of the worktree's"},
	{"index.version", "the index is a copy of the worktree's"},
	{"core.untrackedcache", "the index is a copy of the worktree's"},
	{"core.splitindex", "the index is a copy of the worktree's"},
	{"core.bigfilethreshold", "which files are compared"},
	{"core.commentchar", "messages that begin with it"},
	{"core.whitespace", "what git calls an error of whitespace"},
	{"core.abbrev", "how commits are named in texts"},
	{"core.quotepath", "how files are named in texts"},
	{"diff.algorithm", "how differences look"},
	{"diff.renames", "how differences look"},
	{"diff.renamelimit", "how differences look"},
	{"merge.conflictstyle", "how conflicts look"},
	{"merge.renames", "what a merge finds"},
	{"merge.renamelimit", "what a merge finds"},
	{"blame.ignorerevsfile", "whose line it is"},
}

// folderConfig is the configuration of a git folder of its own.
func (r *runner) folderConfig(ctx context.Context, l layout) (string, error) {
	o, err := r.configured(ctx, l.admin, r.place.CommonDir)
	if err != nil {
		return "", err
	}
	values := o.effective()
	worktree := l.worktree
	remotes := remotesOf(values, l.remotes, l.logins)
	var keys []string
	for key := range values {
		name := driverName(key)
		filter := strings.HasPrefix(key, "filter.") && slices.Contains(r.Filters, name) && values[key] != ""
		if filter || slices.ContainsFunc(folderSettings, func(s struct{ key, reason string }) bool { return s.key == key }) {
			keys = append(keys, key)
		}
	}
	for key, value := range remotes {
		keys, values[key] = append(keys, key), value
	}
	for key := range values { // without their addresses
		if name, ok := strings.CutSuffix(key, ".url"); ok && strings.HasPrefix(key, "submodule.") {
			keys, values[name+".active"] = append(keys, name+".active"), "true"
		}
	}
	version := "0"
	if values["extensions.objectformat"] != "" {
		version, keys = "1", append(keys, "extensions.objectformat")
	}
	set := map[string]string{"core.repositoryformatversion": version, "core.bare": "false", "core.logallrefupdates": "true", "gc.autodetach": "false", "core.hookspath": os.DevNull}
	for key, value := range set {
		keys, values[key] = append(keys, key), value
	}
	if worktree != "" {
		keys, values["core.worktree"] = append(keys, "core.worktree"), worktree
	}
	slices.Sort(keys)
	var b strings.Builder
	for _, key := range slices.Compact(keys) {
		b.WriteString(setting(key, values[key]))
	}
	return b.String(), nil
}

// effective returns the value of each key after our own settings.
func (o overrides) effective() map[string]string {
	values, own := map[string]string{}, map[string]string{}
	for _, one := range o.all {
		values[one[0]] = one[1]
	}
	for _, variable := range o.env {
		name, value, _ := strings.Cut(variable, "=")
		own[name] = value
	}
	for _, option := range o.options {
		setting := strings.TrimPrefix(option, "--config-env=")
		at := strings.LastIndexByte(setting, '=')
		values[setting[:at]] = own[setting[at+1:]]
	}
	return values
}

// setting is one setting as git's file of configuration has it.
func setting(key, value string) string {
	section, rest, _ := strings.Cut(key, ".")
	name := rest
	if at := strings.LastIndexByte(rest, '.'); at >= 0 {
		section, name = fmt.Sprintf("%s %s", section, quoted(rest[:at])), rest[at+1:]
	}
	return fmt.Sprintf("[%s]\n\t%s = %s\n", section, name, quoted(value))
}

func quoted(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`).Replace(text) + `"`
}
