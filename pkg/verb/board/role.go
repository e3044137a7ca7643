package board

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"path/filepath"

	"liza/pkg/base/safefile"
	"liza/pkg/board/blackboard"
	"liza/pkg/board/transition"
	"liza/pkg/run/role"
)

// Roles are the roles of the project with its settings about them.
type Roles struct{ board *Session }

// Roles returns the roles of the project.
func (b *Session) Roles() Roles { return Roles{b} }

// Library reads the roles as their files are now (specs/roles-and-knowledge.md#1.4).
func (r Roles) Library() *role.Library { return role.Load(r.board.Project.Roles()) }

// Settings returns what the configuration says about roles.
func (r Roles) Settings() role.Settings {
	cfg := r.board.Config()
	models := map[string]string{}
	for name, m := range cfg.Models {
		models[name] = m.Name
	}
	return role.Settings{Default: cfg.Roles.Default, TypeMapping: cfg.Roles.TypeMapping, ByKind: cfg.Roles.ByKind, Models: models, Program: cfg.Agents.Default}
}

// Of returns the role of a run (1.7). A role that cannot be used is a refusal: nothing is
// started then, and nothing takes its place.
func (r Roles) Of(kind role.Kind, t *blackboard.Task) (role.Resolved, error) {
	used, err := r.Library().Resolve(kind, t, r.Settings())
	return used, RoleRefusal(t, err)
}

// RoleRefusal turns an unusable role into a refusal; another error stays as it is.
func RoleRefusal(t *blackboard.Task, err error) error {
	var unusable *role.UnusableError
	if !errors.As(err, &unusable) {
		return err
	}
	next := "liza roles"
	if unusable.Rule == "kind" || unusable.File != "" {
		next = "liza doctor"
	}
	return &transition.Refusal{Guard: "G30", Exit: transition.ExitRefused, Next: next, Message: unusable.Error()}
}

// TellUnusable notifies people of a role for which work is refused, once until its file
// changes (1.7). Another error is not its business.
func (r Roles) TellUnusable(ctx context.Context, err error) {
	if u, ok := errors.AsType[*role.UnusableError](err); ok {
		r.board.Notify(ctx, "role_unusable", "", u.Name+" "+versionOf(r.board.Project.Roles(), u), u.Error()+"; next: liza doctor")
	}
}

// versionOf tells one form of a role's file from another; without a file, one defect from another.
func versionOf(folder string, u *role.UnusableError) string {
	data, err := safefile.Read(filepath.Join(folder, filepath.Base(u.File)))
	if u.File == "" || err != nil {
		data = []byte(u.Why)
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:6])
}

// Check says for each task why its role cannot be used, "" when it can, and found is told
// of the defect. It may run inside of an Update: the files were read before.
func (r Roles) Check(found func(error)) func(*blackboard.Task) string {
	roles, settings := r.Library(), r.Settings()
	verbatim := r.board.Config().Messenger.Mode == "verbatim"
	return func(t *blackboard.Task) string {
		kind := role.Coder
		switch {
		case t.KindOf() == blackboard.MessageTask && !verbatim:
			kind = role.Messenger
		case t.KindOf() != blackboard.CodeTask:
			return "" // nobody is asked
		}
		if _, err := roles.Resolve(kind, t, settings); err != nil {
			found(err)
			return err.Error()
		}
		return ""
	}
}

// Unusable returns the roles that work waits for and that cannot be used, each once: those
// of tasks that are not over, of the planner and of the reviewer.
func (r Roles) Unusable(s *blackboard.State) []*role.UnusableError {
	roles, settings := r.Library(), r.Settings()
	var list []*role.UnusableError
	seen := map[string]bool{}
	look := func(kind role.Kind, t *blackboard.Task) {
		_, err := roles.Resolve(kind, t, settings)
		if u, ok := errors.AsType[*role.UnusableError](err); ok && !seen[u.Name] {
			seen[u.Name] = true
			list = append(list, u)
		}
	}
	for t := range s.Tasks() {
		switch {
		case t.Status.Terminal():
		case t.KindOf() == blackboard.CodeTask:
			look(role.Coder, t)
		case t.KindOf() == blackboard.MessageTask && r.board.Config().Messenger.Mode != "verbatim":
			look(role.Messenger, t)
		}
	}
	look(role.Planner, nil)
	if !r.board.Config().Review.Disabled() {
		look(role.Reviewer, nil)
	}
	return list
}

// NewProblem says why a new task cannot have the role, or the model of the role, that
// it names.
func (r Roles) NewProblem(t *blackboard.Task) string {
	if t.Role == "" && t.ModelRole == "" {
		return ""
	}
	roles := r.Library()
	if t.Role != "" {
		if t.KindOf() != blackboard.CodeTask {
			return "role: '" + t.Role + "' is given, but only code tasks have a role"
		}
		if _, err := roles.Use(role.Coder, t.Role, "override"); err != nil {
			return "role: " + err.Error()
		}
	}
	if t.ModelRole != "" {
		if _, err := roles.Get(t.ModelRole); err != nil {
			return "model: " + err.Error()
		}
	}
	return ""
}
