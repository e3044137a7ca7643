//go:build !linux && !darwin

package project

import "errors"

func fileSystem(string) (FileSystem, error) {
	return FileSystem{}, errors.New("the kind of a file system is not known on this system")
}
