package git

import (
	"context"
	"maps"
	"net/url"
	"slices"
	"strings"
)

// noRemote is in the place of the address to which a run would push: git quotes it then.
const noRemote = "/dev/null/liza: runs neither fetch nor push; Liza pushes what is approved"

// openAddress is the address of a remote without what a person logs in with.
func openAddress(address string) string {
	if strings.Contains(address, "::") { // a program of the person's makes the connection
		return noRemote
	}
	if !strings.Contains(address, "://") {
		return address
	}
	u, err := url.Parse(address)
	if err != nil {
		return noRemote
	}
	u.RawQuery, u.Fragment = "", ""
	if name := u.User.Username(); name != "" && strings.Contains(u.Scheme, "ssh") { // with others a name can be a token
		u.User = url.User(name)
	} else {
		u.User = nil
	}
	return u.String()
}

// remotesOf are the settings of the remotes among values as a run has them.
func remotesOf(values map[string]string, push, logins bool) map[string]string {
	remotes := map[string]string{}
	address := func(value string) string {
		if logins {
			return value
		}
		return openAddress(value)
	}
	for key, value := range values {
		at := strings.LastIndexByte(key, '.')
		if !strings.HasPrefix(key, "remote.") || at <= len("remote") {
			continue
		}
		switch name, last := key[:at], key[at:]; {
		case last == ".fetch":
			remotes[key] = value
		case last == ".url":
			if remotes[key] = address(value); !push {
				remotes[name+".pushurl"] = noRemote
			}
		case last == ".pushurl" && push:
			remotes[key] = address(value)
		}
	}
	return remotes
}

// HomeConfig is git's configuration of a home folder that is not the person's: who commits, also in a repository that a test makes. In a git folder
// below this repository's own one it includes the file included, whose content is project: its remotes.
func (r *runner) HomeConfig(ctx context.Context, included string) (home, project string, err error) {
	o, err := r.configured(ctx, r.place.CommonDir, r.place.CommonDir)
	if err != nil {
		return "", "", err
	}
	values := o.effective()
	for _, key := range []string{"user.name", "user.email", "init.defaultbranch"} {
		if values[key] != "" {
			home += setting(key, values[key])
		}
	}
	remotes := remotesOf(values, false, false)
	for _, key := range slices.Sorted(maps.Keys(remotes)) {
		project += setting(key, remotes[key])
	}
	if project != "" {
		for _, at := range []string{r.place.CommonDir, r.place.CommonDir + "/"} { // the latter is what is in it
			home += setting("includeIf.gitdir:"+at+".path", included)
		}
	}
	return home, project, nil
}
