package supervisor

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

// identity gives the person's name to the git of an agent program as variables: some programs
// hide the person's configuration from the commands that they run, and their commits would
// fail. Settings that the environment has already stay.
func (s *Supervisor) identity(ctx context.Context) ([]string, error) {
	name, email, err := s.Desk.Repo.Identity(ctx)
	if err != nil {
		return nil, err
	}
	count := 0
	for _, e := range s.Environ {
		if n, ok := strings.CutPrefix(e, "GIT_CONFIG_COUNT="); ok {
			if count, err = strconv.Atoi(n); err != nil || count < 0 {
				return nil, nil // git itself says what is wrong with it
			}
		}
	}
	var env []string
	for _, setting := range [][2]string{{"user.name", name}, {"user.email", email}} {
		if setting[1] != "" {
			env = append(env, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", count, setting[0]), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", count, setting[1]))
			count++
		}
	}
	if len(env) == 0 {
		return nil, nil
	}
	return append(env, fmt.Sprintf("GIT_CONFIG_COUNT=%d", count)), nil
}
