//go:build !linux && !darwin

package project

import "errors"

func statfs(string) (uint64, error) {
	return 0, errors.New("free space is not known on this system")
}
