package supervisor

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
)

// noPush is why the git of an agent program does not push; git quotes it in its error.
const noPush = "liza: agents do not push (policy.push is false in .liza/config.yaml)"

// gitSettings are the variables for the git of an agent program: the person's name, and that it
// does not push unless policy.push says so. Settings that the environment has already stay.
//
// environ is what the program gets besides.
func (s *Supervisor) gitSettings(ctx context.Context, environ []string) ([]string, error) {
	settings, err := s.identity(ctx)
	if err != nil {
		return nil, err
	}
	if !s.Service.Config().Policy.Push {
		refusals, err := s.Service.Repo.NoPush(ctx, noPush)
		if err != nil {
			return nil, err
		}
		settings = append(settings, refusals...)
	}
	return variables(environ, settings), nil
}

// identity is the person's name as settings: some programs hide the person's configuration from
// the commands that they run, and their commits would fail. What the configuration does not say
// is the agent's id: a commit must not fail because nobody has told git who commits on this machine.
func (s *Supervisor) identity(ctx context.Context) ([][2]string, error) {
	name, email, err := s.Service.Repo.Identity(ctx)
	return [][2]string{{"user.name", cmp.Or(name, s.ID)}, {"user.email", cmp.Or(email, s.ID+"@localhost")}}, err
}

// variables hand settings to git besides those that the environment has.
func variables(environ []string, settings [][2]string) []string {
	count := 0
	for _, e := range environ {
		if n, ok := strings.CutPrefix(e, "GIT_CONFIG_COUNT="); ok {
			var err error
			if count, err = strconv.Atoi(n); err != nil || count < 0 {
				return nil // git itself says what is wrong with it
			}
		}
	}
	var env []string
	for _, setting := range settings {
		env = append(env, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", count, setting[0]), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", count, setting[1]))
		count++
	}
	return append(env, fmt.Sprintf("GIT_CONFIG_COUNT=%d", count))
}
