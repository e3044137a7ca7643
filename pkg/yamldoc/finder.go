package yamldoc

import (
	"strings"
	"sync"
)

// A finder knows where the entries of a document are. It is made when somebody first asks
// for a line: a file with thousands of faults asks thousands of times.
type finder struct {
	once  sync.Once
	first map[*section]int            // lines before the section
	lines map[*section][]int          // lines before each of its entries
	ids   map[*section]map[string]int // what entries of a list seem to have as their id
}

func (d *Document) places() *finder {
	f := &d.finder
	f.once.Do(func() {
		f.first, f.lines, f.ids = map[*section]int{}, map[*section][]int{}, map[*section]map[string]int{}
		line := 0
		for _, s := range d.sections {
			f.first[s] = line
			if !s.apart {
				line += strings.Count(s.text, "\n")
				continue
			}
			line += strings.Count(s.head, "\n")
			ids := map[string]int{}
			for i, e := range s.entries {
				f.lines[s] = append(f.lines[s], line)
				line += strings.Count(e.text, "\n")
				if id := seemingID(e.text, s.indent+2); s.list && id != "" {
					if _, twice := ids[id]; !twice {
						ids[id] = i
					}
				}
			}
			f.ids[s] = ids
		}
	})
	return f
}

// seemingID reads the id of an entry without parsing it: what is behind "id:" in the
// column of its keys. Who uses it checks it.
func seemingID(text string, column int) string {
	for row := range strings.Lines(text) {
		rest := strings.TrimLeft(row, " ")
		at := len(row) - len(rest)
		if after, item := strings.CutPrefix(rest, "- "); item {
			rest, at = after, at+2
		}
		if value, ok := strings.CutPrefix(rest, "id:"); ok && at == column {
			value, _, _ = strings.Cut(value, " #")
			return strings.Trim(strings.TrimSpace(value), `"'`)
		}
	}
	return ""
}
