package sandbox

import (
	"fmt"
	"os"
	"strings"
)

// clearPlaces makes sure that nothing is mounted through a link that a former run has left in a folder that it could write: bubblewrap
// follows it while all of the machine can be seen still, and makes the file that it leads to. In folders that are shown at another
// place, which are Liza's own, links are removed.
func (s Spec) clearPlaces(program string) error {
	mounts := s.mounts()
	for _, m := range mounts {
		var around mount // the nearest that it lies in
		for _, a := range mounts {
			if a.target != m.target && within(m.target, a.target) && len(a.target) > len(around.target) {
				around = a
			}
		}
		if around.kind != writable && around.kind != over || around.target == "" {
			continue
		}
		link := linkOn(around.source, strings.TrimPrefix(m.target, around.target))
		if link == "" {
			continue
		}
		if around.kind == writable {
			return fmt.Errorf("cannot contain %s: '%s', in a folder that it may write, is a symbolic link in the way to '%s'\nnext: rm '%s', or take one of both out of sandbox.allow", program, link, m.target, link)
		}
		if err := os.Remove(link); err != nil {
			return fmt.Errorf("cannot contain %s: %v", program, err)
		}
	}
	return nil
}
