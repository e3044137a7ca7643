package board

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	"liza/pkg/base/safefile"
	"liza/pkg/base/secret"
	"liza/pkg/board/blackboard"
	"liza/pkg/board/store"
	"liza/pkg/run/exitcmd"
)

// A Vault keeps the secrets of plans and people, and masks them in what was written before they were known.
type Vault struct{ board *Session }

// Vault returns the secrets of the project.
func (b *Session) Vault() Vault { return Vault{b} }

// SecretsOf are the values of secrets by their names; missing are those that nobody gave.
// Only skills get them, and only what they declare.
func (v Vault) SecretsOf(names []string) (values map[string]string, missing []string, err error) {
	values = map[string]string{}
	for _, name := range names {
		value, known, err := v.secretValue(name)
		if err != nil {
			return nil, nil, err
		}
		if !known {
			missing = append(missing, name)
			continue
		}
		values[name] = value
	}
	return values, missing, nil
}

func (v Vault) secretValue(name string) (value string, known bool, err error) {
	if value, known = v.board.Held.value(name); known || !exitcmd.SecretName().MatchString(name) {
		return value, known, nil
	}
	data, err := safefile.Read(filepath.Join(v.board.Project.Secrets(), name))
	if errors.Is(err, fs.ErrNotExist) {
		return "", false, nil
	}
	if err != nil {
		return "", false, fmt.Errorf("cannot read the secret %s: %v", name, err)
	}
	return strings.TrimRight(string(data), "\r\n"), true, nil
}

// KeepSecrets takes the secrets out of a plan before anything else of it, or of the run that
// made it, is written: from then on they are masked everywhere, and where the request has left
// them they are masked too. The plan keeps the names. Values that were kept before need nothing.
func (v Vault) KeepSecrets(ctx context.Context, p *exitcmd.Plan) (warnings []string, err error) {
	if problems := exitcmd.SecretProblems(p.Secrets); len(problems) > 0 {
		return nil, exitcmd.InvalidPlan(exitcmd.NotApplied+"%s", strings.Join(problems, "; "))
	}
	for _, name := range slices.Sorted(maps.Keys(p.Secrets)) {
		value := p.Secrets[name]
		if _, known, err := v.secretValue(name); err != nil {
			return nil, err
		} else if isMask(value) && !known {
			return nil, exitcmd.InvalidPlan(exitcmd.NotApplied+"secrets.%s is masked, and its value is not known any more; give it again", name)
		}
		if !secret.Masks(value) {
			warnings = append(warnings, "secret "+name+" has less than four characters: it is not masked")
		}
	}
	return warnings, v.keepValues(ctx, p.Secrets)
}

// KeepFound is KeepSecrets for the output of a planner, of which nothing has been written yet:
// its answer may be of no use, and yet hold secrets. It gives the output without them.
func (v Vault) KeepFound(ctx context.Context, output string) (string, error) {
	if err := v.keepValues(ctx, exitcmd.Secrets(output)); err != nil {
		return "", err
	}
	return v.board.Mask(output), nil
}

// isMask tells a value that was masked before the planner saw it from one that it gave.
func isMask(value string) bool { return strings.HasPrefix(value, "[REDACTED:") }

// keepValues stores the values that are not known yet, and masks them wherever they are.
func (v Vault) keepValues(ctx context.Context, values map[string]string) error {
	fresh := map[string]string{}
	for name, value := range values {
		old, known, err := v.secretValue(name)
		if err != nil {
			return err
		}
		if !isMask(value) && (!known || old != value) {
			fresh[name] = value
		}
	}
	if len(fresh) == 0 {
		return nil
	}
	if v.board.Secrets == nil {
		v.board.Secrets = new(secret.Set)
	}
	for name, value := range fresh {
		v.board.Secrets.Add(name, value)
	}
	if v.board.Rehearsal {
		return nil
	}
	unlock, err := v.lockSecrets(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if err := v.storeSecrets(fresh); err != nil {
		return err
	}
	v.board.Failpoint("secrets.stored")
	if err := v.scrub(ctx); err != nil {
		return err
	}
	v.board.Failpoint("secrets.scrubbed")
	return nil
}

func (v Vault) lockSecrets(ctx context.Context) (func() error, error) {
	if err := safefile.MakeFolder(v.board.Project.Secrets(), 0o700); err != nil {
		return nil, fmt.Errorf("cannot store secrets: %v", err)
	}
	return safefile.Lock(ctx, filepath.Join(v.board.Project.Secrets(), ".lock"), safefile.Holder{PID: os.Getpid(), Op: "secrets"})
}

// storeSecrets puts values where the configuration wants them. The mark comes first: anyone who
// finds it after a crash scrubs with what is stored.
func (v Vault) storeSecrets(values map[string]string) error {
	memory := v.board.Config().Secrets.Store == "memory"
	if memory && (v.board.Held == nil || !v.board.Held.Memory) {
		return exitcmd.InvalidPlan("the plan has secrets, and with secrets.store: memory only `liza run` can keep them")
	}
	if memory {
		for name, value := range values {
			v.board.Held.Hold(name, value)
		}
		return nil
	}
	dir := v.board.Project.Secrets()
	if err := safefile.Replace(filepath.Join(dir, scrubMark), nil, 0o600); err != nil {
		return fmt.Errorf("cannot store secrets: %w", err)
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if err := safefile.Replace(filepath.Join(dir, name), []byte(values[name]), 0o600); err != nil {
			return fmt.Errorf("cannot store the secret %s: %w", name, err)
		}
	}
	return nil
}

// RecoverScrub ends a scrub that a crash interrupted.
func (v Vault) RecoverScrub(ctx context.Context) error {
	if _, err := os.Lstat(filepath.Join(v.board.Project.Secrets(), scrubMark)); err != nil || v.board.Secrets == nil {
		return nil
	}
	unlock, err := v.lockSecrets(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	v.board.LoadSecrets()
	return v.scrub(ctx)
}

// keepsSecrets reports whether there may be secrets of a plan.
func (v Vault) keepsSecrets() bool {
	if v.board.Held != nil && v.board.Held.Memory {
		return true
	}
	_, err := os.Lstat(v.board.Project.Secrets())
	return err == nil
}

// endSecrets takes the secrets of plans off the board of a goal that is over, and returns their
// names. Those that people gave have no name there.
func endSecrets(s *blackboard.State) []string {
	if s.Goal == nil || s.Goal.Status == blackboard.InProgress || len(s.Secrets) == 0 {
		return nil
	}
	names := s.Secrets
	s.Secrets = nil
	return names
}

// forgetSecrets removes the values of secrets whose goal is over.
func (v Vault) forgetSecrets(names []string) error {
	for _, name := range names {
		v.board.Held.drop(name)
		if !exitcmd.SecretName().MatchString(name) {
			continue
		}
		if err := os.Remove(filepath.Join(v.board.Project.Secrets(), name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("cannot remove the secret %s: %v", name, err)
		}
	}
	return nil
}

// HeldSecrets are the values of secrets that are in no file: those of the environment
// (LIZA_SECRET_NAME), and those of plans with secrets.store: memory.
type HeldSecrets struct {
	Memory bool // this process lives as long as a plan needs its secrets

	mu     sync.Mutex
	values map[string]string
}

// Hold keeps a value.
func (h *HeldSecrets) Hold(name, value string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.values == nil {
		h.values = map[string]string{}
	}
	h.values[name] = value
}

func (h *HeldSecrets) value(name string) (string, bool) {
	if h == nil {
		return "", false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	value, ok := h.values[name]
	return value, ok
}

func (h *HeldSecrets) drop(name string) {
	if h != nil {
		h.mu.Lock()
		delete(h.values, name)
		h.mu.Unlock()
	}
}

// Mask takes every secret that is known out of a text (specs/roles-and-knowledge.md#9.6).
func (b *Session) Mask(text string) string {
	b.LoadSecrets()
	return b.Secrets.Mask(text)
}

// MaskLog is a stream in which no secret gets to w. Closing it leaves w open.
func (b *Session) MaskLog(w io.Writer) io.WriteCloser {
	b.LoadSecrets()
	return b.Secrets.Writer(w)
}

// LoadSecrets learns the secrets that people put into their folder, for masking.
func (b *Session) LoadSecrets() {
	if b.Secrets == nil {
		return
	}
	if err := b.Secrets.AddFolder(b.Project.Secrets()); err != nil {
		b.Progressf("%v", err)
	}
}

// scrub masks what was written before a secret was known to be one: notes and every other
// text of the board, the archive, the states that were, histories, prompts, logs and reports
// (specs/roles-and-knowledge.md#9.6). It may be repeated.
func (v Vault) scrub(ctx context.Context) error {
	op := store.Op{Name: "scrub", Agent: blackboard.System}
	err := v.board.Store.Update(ctx, op, func(s *blackboard.State) error {
		s.OwnHolding(v.board.Secrets.Mask) // the store masks what is changed
		return v.board.Histories().Archives().Scrub(v.board.Secrets.Mask)
	})
	if err != nil {
		return err
	}
	holds := func(data []byte) bool { return v.board.Secrets.Mask(string(data)) != string(data) }
	if f, ok := v.board.Store.(store.Forgetter); ok {
		if err := f.Forget(ctx, op, holds); err != nil {
			return err
		}
	}
	if err := v.scrubHistories(ctx); err != nil {
		return err
	}
	if err := v.scrubFiles(); err != nil {
		return err
	}
	if err := os.Remove(filepath.Join(v.board.Project.Secrets(), scrubMark)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cannot end the masking of secrets: %v", err)
	}
	return nil
}

func (v Vault) scrubHistories(ctx context.Context) error {
	folders, err := filepath.Glob(v.board.Project.HistoryDir("*"))
	if err != nil {
		return err
	}
	for _, folder := range folders {
		if err := v.board.Histories().Interactions(filepath.Base(folder)).Scrub(ctx, v.scrubFile); err != nil {
			return err
		}
	}
	return nil
}

// notScrubbed are what the scrub leaves alone below .liza: what people write and git tracks,
// what is masked apart from the other files, and the secrets themselves.
var notScrubbed = []string{"secrets", "roles", "skills", "history", filepath.Join("archive", "roles"), "state.yaml", "log.yaml", "config.yaml", "config.json", "instructions.md", ".gitignore"}

// scrubFiles masks the files below .liza that are not state.
func (v Vault) scrubFiles() error {
	return filepath.WalkDir(v.board.Project.Liza, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				return nil // somebody else has removed it
			}
			return err
		}
		if rel, _ := filepath.Rel(v.board.Project.Liza, path); slices.Contains(notScrubbed, rel) {
			if e.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		tasks := filepath.Dir(path) == v.board.Project.ArchiveDir() && filepath.Ext(path) == ".yaml"
		if !e.Type().IsRegular() || tasks {
			return nil
		}
		return v.scrubFile(path)
	})
}

// scrubFile masks one file. One to which others may be adding lines stays the same file.
func (v Vault) scrubFile(path string) error {
	data, err := safefile.Read(path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.EISDIR) { // nothing is in a folder of that name
		return nil
	}
	packed := strings.HasSuffix(path, ".gz")
	if err == nil && packed {
		data, err = unpack(data)
	}
	if err != nil {
		return fmt.Errorf("cannot mask secrets in %s: %v", path, err)
	}
	text := v.board.Secrets.Mask(string(data))
	if text == string(data) {
		return nil
	}
	out := []byte(text)
	switch {
	case packed:
		out, err = pack(out)
		fallthrough
	case !slices.Contains([]string{".log", ".jsonl", ".events"}, filepath.Ext(path)):
		if err == nil {
			err = safefile.Replace(path, out, 0o600)
		}
	default:
		err = rewrite(path, out)
	}
	if err != nil {
		return fmt.Errorf("cannot mask secrets in %s: %w", path, err)
	}
	return nil
}

// rewrite puts other content into a file.
func rewrite(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	if _, err = f.WriteAt(data, 0); err == nil {
		err = f.Truncate(int64(len(data)))
	}
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

func unpack(data []byte) ([]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(z)
}

func pack(data []byte) ([]byte, error) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, err := z.Write(data)
	err = errors.Join(err, z.Close())
	return b.Bytes(), err
}

// scrubMark is in the folder of secrets as long as a scrub is due.
const scrubMark = ".scrub"
