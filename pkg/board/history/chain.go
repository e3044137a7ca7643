package history

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"path/filepath"
	"slices"
	"strings"
)

// The entries of a journal are chained: the last key of each, prev, names the entry before it
// by its number and the hash of its bytes. Who keeps the link of the last entry in a safe
// place (liza/committed, signed) can tell of every entry that was changed, cut, put in or
// moved since. What people or older versions wrote before the first chained entry has no
// numbers.

// End returns the link of the last entry.
func (j Journal) End() (Link, error) {
	chain, _, err := j.chain()
	if err != nil || len(chain) == 0 {
		return Begins, err
	}
	return chain[len(chain)-1].link, nil
}

// Follow returns the link of the last entry that follows head in revisions above rev, whose writers were killed before they
// recorded the link, or head if nothing follows.
func (j Journal) Follow(head Link, rev int) (Link, error) {
	chain, _, err := j.chain()
	if err != nil {
		return "", err
	}
	from := len(chain)
	for from > 0 && chain[from-1].link != head {
		from--
	}
	if from == 0 && head != Begins {
		return head, nil
	}
	for _, x := range chain[from:] {
		if x.prev != head || x.rev() <= rev {
			break
		}
		head = x.link
	}
	return head, nil
}

// linked is an entry of a chain that is being looked at.
type linked struct {
	chunk
	file       string // path below .liza
	prev, link Link
}

func (l linked) rev() int {
	if e, err := l.entry(); err == nil {
		return e.Rev
	}
	return 0
}

// chain reads the journal and its rotated files. at is the journal up to its last entry.
func (j Journal) chain() (all []linked, at beginning, err error) {
	sum, err := j.rotatedSum()
	if err != nil {
		return nil, at, err
	}
	text, err := j.text()
	if err != nil {
		return nil, at, err
	}
	files, err := j.rotatedFiles(text)
	if err != nil {
		return nil, at, err
	}
	add := func(name, text string) (entries []chunk) {
		_, entries = chunks(text)
		for _, c := range entries {
			prev := c.prev()
			all = append(all, linked{chunk: c, file: name, prev: prev, link: c.linkAfter(prev)})
		}
		return entries
	}
	for _, older := range files {
		text, err := older.text()
		if err != nil {
			return nil, at, err
		}
		add("archive/"+filepath.Base(older.Path), text)
	}
	own := add(logName, text)
	if n := len(all) - 2; len(own) > 1 && all[n].prev != "" && all[n+1].accepts() == "" { // what accepts the others proves them
		at.last = all[n].link
		at.goOn(text, own, sum)
	}
	return all, at, nil
}

// A Break is an entry that does not continue the chain.
type Break struct {
	File    string // path below .liza
	Line    int
	Message string

	Unproven bool // no break was found, but it cannot be proved that Liza wrote the last entry
}

// Broken returns the first break of the journal's chain, or nil. head is the link of the last entry,
// or "" if unknown; entries of revisions above rev may follow it. Entries before an accepting one
// (Accept) are not checked.
func (j Journal) Broken(head Link, rev int) (*Break, error) {
	if j.Seen != nil {
		if at := j.Seen.get(&j.Seen.chained); j.follows(&at, head, rev) {
			j.Seen.set(&j.Seen.chained, at)
			return nil, nil
		}
	}
	chain, at, err := j.chain()
	if err != nil {
		return nil, err
	}
	found := verify(chain, head, rev)
	if j.Seen != nil && found == nil && len(chain) > 0 && (head == "" || chain[len(chain)-1].link == head) {
		j.Seen.set(&j.Seen.chained, at)
	}
	return found, nil
}

// follows reports whether the journal is a beginning that was found right, a chain from there to head, and entries of revisions above rev,
// whose writers have not recorded the link yet. The beginning goes on up to head.
func (j Journal) follows(seen *beginning, head Link, rev int) bool {
	sum, err := j.rotatedSum()
	if err != nil {
		return false
	}
	text, sum, ok := j.since(*seen, sum)
	if !ok {
		return false
	}
	_, all := chunks(text)
	last, said := seen.last, len(all)
	for i, c := range all {
		if c.prev() != last {
			return false
		}
		if last == head {
			said = i
		}
		if said <= i && (linked{chunk: c}).rev() <= rev {
			return false
		}
		last = c.linkAfter(last)
	}
	if head != "" && last != head && said == len(all) {
		return false
	}
	for len(all) > said+1 {
		text = strings.TrimSuffix(text, all[len(all)-1].text)
		all = all[:len(all)-1]
	}
	if at := len(all) - 1; at > 0 {
		seen.last = all[at].prev()
		seen.goOn(text, all, sum)
	}
	return true
}

// Accept returns the value of the key accepts for the next entry, with which all entries so far count
// as Liza's, and the link after which to append that entry.
func (j Journal) Accept() (accepts string, after Link, err error) {
	chain, _, err := j.chain()
	if err != nil {
		return "", "", err
	}
	after = Begins
	d := newDigest()
	for _, x := range chain {
		after = x.link
		d.add(x.link)
	}
	return d.String(), after, nil
}

// digest stands for all bytes of the entries so far.
type digest struct{ h hash.Hash }

func newDigest() digest         { return digest{sha256.New()} }
func (d digest) add(l Link)     { d.h.Write([]byte(l)) }
func (d digest) String() string { return hex.EncodeToString(d.h.Sum(nil)[:16]) }

// accepts returns the digest of the entries that the chunk's entry accepts, or "".
func (c chunk) accepts() string {
	if !strings.Contains(c.text, `, accepts: "`) {
		return ""
	}
	if m := acceptsKey().FindStringSubmatch(c.text); m != nil {
		return m[1]
	}
	return ""
}

// accepted finds the last entry that accepts them before it, -1 when there is none.
func accepted(chain []linked) int {
	found, d := -1, newDigest()
	for i, x := range chain {
		if a := x.accepts(); a != "" && x.prev != "" && a == d.String() {
			found = i
		}
		d.add(x.link)
	}
	return found
}

// verify walks along a chain to the first entry that does not fit.
func verify(chain []linked, head Link, rev int) *Break {
	from := accepted(chain)
	if from < 0 { // what is before the first chained entry is history
		for from+1 < len(chain) && chain[from+1].prev == "" {
			from++
		}
	}
	last := Begins
	if from >= 0 {
		last = chain[from].link
	}
	for i := from + 1; i < len(chain); i++ {
		if chain[i].prev != last {
			return broken(chain, i, last, head)
		}
		last = chain[i].link
	}
	if head == "" || last == head {
		return nil
	}
	return endBroken(chain, last, head, rev)
}

const (
	putIn   = "this entry was put in or changed: it is not one that Liza wrote here"
	changed = "this entry was changed after Liza wrote it"
	moved   = "this entry is not where Liza wrote it"
)

func tell(chain []linked, i int, format string, args ...any) *Break {
	b := &Break{File: logName, Line: 1, Message: fmt.Sprintf(format, args...)}
	if i >= 0 && i < len(chain) {
		b.File, b.Line = chain[i].file, chain[i].line
	}
	return b
}

// broken says why entry i does not follow the one before it, whose link is last.
func broken(chain []linked, i int, last, head Link) *Break {
	x := chain[i]
	missing := x.prev.number() - last.number()
	switch {
	case slices.ContainsFunc(chain[i+1:], func(y linked) bool { return y.prev == last }): // the one that belongs here comes later
		if x.prev != "" && place(chain[i+1:], x.prev) >= 0 {
			return tell(chain, i, moved)
		}
		return tell(chain, i, putIn)
	case x.prev == "":
		return tell(chain, i, putIn)
	case i == 0:
		return tell(chain, i, "what Liza wrote before this entry is missing")
	case missing > 0:
		return tell(chain, i, "%s missing before this entry", number(missing))
	case last == head:
		return tell(chain, i, putIn)
	case place(chain[:i], x.prev) >= 0: // what is between belongs to nobody
		return tell(chain, place(chain[:i], x.prev)+1, putIn)
	case missing == 0 && (head == x.link || i+1 < len(chain) && chain[i+1].prev == x.link):
		return tell(chain, i-1, changed)
	case missing == 0 && i+1 < len(chain) && chain[i+1].prev.number() == x.link.number():
		return tell(chain, i, changed)
	case missing == 0:
		return tell(chain, i-1, changed)
	}
	return tell(chain, i, putIn)
}

// endBroken says why a chain that holds does not end with head.
func endBroken(chain []linked, last, head Link, rev int) *Break {
	at := place(chain, head)
	switch {
	case at >= 0 || head == Begins:
		for i := at + 1; i < len(chain); i++ {
			if chain[i].prev == "" || chain[i].rev() <= rev {
				return tell(chain, i, putIn)
			}
		}
		return nil // their writers did not come to say so, or are about to
	case head.number() > last.number():
		return tell(chain, len(chain)-1, "%s missing after this entry", number(head.number()-last.number()))
	}
	for i, x := range chain { // an older entry than the last: the ones behind it were made for it
		if x.link.number() == head.number() {
			return tell(chain, i, changed)
		}
	}
	return tell(chain, len(chain)-1, changed)
}

// place is where the entry with that link is, -1 when it is not there.
func place(chain []linked, l Link) int {
	return slices.IndexFunc(chain, func(x linked) bool { return x.link == l })
}

func number(n int) string {
	if n == 1 {
		return "1 entry is"
	}
	return fmt.Sprintf("%d entries are", n)
}
