package yamldoc

import (
	"gopkg.in/yaml.v3"
)

// in is the spot of a key of the map, or of an element of the list, at s.
func (s spot) in(place, value *yaml.Node) spot {
	if value == nil || place.Line == 0 {
		place = s.place // of what an alias brought there is no other place either
	}
	return spot{place: place, value: value}
}

func (s spot) key(name string) spot { return s.in(pairOf(s.value, name)) }

// elements are those of the list at s.
func (s spot) elements() []*yaml.Node {
	if s.value == nil || s.value.Kind != yaml.SequenceNode {
		return nil
	}
	return s.value.Content
}

// at is the spot of an element, absent if i is not an index.
func (s spot) at(i int) spot {
	if i < 0 {
		return s.in(nil, nil)
	}
	return s.in(s.value.Content[i], s.value.Content[i])
}

// called is the spot of the element whose place is known under a name.
func (s spot) called(name string, known map[string]int) spot {
	if i, there := known[name]; there {
		return s.at(i)
	}
	return s.at(-1)
}

// side is what a report shows of s.
func (s spot) side() Side {
	side := Side{Value: show(s.value), Absent: s.value == nil}
	if s.place != nil {
		side.Line, side.Column = s.place.Line, s.place.Column
	}
	return side
}

func (s spots) key(name string) spots {
	return spots{base: s.base.key(name), mine: s.mine.key(name), theirs: s.theirs.key(name)}
}

// conflict reports that both sides changed a place. Theirs stays.
func (g *treeMerger) conflict(path string, s spots) *yaml.Node {
	g.conflicts = append(g.conflicts, Conflict{Path: path, Base: s.base.side(), Mine: s.mine.side(), Theirs: s.theirs.side()})
	return s.theirs.value
}

// field merges a value for which being absent is the same as being empty. In a section
// that is split it matters all the same which entries are there.
func (g *treeMerger) field(path string, s spots) *yaml.Node {
	base, mine, theirs := s.base.value, s.mine.value, s.theirs.value
	dict, list := all(s, yaml.MappingNode), all(s, yaml.SequenceNode)
	switch split := g.split[path] && s.filled(); {
	case g.ours[path]:
		return uncommented(theirs)
	case split && dict:
		return kept(g.dict(path, s), theirs)
	case split && list && s.haveIDs():
		return kept(g.byID(path, s), theirs)
	case sameValue(mine, base), sameValue(mine, theirs):
		return theirs
	case sameValue(theirs, base):
		return mine
	case dict && (emptyNode(base) || !emptyNode(mine) && !emptyNode(theirs)):
		return g.dict(path, s)
	}
	return g.conflict(path, s)
}

// uncommented is a scalar without the comment behind it, so that mine's can stay.
func uncommented(n *yaml.Node) *yaml.Node {
	if n == nil || n.Kind != yaml.ScalarNode {
		return n
	}
	bare := *n
	bare.LineComment = ""
	return &bare
}

// kept is what was merged, or nothing if nothing is left and theirs has not even the key.
func kept(merged, theirs *yaml.Node) *yaml.Node {
	if len(merged.Content) == 0 && theirs == nil {
		return nil
	}
	return merged
}

// filled reports whether one of the three is a collection with something in it.
func (s spots) filled() bool {
	for _, spot := range []spot{s.base, s.mine, s.theirs} {
		if spot.value != nil && len(spot.value.Content) > 0 {
			return true
		}
	}
	return false
}

// all reports whether the three are collections of one kind, or empty.
func all(s spots, kind yaml.Kind) bool {
	for _, n := range []*yaml.Node{s.base.value, s.mine.value, s.theirs.value} {
		if !emptyNode(n) && n.Kind != kind {
			return false
		}
	}
	return true
}

// entry merges an element that is there or not, whatever is in it.
func (g *treeMerger) entry(path string, s spots) *yaml.Node {
	base, mine, theirs := s.base.value, s.mine.value, s.theirs.value
	switch {
	case mine == nil && theirs == nil:
		return nil
	case base == nil && theirs == nil:
		return mine
	case base == nil && mine == nil:
		return theirs
	case theirs == nil && sameValue(mine, base), mine == nil && sameValue(theirs, base):
		return nil
	case mine == nil || theirs == nil, base == nil && !sameValue(mine, theirs):
		return g.conflict(path, s)
	}
	return g.field(path, s)
}

func (g *treeMerger) dict(path string, s spots) *yaml.Node {
	merged := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	order, _ := arrange(names(s.base.value), names(s.mine.value), names(s.theirs.value))
	for _, name := range order {
		child := s.key(name)
		var value *yaml.Node
		if g.split[path] {
			value = g.entry(path+"["+name+"]", child)
		} else {
			value = g.field(join(path, name), child)
		}
		if value == nil {
			continue
		}
		key, _ := pairOf(s.theirs.value, name)
		if key == nil {
			key, _ = pairOf(s.mine.value, name)
		}
		merged.Content = append(merged.Content, key, value)
	}
	return merged
}

// haveIDs reports whether the elements of all three lists have ids, none of them twice.
func (s spots) haveIDs() bool {
	for _, spot := range []spot{s.base, s.mine, s.theirs} {
		if ids := idsOf(spot.elements()); len(places(ids)) != len(spot.elements()) {
			return false
		}
	}
	return true
}

func idsOf(elements []*yaml.Node) []string {
	var ids []string
	for _, n := range elements {
		if id := idOf(n); id != "" {
			ids = append(ids, id)
		}
	}
	return ids
}

func (g *treeMerger) byID(path string, s spots) *yaml.Node {
	ids := [][]string{idsOf(s.base.elements()), idsOf(s.mine.elements()), idsOf(s.theirs.elements())}
	merged := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
	order, lost := arrange(ids[0], ids[1], ids[2])
	if lost {
		g.note(path, s.mine.side().Line, "both changed the order; it is theirs")
	}
	base, mine, theirs := places(ids[0]), places(ids[1]), places(ids[2])
	for _, id := range order {
		element := spots{s.base.called(id, base), s.mine.called(id, mine), s.theirs.called(id, theirs)}
		if value := g.entry(path+"["+id+"]", element); value != nil {
			merged.Content = append(merged.Content, value)
		}
	}
	return merged
}
