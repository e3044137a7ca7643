package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	urfave "github.com/urfave/cli/v3"

	"liza/pkg/base/prose"
	"liza/pkg/base/safefile"
	"liza/pkg/board/blackboard"
	"liza/pkg/board/transition"
	"liza/pkg/code/forge"
	"liza/pkg/verb/sprint"
	"liza/pkg/verb/verb"
)

// Bounds of the calls of webhooks.
const (
	maxHook     = 1 << 20          // bytes of a body
	maxHooks    = 1000             // calls that are remembered
	hooksAtOnce = 8                // bodies that are read
	hookPatient = 10 * time.Second // for a body
)

type hookOptions struct {
	on                    bool
	secretEnv, secretFile string
	importLabel           string // issues with it are imported
	goalLabel             string // an issue with it begins a goal
}

func (o *hookOptions) flags() []urfave.Flag {
	return []urfave.Flag{
		flag("hooks", "take webhooks of GitHub, GitLab and Gitea at /hooks/github, /hooks/gitlab and /hooks/gitea", &o.on),
		text("hooks-secret-env", "`NAME` of the environment variable that holds the secret of the webhooks", &o.secretEnv),
		text("hooks-secret-file", "`FILE` that holds it", &o.secretFile),
		text("import-label", "`NAME`: issues that have it are imported", &o.importLabel),
		text("goal-label", "`NAME`: an issue that gets it is the next goal", &o.goalLabel),
	}
}

// A hookServer takes the calls of webhooks, and puts what they ask for on the board. It carries nothing out.
type hookServer struct {
	hookOptions
	d      *verb.Service
	forges *forges
	warn   func(string)
	secret []byte
	bodies chan struct{}

	mu   sync.Mutex
	seen map[string]time.Time // ids of calls
}

func newHookServer(ctx context.Context, env *Env, o hookOptions, d *verb.Service) (*hookServer, error) {
	secret := env.System.Get(o.secretEnv)
	if o.secretFile != "" {
		data, err := safefile.Read(env.path(o.secretFile))
		if err != nil {
			return nil, fmt.Errorf("cannot read the secret of the webhooks: %w", err)
		}
		secret = strings.TrimSpace(string(data))
	}
	if (o.secretEnv == "") == (o.secretFile == "") || len(secret) < shortestToken {
		return nil, usagef("openssl rand -base64 24", "--hooks needs a secret of at least %d characters, in the variable that --hooks-secret-env names or in the file of --hooks-secret-file", shortestToken)
	}
	env.System.Secrets().Add("hooks_secret", secret)
	if err := d.Board.PersonOnly(ctx, "take webhooks"); err != nil {
		return nil, err
	}
	h := &hookServer{hookOptions: o, d: d, forges: env.forges(), warn: func(text string) { env.System.Log().Warn(text) }, secret: []byte(secret),
		bodies: make(chan struct{}, hooksAtOnce)}
	if data, err := safefile.Read(d.Board.Project.Hooks()); err == nil && json.Unmarshal(data, &h.seen) != nil {
		h.warn("the webhooks that were taken before the start are not known any more: " + d.Board.Project.Hooks() + " is damaged")
	}
	if h.seen == nil {
		h.seen = map[string]time.Time{}
	}
	return h, nil
}

func (h *hookServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	status, text := h.take(w, r)
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, h.d.Board.Mask(text)+"\n")
}

// take answers a call. What it asks for is on the board before.
func (h *hookServer) take(w http.ResponseWriter, r *http.Request) (status int, text string) {
	kind := strings.TrimPrefix(r.URL.Path, "/hooks/")
	switch {
	case !slices.Contains(forge.HookKinds, kind):
		return http.StatusNotFound, "webhooks are at /hooks/" + strings.Join(forge.HookKinds, ", /hooks/")
	case r.Method != http.MethodPost:
		return http.StatusMethodNotAllowed, "webhooks are posted"
	}
	body, status := h.body(w, r)
	if status != 0 {
		return status, "the body is larger than 1 MiB, or it did not come in time"
	}
	now := h.d.Board.Now()
	hook, err := forge.ReadHook(kind, r.Header, body, h.secret, now)
	switch {
	case errors.Is(err, forge.ErrUnsigned):
		return http.StatusUnauthorized, err.Error()
	case err != nil:
		return http.StatusBadRequest, err.Error()
	case hook.Ping:
		return http.StatusOK, "pong"
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for id, at := range h.seen {
		if now.Sub(at) > forge.HookAge+forge.HookAhead { // it is refused by its age
			delete(h.seen, id)
		}
	}
	switch {
	case slices.ContainsFunc(hook.IDs[:], func(id string) bool { return !h.seen[id].IsZero() }):
		return http.StatusConflict, "this call was here before"
	case len(h.seen) >= 2*maxHooks:
		return http.StatusTooManyRequests, "too many calls"
	}
	does, err := h.does(r.Context(), hook)
	if err != nil {
		return http.StatusServiceUnavailable, "try again: " + headline(explain(err).message)
	}
	h.remember(hook, now)
	return http.StatusAccepted, does
}

// body reads the body of a call, and gives the status when that is not possible.
func (h *hookServer) body(w http.ResponseWriter, r *http.Request) ([]byte, int) {
	select {
	case h.bodies <- struct{}{}:
		defer func() { <-h.bodies }()
	default:
		return nil, http.StatusTooManyRequests
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(hookPatient))
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxHook))
	if err != nil {
		return nil, http.StatusRequestEntityTooLarge
	}
	return body, 0
}

// remember keeps the ids of a call, also over a restart.
func (h *hookServer) remember(hook forge.Hook, now time.Time) {
	for _, id := range hook.IDs {
		h.seen[id] = now
	}
	file := h.d.Board.Project.Hooks()
	data, err := json.Marshal(h.seen)
	if err = errors.Join(err, safefile.MakeFolder(filepath.Dir(file), 0o755)); err == nil {
		err = safefile.Replace(file, data, 0o600)
	}
	if err != nil {
		h.warn("a webhook is not remembered over a restart: " + err.Error())
	}
}

// does puts on the board what a call asks for, and says it. The token of the forge is not needed for that.
func (h *hookServer) does(ctx context.Context, hook forge.Hook) (string, error) {
	at, err := h.forges.tracker(ctx, h.d, hook.Kind, "")
	land := h.d.Board.Config().Land
	if hook.Issue == "" && land.Forge == hook.Kind {
		at, err = h.forges.options(ctx, h.d, land, "land")
	}
	switch {
	case hook.Issue == "" && land.Forge != hook.Kind:
		return "nothing: work does not land there", nil
	case at.Repo == "":
		return "", err
	case !strings.EqualFold(at.Repo, hook.Repo):
		return "nothing: it is about another repository than " + at.Repo, nil
	case hook.Issue == "":
		return h.schedule(ctx, blackboard.Schedule{Do: blackboard.ScheduleLand}, "")
	}
	source, issue := hook.Kind+":"+at.Repo+"#"+hook.Issue, blackboard.List{hook.Kind, hook.Issue}
	if h.goalLabel != "" && !hook.Closed && slices.Contains(hook.Labels, h.goalLabel) {
		goals, err := sprint.Goals(ctx, h.d)
		if err != nil {
			return "", err
		}
		if !slices.ContainsFunc(goals, func(g sprint.PastGoal) bool { return ofIssue(g.Description, source) }) {
			text := prose.OneLine(h.d.Board.Mask(hook.Title), 120) + " (" + source + ")"
			return h.schedule(ctx, blackboard.Schedule{Do: blackboard.ScheduleGoal, Args: append(blackboard.List{text}, issue...)}, source)
		}
	}
	s, err := h.d.Board.View(ctx)
	if err != nil {
		return "", err
	}
	if s.Import(source) == nil && (h.importLabel == "" || !slices.Contains(hook.Labels, h.importLabel)) {
		return "nothing: the issue was not imported, and has no label for it", nil
	}
	return h.schedule(ctx, blackboard.Schedule{Do: blackboard.ScheduleImport, Args: issue}, "")
}

// ofIssue reports whether a goal was made of the issue.
func ofIssue(goal, source string) bool { return strings.HasSuffix(goal, "("+source+")") }

// schedule puts work on the board that comes once, unless it is there; source is the issue of a goal.
func (h *hookServer) schedule(ctx context.Context, x blackboard.Schedule, source string) (string, error) {
	err := h.d.Board.Update(ctx, "hook", func(s *blackboard.State, a transition.Actor) error {
		if err := h.d.Board.OnlyPerson(s, a, "take webhooks"); err != nil {
			return err
		}
		waits := func(old *blackboard.Schedule) bool { return len(old.Args) > 0 && ofIssue(old.Args[0], source) }
		if source != "" && (s.Goal != nil && ofIssue(s.Goal.Description, source) || slices.ContainsFunc(s.Schedules, waits)) {
			return transition.ErrAlreadyDone
		}
		own := x
		return transition.AddSchedule(s, &own, transition.SystemActor(h.d.Board.Facts()), h.d.Board.Now())
	})
	if transition.IsAlreadyDone(err) {
		err = nil
	}
	return x.What(), err
}
