package yamldoc

import (
	"slices"

	"gopkg.in/yaml.v3"
)

// spelled is an alias, or a map with a merge key, that flatten spelled out.
type spelled struct {
	node    *yaml.Node
	written yaml.Node   // as the person wrote it
	says    *yaml.Node  // what it says
	sources []anchored  // what it stands for
	merged  []spelledAs // of a map: the aliases of its merge key
}

type anchored struct{ node, says *yaml.Node }

type spelledAs struct {
	node    *yaml.Node
	written yaml.Node
}

// spellOut is flatten. The function that it returns writes aliases and merge keys again as they were, where neither they nor
// what they stand for has been changed since.
func spellOut(root *yaml.Node) (restore func()) {
	var all []*spelled
	var find func(n *yaml.Node)
	find = func(n *yaml.Node) {
		s := &spelled{node: n, written: *n}
		s.written.Content = slices.Clone(n.Content)
		if n.Kind == yaml.AliasNode {
			s.sources = []anchored{{node: n.Alias}}
		}
		for i := 0; n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
			if k, v := n.Content[i], n.Content[i+1]; k.Value == "<<" && k.ShortTag() == "!!merge" {
				for _, one := range append([]*yaml.Node{v}, v.Content...) {
					if one.Kind == yaml.AliasNode {
						s.sources, s.merged = append(s.sources, anchored{node: one.Alias}), append(s.merged, spelledAs{one, *one})
					}
				}
			}
		}
		if len(s.sources) > 0 {
			all = append(all, s)
		}
		for _, c := range n.Content {
			find(c)
		}
	}
	find(root)
	flatten(root)
	for _, s := range all {
		s.says = copyTree(s.node)
		for i, source := range s.sources {
			s.sources[i].says = copyTree(source.node)
		}
	}
	return func() {
		there := map[*yaml.Node]bool{}
		var mark func(n *yaml.Node)
		mark = func(n *yaml.Node) {
			there[n] = true
			for _, c := range n.Content {
				mark(c)
			}
		}
		mark(root)
		all = slices.DeleteFunc(all, func(s *spelled) bool {
			return !there[s.node] || !sameTree(s.node, s.says, false) || slices.ContainsFunc(s.sources, func(a anchored) bool {
				return !there[a.node] || a.node.Anchor != a.says.Anchor || !sameTree(a.node, a.says, false)
			})
		})
		for _, s := range all {
			for _, m := range s.merged {
				*m.node = m.written
			}
			*s.node = s.written
		}
	}
}
