package git

import (
	"context"
	"slices"
	"strings"
)

// network is how the addresses begin to which one pushes over a network. Folders are left out: tests of projects push to
// repositories that they make.
var network = []string{"https://", "http://", "ssh://", "git://", "git@"}

// NoPush gives the settings, for the environment of a program, with which its git refuses to push: every address of a
// configured remote and every one of the network becomes a folder below /dev/null whose name is the reason. Fetching goes
// on, and the repository's configuration stays as it is.
//
// An address that is for pushing only (pushurl) and is the beginning of one to fetch from cannot be refused that way.
func (r *Repo) NoPush(ctx context.Context, reason string) ([][2]string, error) {
	remotes, err := r.settings(ctx, func(key string) bool {
		return strings.HasPrefix(key, "remote.") && (strings.HasSuffix(key, ".url") || strings.HasSuffix(key, ".pushurl"))
	})
	if err != nil {
		return nil, err
	}
	nowhere := "url./dev/null/" + reason + "/."
	var fetched []string
	for _, one := range remotes {
		if strings.HasSuffix(one[0], ".url") {
			fetched = append(fetched, one[1])
		}
	}
	refusals := [][2]string{}
	for _, address := range slices.Concat(fetched, network) { // the longest that fits wins, so a person's own rule loses to the whole address
		refusals = append(refusals, [2]string{nowhere + "pushInsteadOf", address})
	}
	for _, one := range remotes {
		begins := func(url string) bool { return strings.HasPrefix(url, one[1]) }
		if strings.HasSuffix(one[0], ".pushurl") && one[1] != "" && !slices.ContainsFunc(fetched, begins) {
			refusals = append(refusals, [2]string{nowhere + "insteadOf", one[1]})
		}
	}
	return refusals, nil
}
