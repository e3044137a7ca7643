package supervisor

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
)

// identity gives the person's name to the git of an agent program as variables: some programs
// hide the person's configuration from the commands that they run, and their commits would
// fail. What the configuration does not say is the agent's id: a commit must not fail because
// nobody has told git who commits on this machine. Settings that the environment has already stay.
//
// environ is what the program gets besides.
func (s *Supervisor) identity(ctx context.Context, environ []string) ([]string, error) {
	name, email, err := s.Desk.Repo.Identity(ctx)
	if err != nil {
		return nil, err
	}
	count := 0
	for _, e := range environ {
		if n, ok := strings.CutPrefix(e, "GIT_CONFIG_COUNT="); ok {
			if count, err = strconv.Atoi(n); err != nil || count < 0 {
				return nil, nil // git itself says what is wrong with it
			}
		}
	}
	var env []string
	for _, setting := range [][2]string{{"user.name", cmp.Or(name, s.ID)}, {"user.email", cmp.Or(email, s.ID+"@localhost")}} {
		env = append(env, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", count, setting[0]), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", count, setting[1]))
		count++
	}
	return append(env, fmt.Sprintf("GIT_CONFIG_COUNT=%d", count)), nil
}
