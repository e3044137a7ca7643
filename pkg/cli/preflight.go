package cli

import (
	"context"

	"liza/pkg/project"
	"liza/pkg/verb"
)

// What is said where git does not know who commits.
const (
	noIdentity   = "git does not know who commits here; agents sign with their id (coder-1 <coder-1@localhost>), merges are by Liza <liza@localhost>"
	tellIdentity = "git config user.name 'YOUR NAME' && git config user.email YOU@EXAMPLE.COM"
)

// identity looks whether git knows whose commits are made.
func (x *doctor) identity(ctx context.Context, _ *project.Project) {
	if x.desk == nil || x.desk.Repo == nil {
		return
	}
	switch known, err := x.desk.Repo.KnowsIdentity(ctx); {
	case err != nil:
		x.add("identity", verb.SeverityWarning, "git", "git config --list", "", "%v", err)
	case !known:
		x.add("identity", verb.SeverityWarning, "git", tellIdentity, "", "%s", noIdentity)
	default:
		x.add("identity", verb.SeverityOK, "git", "", "", "git knows who commits here")
	}
}
