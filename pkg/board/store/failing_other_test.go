//go:build !linux || !amd64

package store_test

import "errors"

const canFail = false

func failing(string) error { return errors.ErrUnsupported }
