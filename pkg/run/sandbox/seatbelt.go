package sandbox

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// seatbeltProgram is the program that applies a profile on macOS.
const seatbeltProgram = "/usr/bin/sandbox-exec"

// macSystem are the folders that every program of macOS reads.
var macSystem = []string{"/usr", "/bin", "/sbin", "/System", "/Library", "/opt", "/private/etc", "/private/var/db", "/dev"}

// seatbelt returns the Spec as a profile for macOS: files only, as at partial. Of two rules the later one counts, so deeper
// paths come later. It follows the documentation and was never run (specs/security.md).
func (s Spec) seatbelt() string {
	type rule struct{ path, text string }
	var rules []rule
	add := func(paths []string, allow string) {
		for _, path := range paths {
			rules = append(rules, rule{path, strings.ReplaceAll(allow, "PATH", strconv.Quote(path))})
		}
	}
	add(slices.Concat(macSystem, s.Read, s.Tools, s.ours(), s.homePaths(s.HomeRead)), "(allow file-read* (subpath PATH))")
	add(s.Hide, "(deny file* (subpath PATH))")
	add(slices.Concat(s.Write, s.homePaths(s.HomeWrite), []string{s.Home, s.Tmp, "/dev"}), "(allow file-read* file-write* (subpath PATH))")
	slices.SortStableFunc(rules, func(a, b rule) int { return cmp.Compare(strings.Count(a.path, "/"), strings.Count(b.path, "/")) })
	var b strings.Builder
	b.WriteString("(version 1)\n(deny default)\n(allow process* sysctl-read mach-lookup ipc-posix* system-socket network* pseudo-tty file-ioctl file-read-metadata)\n" +
		"(allow signal (target pgrp))\n(allow file-read* (literal \"/\"))\n")
	for _, r := range rules {
		b.WriteString(r.text + "\n")
	}
	return b.String()
}

// underSeatbelt starts a program with that profile.
func (s Spec) underSeatbelt(c Contained) (Contained, error) {
	c.Argv = slices.Concat([]string{"sandbox-exec", "-p", s.seatbelt(), c.Path}, c.Argv[min(1, len(c.Argv)):])
	c.Path = seatbeltProgram
	return c, s.fillHome()
}
