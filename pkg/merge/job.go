package merge

import (
	"context"
	"errors"
	"time"

	"liza/pkg/blackboard"
	"liza/pkg/git"
)

// job is one round: what is merged, onto what.
type job struct {
	*Merger
	state  *blackboard.State // as it was when the round began
	name   string            // of candidate, check and log: the task's id, or what else moves the branch
	task   *blackboard.Task  // nil: no task is merged
	branch string
	old    string // head of the integration branch
	base   string // what a check that fails is compared with; "": old
	drift  int
	result Result

	excused    []string // what failed in the checks, and fails without the work in the same way
	unverified []string // the commands that failed so
}

// lasting is how long checks run before that is said; it is said again after a minute, and each time that has doubled.
const lasting = 10 * time.Second

// checked is check, and says it when that takes long.
func (j *job) checked(ctx context.Context, candidate string) (failed, log string, err error) {
	if j.Lasts != nil {
		ended := make(chan struct{})
		defer close(ended)
		go j.sayHowLong(ended)
	}
	return j.check(ctx, candidate)
}

func (j *job) sayHowLong(ended <-chan struct{}) {
	began := time.Now()
	for after := lasting; ; after = max(time.Minute, 2*after) {
		select {
		case <-time.After(after - time.Since(began)):
			j.Lasts(j.name, after)
		case <-ended:
			return
		}
	}
}

func candidateRef(id string) string { return "refs/liza/candidate/" + id }

func (j *job) setCandidate(ctx context.Context, commit string) error {
	ref := candidateRef(j.name)
	old, err := j.Repo.Ref(ctx, ref)
	if err != nil && !errors.Is(err, git.ErrNotFound) {
		return err
	}
	if old == commit {
		return nil
	}
	return j.Repo.UpdateRef(ctx, ref, commit, old)
}

func (m *Merger) deleteCandidate(ctx context.Context, id string) error {
	old, err := m.Repo.Ref(ctx, candidateRef(id))
	if errors.Is(err, git.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return m.Repo.DeleteRef(ctx, candidateRef(id), old)
}
