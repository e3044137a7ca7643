package yamldoc

// A Cut is a place in which one version of a file differs from the one before.
type Cut struct {
	From    int `json:"from"`    // offset in the old bytes
	Removed int `json:"removed"` // how many bytes were taken away there
	To      int `json:"to"`      // offset in the new bytes
	Added   int `json:"added"`   // how many came in their place
}

// CutsSince finds the places in which the document differs from an older version, piece by
// piece, and the bytes that were added there. ok is false when one of them is not in
// pieces or has marks of its own; then only the bytes as a whole tell.
func (d *Document) CutsSince(old *Document) (cuts []Cut, text []byte, ok bool) {
	if d.whole != "" || old.whole != "" || d.marks != old.marks || d.marks.crlf {
		return nil, nil, false
	}
	a, b := old.list(), d.list()
	from, to := 0, 0
	if d.marks.bom {
		from, to = len(bom), len(bom)
	}
	add := func(removed, added []string) {
		cut := Cut{From: from, To: to, Removed: length(removed), Added: length(added)}
		from, to = from+cut.Removed, to+cut.Added
		for _, piece := range added {
			text = append(text, piece...)
		}
		if n := len(cuts); n > 0 && cuts[n-1].From+cuts[n-1].Removed == cut.From {
			cuts[n-1].Removed += cut.Removed
			cuts[n-1].Added += cut.Added
			return
		}
		cuts = append(cuts, cut)
	}
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0] == b[0]:
			from, to = from+len(a[0]), to+len(b[0])
			a, b = a[1:], b[1:]
		case len(a) > 1 && len(b) > 1 && a[1] == b[1]:
			add(a[:1], b[:1])
			a, b = a[1:], b[1:]
		case len(b) > 1 && a[0] == b[1]:
			add(nil, b[:1])
			b = b[1:]
		case len(a) > 1 && a[1] == b[0]:
			add(a[:1], nil)
			a = a[1:]
		default:
			add(a[:1], b[:1])
			a, b = a[1:], b[1:]
		}
	}
	if len(a)+len(b) > 0 {
		add(a, b)
	}
	return cuts, text, true
}

func length(texts []string) int {
	n := 0
	for _, t := range texts {
		n += len(t)
	}
	return n
}

// ApplyCuts makes the new bytes from the old ones; added are the bytes of all cuts. ok is
// false when the cuts do not fit.
func ApplyCuts(old []byte, cuts []Cut, added []byte) (data []byte, ok bool) {
	data = make([]byte, 0, len(old)+len(added))
	at := 0
	for _, c := range cuts {
		if c.From < at || c.Removed < 0 || c.From+c.Removed > len(old) || c.Added < 0 || c.Added > len(added) {
			return nil, false
		}
		data = append(append(data, old[at:c.From]...), added[:c.Added]...)
		at, added = c.From+c.Removed, added[c.Added:]
	}
	return append(data, old[at:]...), len(added) == 0
}
