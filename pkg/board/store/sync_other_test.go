//go:build !linux

package store_test

import "errors"

const tracerMark = "STORE_TEST_TRACER"

func trace(string) error { return errors.New("system calls are traced on Linux only") }
