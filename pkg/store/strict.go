package store

import (
	"fmt"

	"liza/pkg/blackboard"
	"liza/pkg/yamldoc"
)

// What Options.Strict proves. A failure is a mistake in Liza, so it panics.

// proveUntouched reads the bytes again and compares what they say with the state that all
// forks share.
func (r *rules) proveUntouched(v *version) {
	again := &version{}
	if err := again.parse(v.doc.Bytes(), newReader()); err != nil {
		panic("store: the state cannot be read again: " + err.Error())
	}
	for _, sec := range sections() {
		if is, was := sec.of(v.base), sec.of(again.base); !yamldoc.Same(is.Interface(), was.Interface()) {
			panic(fmt.Sprintf("store: somebody changed section %s of a state that is shared; see blackboard.State.Own", sec.key))
		}
	}
}

func (r *rules) proveSame(narrow, all []blackboard.Violation) {
	names := func(list []blackboard.Violation) map[string]bool {
		set := map[string]bool{}
		for _, v := range list {
			set[v.Rule+" "+v.Path+" "+v.Message] = true
		}
		return set
	}
	a, b := names(narrow), names(all)
	for v := range b {
		if !a[v] {
			panic("store: looking at what changed misses a violation: " + v)
		}
	}
	for v := range a {
		if !b[v] {
			panic("store: looking at what changed invents a violation: " + v)
		}
	}
}
