package git

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

const attic = "refs/liza/attic/"

// An Attic is one saved state of a task's work.
type Attic struct {
	Ref    string
	N      int
	Commit string
	tree   string
	parent string // first parent
}

// AtticRefs lists the saved work of id, newest first.
func (r *Repo) AtticRefs(ctx context.Context, id string) ([]Attic, error) {
	if err := checkID(id); err != nil {
		return nil, err
	}
	return r.atticOf(ctx, id)
}

func (r *Repo) atticOf(ctx context.Context, id string) ([]Attic, error) {
	if none, err := r.refFiles([]string{attic + id + "/"}); err == nil && len(none) == 0 {
		return nil, nil // as a rule
	}
	out, err := r.read(ctx, r.place.Root, "for-each-ref", "--format=%(refname) %(objectname) %(tree) %(parent)", attic+id+"/")
	if err != nil {
		return nil, fmt.Errorf("cannot list the attic of %s: %w", id, err)
	}
	var all []Attic
	for line := range strings.Lines(out) {
		parts := append(strings.Split(strings.TrimSuffix(line, "\n"), " "), "")
		n, err := strconv.Atoi(strings.TrimPrefix(parts[0], attic+id+"/"))
		if err != nil || len(parts) < 4 {
			continue // not one of ours
		}
		all = append(all, Attic{Ref: parts[0], N: n, Commit: parts[1], tree: parts[2], parent: parts[3]})
	}
	newestFirst(all)
	return all, nil
}

func newestFirst(all []Attic) {
	slices.SortFunc(all, func(a, b Attic) int { return b.N - a.N })
}

// Proof says what counts as safe when work is removed, besides the task's attic, which is looked at in any case.
type Proof struct {
	Integration string // head of the integration branch; "" when there is none
	Base        string // where the work began: a branch that still is there holds nothing; "" when unknown
}

// beyond counts the commits up to commit that neither the proof nor the attic has.
func (r *Repo) beyond(ctx context.Context, commit string, proof Proof, all []Attic) (int, error) {
	if commit == proof.Base {
		return 0, nil
	}
	if held, err := r.Reaches(ctx, commit, proof.Integration); err == nil && held {
		return 0, nil // as a rule: merged work goes
	}
	args := []string{"rev-list", "--count", commit, "--not"}
	if proof.Integration != "" {
		args = append(args, proof.Integration)
	}
	for _, one := range all {
		args = append(args, one.Commit)
	}
	out, err := r.read(ctx, r.place.Root, append(args, "--")...)
	if err != nil {
		return 0, err
	}
	count, err := strconv.Atoi(strings.TrimSpace(out))
	if err != nil {
		return 0, errors.New("git rev-list printed no number")
	}
	return count, nil
}
