package forge

import (
	"fmt"
	"strings"
)

// New gives the client for a repository.
func New(o Options) (Client, error) {
	if o.Repo == "" {
		return nil, fmt.Errorf("cannot use the forge: the repository is not known")
	}
	h, err := newTransport(o)
	if err != nil {
		return nil, err
	}
	switch o.Kind {
	case GitHub:
		return &github{hub{h, "/repos/" + o.Repo, true}}, nil
	case Gitea:
		return &gitea{hub: hub{h, "/repos/" + o.Repo, false}, members: map[string]bool{}}, nil
	case GitLab:
		return &gitlab{transport: h, project: "/projects/" + strings.ReplaceAll(o.Repo, "/", "%2F"), members: map[int]bool{}}, nil
	}
	return nil, fmt.Errorf("cannot use the forge %q: it is none of github, gitlab and gitea", o.Kind)
}
