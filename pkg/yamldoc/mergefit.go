package yamldoc

import (
	"slices"

	"gopkg.in/yaml.v3"
)

// fit changes a tree so that it says what want says. What says it already stays as it
// is, the rest becomes a copy of the nodes of want.
func fit(node, want *yaml.Node) {
	switch {
	case sameValue(node, want):
	case node.Kind == yaml.MappingNode && want.Kind == yaml.MappingNode && len(node.Content) > 0:
		fitMap(node, want)
	case node.Kind == yaml.SequenceNode && want.Kind == yaml.SequenceNode && len(node.Content) > 0:
		fitList(node, want)
	default:
		value := foreign(want)
		comment := node.LineComment
		if value.Kind == yaml.ScalarNode && value.LineComment != "" {
			comment = value.LineComment
		}
		style := value.Style
		replace(node, value)
		node.Style, node.LineComment = style, ""
		if node.Kind == yaml.ScalarNode {
			node.LineComment = comment
		}
	}
	if len(node.Content) == 0 && node.Kind != yaml.ScalarNode {
		node.Style |= yaml.FlowStyle
	}
}

// foreign is a copy of a node that has no place in the text.
func foreign(n *yaml.Node) *yaml.Node {
	n = copyTree(n)
	forget([]*yaml.Node{n})
	return n
}

func fitMap(node, want *yaml.Node) {
	for _, name := range names(node) {
		if k, _ := pairOf(want, name); k == nil {
			at := keyIndex(node, name)
			if !emptyNode(node.Content[at+1]) {
				node.Content = slices.Delete(slices.Clone(node.Content), at, at+2)
			}
		}
	}
	wanted := names(want)
	for i, name := range wanted {
		if _, value := pairOf(node, name); value != nil {
			fit(value, want.Content[2*i+1])
		} else {
			insertPair(node, wanted[:i], foreign(want.Content[2*i]), foreign(want.Content[2*i+1]))
		}
	}
}

func fitList(node, want *yaml.Node) {
	old := node.Content
	node.Content = make([]*yaml.Node, 0, len(want.Content))
	for j, i := range alignNodes(want.Content, old) {
		if i >= 0 {
			fit(old[i], want.Content[j])
			node.Content = append(node.Content, old[i])
			continue
		}
		item := foreign(want.Content[j])
		if node.Style&yaml.FlowStyle != 0 {
			inFlow(item)
		}
		node.Content = append(node.Content, item)
	}
}

// alignNodes finds for each element of a list what became of it, or -1.
func alignNodes(before, after []*yaml.Node) []int {
	to := matches(len(before), len(after), func(i, j int) bool { return sameValue(before[i], after[j]) })
	pair(to, len(after), func(i, j int) bool {
		return before[i].Kind == after[j].Kind && idOf(before[i]) == idOf(after[j])
	})
	return to
}
