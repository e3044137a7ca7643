//go:build !linux

package safefile

import "context"

// Without locks of single bytes that belong to a descriptor, the order is the kernel's.

func (q queue) busy() bool                 { return false }
func (q queue) wait(context.Context) error { return nil }
func (q queue) leave()                     {}
