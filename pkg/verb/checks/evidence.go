package checks

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"liza/pkg/base/safefile"
	"liza/pkg/code/git"
	"liza/pkg/code/review"
)

// The sides of evidence: folders of its commit in git.
const (
	Candidate = "candidate"
	Base      = "base"
)

const evidenceIndex = "index.json"

// keepEvidence returns the evidence that is kept of a commit under the rules, after putting what was made of it beside what is made of its
// base; nil: there is none, and nothing was made.
func (c *Checks) keepEvidence(ctx context.Context, secrets []string, e review.Evidence, rules []review.Rule, made *review.Gathered) (*review.Evidence, error) {
	key, err := c.evidenceKey(ctx, e.Base, rules)
	if err != nil {
		return nil, err
	}
	if kept, err := c.Evidence(ctx, e.Task, e.Commit); err != nil || kept != nil && kept.Key == key {
		return kept, err
	}
	if made == nil {
		return nil, nil
	}
	base, noBase, objects, err := c.baseEvidence(ctx, secrets, key, e.Base, rules)
	if err != nil {
		return nil, err
	}
	c.maskTexts(made.Files)
	e.Key, e.Missing, e.NoBase, e.Exit, e.Seconds, e.Files = key, made.Missing, noBase, made.Exit, made.Seconds, review.Compared(made.Files, base)
	return &e, c.store(ctx, e.Task, e.Commit, e, Candidate, made.Files, objects)
}

// evidenceKey names what rules make of the tree of a base.
func (c *Checks) evidenceKey(ctx context.Context, base string, rules []review.Rule) (string, error) {
	text, err := json.Marshal(rules)
	if err != nil || base == "" {
		sum := sha256.Sum256(text)
		return hex.EncodeToString(sum[:8]), err
	}
	return c.keyOf(ctx, base, string(text))
}

// maskTexts takes known secrets out of files that are texts.
func (c *Checks) maskTexts(files map[string][]byte) {
	for name, data := range files {
		if utf8.Valid(data) {
			files[name] = []byte(c.board.Mask(string(data)))
		}
	}
}

// store keeps an index and files in a folder beside it, with the files of the base, whose objects are there.
func (c *Checks) store(ctx context.Context, task, name string, index any, folder string, files map[string][]byte, base []git.Kept) error {
	data, err := json.MarshalIndent(index, "", " ")
	if err != nil {
		return err
	}
	kept := append(slices.Clone(base), git.Kept{Path: evidenceIndex, Content: data})
	for file, content := range files {
		kept = append(kept, git.Kept{Path: folder + "/" + file, Content: content})
	}
	_, err = c.board.Repo.KeepFiles(ctx, task, name, kept)
	return err
}

// baseEvidence returns what the rules make of a base, which is made once, with why it is not complete.
func (c *Checks) baseEvidence(ctx context.Context, secrets []string, key, base string, rules []review.Rule) (files map[string][]byte, missing string, objects []git.Kept, err error) {
	if base == "" {
		return nil, "there is none", nil, nil
	}
	unlock, err := c.lockBaseline(ctx)
	if err != nil {
		return nil, "", nil, err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	commit, err := c.board.Repo.KeptFiles(ctx, "", key)
	if err == nil && commit == "" {
		if missing, err = c.makeBase(ctx, secrets, key, base, rules); err == nil {
			commit, err = c.board.Repo.KeptFiles(ctx, "", key)
		}
	}
	if err != nil || commit == "" {
		return nil, missing, nil, err
	}
	var index struct{ Missing string }
	if err := c.index(ctx, commit, &index); err != nil {
		return nil, "", nil, err
	}
	files, objects, err = c.sideOf(ctx, commit, Base)
	return files, index.Missing, objects, err
}

// makeBase runs the commands of rules on a base and keeps what they make. The caller has the lock.
func (c *Checks) makeBase(ctx context.Context, secrets []string, key, base string, rules []review.Rule) (missing string, err error) {
	c.board.Progressf("check %s: makes that of the base %.9s", review.Exhibits, base)
	p, err := c.openPlace(ctx, secrets, ".base", base, c.board.Project.BaselineLog(key), c.board.Config().Limits.CheckTimeout)
	defer func() { err = errors.Join(err, p.Close(ctx)) }()
	if err != nil {
		return "", err
	}
	if p.Setup != "" {
		return fmt.Sprintf("worktree.setup fails there: %q", p.Setup), nil // for another reason, perhaps: it is tried again
	}
	made, err := review.Gather(rules, p.Dir, func(shell string) review.Ran {
		command := p.command(shell)
		command.Services = p.name
		return command.RunIn(ctx, c.board.Enclose)
	})
	if err != nil {
		return "", err
	}
	c.maskTexts(made.Files)
	return "", c.store(ctx, "", key, struct{ Missing string }{c.board.Mask(made.Missing)}, Base, made.Files, nil)
}

// EvidenceOf returns the evidence of a commit of a task, or else the newest of the task, nil for none.
func (c *Checks) EvidenceOf(ctx context.Context, task, commit string) (*review.Evidence, error) {
	all, err := c.board.Repo.Evidence(ctx, task)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	newest := slices.MaxFunc(all, func(a, b git.Saved) int { return cmp.Or(a.At.Compare(b.At), strings.Compare(a.Ref, b.Ref)) })
	for _, one := range all {
		if path.Base(one.Ref) == commit {
			newest = one
		}
	}
	return c.Evidence(ctx, task, path.Base(newest.Ref))
}

// Evidence returns what is kept of a commit of a task, nil for nothing.
func (c *Checks) Evidence(ctx context.Context, task, commit string) (*review.Evidence, error) {
	kept, err := c.board.Repo.KeptFiles(ctx, task, commit)
	if err != nil || kept == "" {
		return nil, err
	}
	e := &review.Evidence{}
	if err := c.index(ctx, kept, e); err != nil {
		return nil, err
	}
	if e.Task != task || e.Commit != commit {
		return nil, fmt.Errorf("the evidence that is kept for %s at %.9s is of %s at %.9s", task, commit, e.Task, e.Commit)
	}
	return e, nil
}

func (c *Checks) index(ctx context.Context, kept string, to any) error {
	data, err := c.board.Repo.ReadFile(ctx, kept, evidenceIndex)
	if err == nil {
		err = json.Unmarshal(data, to)
	}
	if err != nil {
		return fmt.Errorf("cannot read the evidence in %.9s: %w", kept, err)
	}
	return nil
}

// EvidenceFile returns a file of a side of evidence.
func (c *Checks) EvidenceFile(ctx context.Context, task, commit, side, name string) ([]byte, error) {
	kept, err := c.board.Repo.KeptFiles(ctx, task, commit)
	if err != nil {
		return nil, err
	}
	if kept == "" || strings.Trim(commit, "0123456789abcdef") != "" || side != Candidate && side != Base || path.Clean("/"+name) != "/"+name {
		return nil, git.ErrNotFound
	}
	return c.board.Repo.ReadFile(ctx, kept, side+"/"+name)
}

// sideOf reads the files in a folder of a commit.
func (c *Checks) sideOf(ctx context.Context, kept, side string) (files map[string][]byte, objects []git.Kept, err error) {
	list, err := c.board.Repo.Files(ctx, kept)
	if err != nil {
		return nil, nil, err
	}
	names := []string{}
	for _, f := range list {
		if strings.HasPrefix(f.Path, side+"/") && f.Regular {
			objects, names = append(objects, git.Kept{Path: f.Path, Object: f.Object}), append(names, f.Object)
		}
	}
	texts, err := c.board.Repo.ReadObjects(ctx, names)
	files = map[string][]byte{}
	for _, o := range objects {
		files[strings.TrimPrefix(o.Path, side+"/")] = []byte(texts[o.Object])
	}
	return files, objects, err
}

// EvidenceFolder returns the folder with the evidence of a task's last review, for its programs: beside their logs, which they may read.
func (c *Checks) EvidenceFolder(task string) string {
	return strings.TrimSuffix(c.board.Project.Output(task), ".log") + ".evidence"
}

// layOut writes the evidence of a commit into the folder of its task, where the programs that work on the task may read it, and removes that
// of an earlier commit.
func (c *Checks) layOut(ctx context.Context, task, commit string) error {
	dir := c.EvidenceFolder(task)
	if err := safefile.RemoveTree(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	e, err := c.Evidence(ctx, task, commit)
	if err != nil || e == nil {
		return err
	}
	return c.WriteEvidence(ctx, e, dir)
}

// WriteEvidence writes the files of evidence into a folder, which it makes: candidate/NAME and base/NAME. It replaces no file.
func (c *Checks) WriteEvidence(ctx context.Context, e *review.Evidence, dir string) error {
	kept, err := c.board.Repo.KeptFiles(ctx, e.Task, e.Commit)
	if err != nil || kept == "" {
		return errors.Join(err, fmt.Errorf("there is no evidence of %s any more", e.Task))
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	for _, side := range []string{Candidate, Base} {
		files, _, err := c.sideOf(ctx, kept, side)
		if err != nil {
			return err
		}
		if err := root.MkdirAll(side, 0o755); err != nil {
			return err
		}
		for name, data := range files {
			if err := writeNew(root, path.Join(side, name), data); err != nil {
				return fmt.Errorf("cannot write evidence: %w", err)
			}
		}
	}
	return nil
}

func writeNew(root *os.Root, name string, data []byte) error {
	if err := root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return err
	}
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}
