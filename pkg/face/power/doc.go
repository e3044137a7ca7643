// Package power has tests only: the real programs and the real git on a file system that forgets what was not synced
// (specs/testing.md#power).
package power
