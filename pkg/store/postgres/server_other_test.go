//go:build !linux

package postgres

import "syscall"

func endWithUs(*syscall.SysProcAttr) {}
