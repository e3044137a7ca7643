package yamldoc

import "strings"

// A Part is a section of a document, for who keeps documents part by part.
type Part struct {
	Key     string
	Text    string // of the section; where its entries are apart, what is before the first of them
	Apart   bool   // the entries have texts of their own
	List    bool   // and form a list, not a map
	Indent  int    // in this column, from 0
	Entries []*Entry
}

// NewEntry is an entry for Reader.Join that is still to be read. Its name is "" in a list.
func NewEntry(name, text string) *Entry { return &Entry{name: name, text: text} }

// Parts are the sections, and the comments after the last one. Put together in their order they are the
// file. ok is false when the file is not in pieces, or when its text is not all of it: then only its bytes are.
func (d *Document) Parts() (parts []Part, tail string, ok bool) {
	if d.whole != "" || d.marks != (marks{}) {
		return nil, "", false
	}
	parts = make([]Part, len(d.sections))
	for i, s := range d.sections {
		parts[i] = Part{Key: s.key, Text: s.text}
		if s.apart {
			parts[i] = Part{Key: s.key, Text: s.head, Apart: true, List: s.list, Indent: s.indent, Entries: s.entries}
		}
	}
	return parts, d.tail, true
}

// Join makes a document of parts; it may keep them. What like has of the same text is not read again, nor are
// entries that were. The error is a *SyntaxError.
func (r *Reader) Join(parts []Part, tail string, like *Document) (*Document, error) {
	doc := &Document{reader: r, tail: tail, sections: make([]*section, len(parts))}
	for i, p := range parts {
		s := &section{key: p.Key, text: p.Text}
		if p.Apart {
			s = &section{key: p.Key, head: p.Text, apart: true, list: p.List, indent: p.Indent, entries: p.Entries, split: true}
		} else if like != nil {
			if old := like.find(p.Key); old != nil && !old.apart && like.whole == "" && old.text == p.Text {
				s = old
			}
		}
		doc.sections[i] = s
	}
	if len(parts) == 0 || !doc.unique() || !r.readAll(doc.fresh()) {
		return r.Parse([]byte(strings.Join(doc.list(), ""))) // which says what is wrong
	}
	r.keep(doc)
	return doc, nil
}
