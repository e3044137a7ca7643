package store_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"liza/pkg/board/store"
)

// A power loss keeps what was flushed to disk; all else may be there, be missing, or be
// there in part. What may be is made from copies of the folder that are taken at each
// step of a write (specs/protocol.md#1.2), in all combinations.

// disk is the content of the files of a project, by path.
type disk map[string]string

func (p *project) disk() disk {
	p.t.Helper()
	d := disk{}
	for _, root := range []string{".liza", ".git/liza"} {
		_ = filepath.WalkDir(filepath.Join(p.dir, root), func(path string, e os.DirEntry, err error) error {
			if err == nil && e.Type().IsRegular() {
				rel, _ := filepath.Rel(p.dir, path)
				d[rel] = p.read(path)
			}
			return nil
		})
	}
	return d
}

// write makes a project that has these files.
func (d disk) write(t *testing.T) *project {
	t.Helper()
	p := newProject(t)
	for rel, text := range d {
		path := filepath.Join(p.dir, rel)
		must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		p.write(path, text)
	}
	return p
}

func (d disk) with(rel, text string) disk {
	c := disk{}
	for k, v := range d {
		c[k] = v
	}
	c[rel] = text
	return c
}

func (d disk) without(match func(rel string) bool) disk {
	c := disk{}
	for k, v := range d {
		if !match(k) {
			c[k] = v
		}
	}
	return c
}

const (
	stateFile = ".liza/state.yaml"
	logFile   = ".liza/log.yaml"
	record    = ".git/liza/committed"
)

// afterPowerLoss lists what may be found: before is the disk as it was before the write,
// now as it is at the step.
func afterPowerLoss(before, now disk, step int) []disk {
	logs := []string{now[logFile]}
	if step < 6 { // the journal is flushed with W6
		old, added := before[logFile], strings.TrimPrefix(now[logFile], before[logFile])
		logs = []string{old, old + added, old + added[:len(added)/2]}
	}
	states := []string{now[stateFile]}
	if step == 8 { // the rename is flushed with W9
		for path, text := range now {
			if strings.Contains(path, ".state.yaml.tmp-") {
				states = append(states, text)
			}
		}
	}
	extras := []func(disk) disk{ // of what is never flushed
		func(d disk) disk { return d },
		func(d disk) disk { return d.with(record, before[record]) },
		func(d disk) disk { return d.with(record, "") },
		func(d disk) disk { return d.with(record, d[record][:len(d[record])/2]) },
		func(d disk) disk { return d.without(func(rel string) bool { return rel == record }) },
		func(d disk) disk {
			return d.without(func(rel string) bool { return strings.Contains(rel, "snapshots") })
		},
		func(d disk) disk { return d.without(func(rel string) bool { return strings.HasPrefix(rel, ".git") }) },
		func(d disk) disk { // files that were grown but whose bytes never arrived
			for rel, text := range d {
				if strings.Contains(rel, "snapshots") {
					d = d.with(rel, text[:len(text)/2]+strings.Repeat("\x00", len(text)-len(text)/2))
				}
			}
			return d
		},
		func(d disk) disk { // a temporary file that was never finished
			return d.with(".liza/.state.yaml.tmp-1073741824", "half")
		},
	}
	var all []disk
	for _, log := range logs {
		for _, state := range states {
			for _, extra := range extras {
				all = append(all, extra(now.with(logFile, log).with(stateFile, state)))
			}
		}
	}
	return all
}

func TestAPowerLossAtAnyStepLosesNoCommittedChangeAndShowsNoOther(t *testing.T) {
	t.Parallel()
	for step := 1; step <= 10; step++ {
		t.Run(fmt.Sprint("W", step), func(t *testing.T) {
			t.Parallel()
			p := newProject(t)
			f := p.create(3)
			for range 4 {
				must(t, f.Update(t.Context(), op, numberedNote))
			}
			before := p.disk()
			var now disk
			f = p.open(func(o *store.Options) {
				o.At = func(point string) {
					if point == fmt.Sprint("W", step) {
						now = p.disk()
					}
				}
			})
			must(t, f.Update(t.Context(), op, numberedNote))
			for i, d := range afterPowerLoss(before, now, step) {
				lost := d.write(t)
				s, err := lost.open().View(t.Context())
				must(t, err)
				consistent(t, s, 5)
				if s.Revision > 6 || step < 8 && s.Revision != 5 || step >= 9 && s.Revision != 6 {
					t.Fatalf("case %d: revision %d", i, s.Revision)
				}
				for range 2 {
					must(t, lost.open().Update(t.Context(), op, numberedNote))
				}
				after, err := lost.open().View(t.Context())
				must(t, err)
				consistent(t, after, s.Revision+2)
				lost.agree(t, after.Revision)
			}
		})
	}
}
