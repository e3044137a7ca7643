package verb

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"liza/pkg/blackboard"
	"liza/pkg/exitcmd"
	"liza/pkg/safefile"
	"liza/pkg/secret"
)

// SecretsOf are the values of secrets by their names; missing are those that nobody gave.
// Only skills get them, and only what they declare.
func (d *Service) SecretsOf(names []string) (values map[string]string, missing []string, err error) {
	values = map[string]string{}
	for _, name := range names {
		value, known, err := d.secretValue(name)
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

func (d *Service) secretValue(name string) (value string, known bool, err error) {
	if value, known = d.Held.value(name); known || !exitcmd.SecretName().MatchString(name) {
		return value, known, nil
	}
	data, err := safefile.Read(filepath.Join(d.Project.Secrets(), name))
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
func (d *Service) KeepSecrets(ctx context.Context, p *exitcmd.Plan) (warnings []string, err error) {
	if problems := exitcmd.SecretProblems(p.Secrets); len(problems) > 0 {
		return nil, exitcmd.InvalidPlan("the plan cannot be applied: %s", strings.Join(problems, "; "))
	}
	for _, name := range slices.Sorted(maps.Keys(p.Secrets)) {
		value := p.Secrets[name]
		if _, known, err := d.secretValue(name); err != nil {
			return nil, err
		} else if isMask(value) && !known {
			return nil, exitcmd.InvalidPlan("the plan cannot be applied: secrets.%s is masked, and its value is not known any more; give it again", name)
		}
		if !secret.Masks(value) {
			warnings = append(warnings, "secret "+name+" has less than four characters: it is not masked")
		}
	}
	return warnings, d.keepValues(ctx, p.Secrets)
}

// KeepFound is KeepSecrets for the output of a planner, of which nothing has been written yet:
// its answer may be of no use, and yet hold secrets. It gives the output without them.
func (d *Service) KeepFound(ctx context.Context, output string) (string, error) {
	if err := d.keepValues(ctx, exitcmd.Secrets(output)); err != nil {
		return "", err
	}
	return d.Mask(output), nil
}

// isMask tells a value that was masked before the planner saw it from one that it gave.
func isMask(value string) bool { return strings.HasPrefix(value, "[REDACTED:") }

// keepValues stores the values that are not known yet, and masks them wherever they are.
func (d *Service) keepValues(ctx context.Context, values map[string]string) error {
	fresh := map[string]string{}
	for name, value := range values {
		old, known, err := d.secretValue(name)
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
	if d.Secrets == nil {
		d.Secrets = new(secret.Set)
	}
	for name, value := range fresh {
		d.Secrets.Add(name, value)
	}
	if d.Rehearsal {
		return nil
	}
	unlock, err := d.lockSecrets(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if err := d.storeSecrets(fresh); err != nil {
		return err
	}
	d.Failpoint("secrets.stored")
	if err := d.scrub(ctx); err != nil {
		return err
	}
	d.Failpoint("secrets.scrubbed")
	return nil
}

func (d *Service) lockSecrets(ctx context.Context) (func() error, error) {
	if err := safefile.MakeFolder(d.Project.Secrets(), 0o700); err != nil {
		return nil, fmt.Errorf("cannot store secrets: %v", err)
	}
	return safefile.Lock(ctx, filepath.Join(d.Project.Secrets(), ".lock"), safefile.Holder{PID: os.Getpid(), Op: "secrets"})
}

// storeSecrets puts values where the configuration wants them. The mark comes first: anyone who
// finds it after a crash scrubs with what is stored.
func (d *Service) storeSecrets(values map[string]string) error {
	memory := d.Config().Secrets.Store == "memory"
	if memory && (d.Held == nil || !d.Held.Memory) {
		return exitcmd.InvalidPlan("the plan has secrets, and with secrets.store: memory only `liza run` can keep them")
	}
	if memory {
		for name, value := range values {
			d.Held.Hold(name, value)
		}
		return nil
	}
	dir := d.Project.Secrets()
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

// recoverScrub ends a scrub that a crash interrupted.
func (d *Service) recoverScrub(ctx context.Context) error {
	if _, err := os.Lstat(filepath.Join(d.Project.Secrets(), scrubMark)); err != nil || d.Secrets == nil {
		return nil
	}
	unlock, err := d.lockSecrets(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	d.loadSecrets()
	return d.scrub(ctx)
}

// keepsSecrets reports whether there may be secrets of a plan.
func (d *Service) keepsSecrets() bool {
	if d.Held != nil && d.Held.Memory {
		return true
	}
	_, err := os.Lstat(d.Project.Secrets())
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
func (d *Service) forgetSecrets(names []string) error {
	for _, name := range names {
		d.Held.drop(name)
		if !exitcmd.SecretName().MatchString(name) {
			continue
		}
		if err := os.Remove(filepath.Join(d.Project.Secrets(), name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("cannot remove the secret %s: %v", name, err)
		}
	}
	return nil
}
