package git

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// FirstCommitTime is when the oldest of the commits was made that commit has and none of the
// others has. ok is false when there is no such commit; those that do not exist count as empty.
func (r *Repo) FirstCommitTime(ctx context.Context, commit string, others ...string) (at time.Time, ok bool, err error) {
	args := []string{"log", "--ignore-missing", "--format=%ct", commit}
	for _, o := range others {
		args = append(args, "^"+o)
	}
	if err := plainRevs(append([]string{commit}, others...)...); err != nil {
		return time.Time{}, false, err
	}
	out, err := r.read(ctx, r.place.Root, append(args, "--")...)
	if err != nil {
		return time.Time{}, false, fmt.Errorf("cannot read the times of the commits up to %s: %w", commit, err)
	}
	for text := range strings.FieldsSeq(out) {
		seconds, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return time.Time{}, false, fmt.Errorf("cannot read the time %q of a commit: %v", text, err)
		}
		if t := time.Unix(seconds, 0); !ok || t.Before(at) {
			at, ok = t, true
		}
	}
	return at, ok, nil
}
