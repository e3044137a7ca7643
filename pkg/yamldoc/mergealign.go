package yamldoc

import "slices"

// maxDistance bounds the search for what two sequences have in common: beyond it they
// count as different from their equal beginning to their equal end.
const maxDistance = 1000

// matches finds for each of n old elements the new one, of m, that is the same, or -1.
// Those found are in the same order in both.
func matches(n, m int, same func(i, j int) bool) []int {
	to := make([]int, n)
	for i := range to {
		to[i] = -1
	}
	head := 0
	for head < n && head < m && same(head, head) {
		to[head] = head
		head++
	}
	for n > head && m > head && same(n-1, m-1) {
		n, m = n-1, m-1
		to[n] = m
	}
	shortestEdit(n-head, m-head, func(i, j int) bool { return same(head+i, head+j) }, func(i, j int) { to[head+i] = head + j })
	return to
}

// shortestEdit calls found for each pair of elements that stay on the shortest way from
// the n old to the m new ones (Myers).
func shortestEdit(n, m int, same func(i, j int) bool, found func(i, j int)) {
	if n == 0 || m == 0 {
		return
	}
	limit := min(n+m, maxDistance)
	far := make([]int32, 2*limit+3) // how far the best way on diagonal k came, at k+limit+1
	at := func(k int) *int32 { return &far[k+limit+1] }
	down := func(k, d int) bool { return k == -d || k != d && *at(k - 1) < *at(k + 1) }
	var trace [][]int32
	for d := 0; d <= limit; d++ {
		trace = append(trace, slices.Clone(far[limit+1-d:limit+2+d]))
		for k := -d; k <= d; k += 2 {
			x := int(*at(k + 1))
			if !down(k, d) {
				x = int(*at(k - 1)) + 1
			}
			for x < n && x-k < m && x-k >= 0 && same(x, x-k) {
				x++
			}
			*at(k) = int32(x)
			if x >= n && x-k >= m {
				wayBack(n, m, trace, found)
				return
			}
		}
	}
}

// wayBack follows the traces of shortestEdit from the end to the beginning. The trace of
// step d holds what was known before it about the diagonals -d to d.
func wayBack(x, y int, trace [][]int32, found func(i, j int)) {
	for d := len(trace) - 1; d >= 0; d-- {
		k, prevX, prevY := x-y, 0, 0
		if d > 0 {
			before := func(k int) int32 { return trace[d][k+d] }
			prev := k - 1
			if k == -d || k != d && before(k-1) < before(k+1) {
				prev = k + 1
			}
			prevX = int(before(prev))
			prevY = prevX - prev
		}
		for x > prevX && y > prevY {
			x, y = x-1, y-1
			found(x, y)
		}
		x, y = prevX, prevY
	}
}

// pair joins old elements that have no match with new ones in the same gap between
// matches, one after the other, where fits allows it.
func pair(to []int, m int, fits func(i, j int) bool) {
	next := 0 // first new element that is still free
	for i := range to {
		if to[i] >= 0 {
			next = to[i] + 1
			continue
		}
		end := m
		for _, j := range to[i:] {
			if j >= 0 {
				end = j
				break
			}
		}
		for j := next; j < end; j++ {
			if fits(i, j) {
				to[i], next = j, j+1
				break
			}
		}
	}
}

// arrange is the order of all that mine or theirs has. It is theirs, and what only mine
// has is behind its neighbour there; but where mine changed the order and theirs did
// not, it is the other way round. lost tells that mine's order could not be kept.
func arrange(base, mine, theirs []string) (order []string, lost bool) {
	known := places(base)
	if !reordered(mine, known) {
		return weave(theirs, mine, func(key string) bool { _, old := known[key]; return !old }), false
	}
	if reordered(theirs, known) {
		return weave(theirs, mine, func(string) bool { return false }), reordered(mine, places(theirs))
	}
	return weave(mine, theirs, func(string) bool { return false }), false
}

func places(keys []string) map[string]int {
	at := make(map[string]int, len(keys))
	for i, key := range keys {
		at[key] = i
	}
	return at
}

// reordered reports whether keys that were there before are in another order now.
func reordered(keys []string, before map[string]int) bool {
	last := -1
	for _, key := range keys {
		if at, old := before[key]; old {
			if at < last {
				return true
			}
			last = at
		}
	}
	return false
}

// weave puts those of others that are not among keys behind the neighbour that they
// have, and behind what first says is new there.
func weave(keys, others []string, first func(key string) bool) []string {
	at, other := places(keys), places(others)
	behind := make([][]string, len(keys)+1)
	gap := 0
	for _, key := range others {
		if i, there := at[key]; there {
			gap = i + 1
			continue
		}
		for gap < len(keys) && first(keys[gap]) {
			if _, both := other[keys[gap]]; both {
				break
			}
			gap++
		}
		behind[gap] = append(behind[gap], key)
	}
	order := make([]string, 0, len(keys)+len(others))
	for i, more := range behind {
		order = append(order, more...)
		if i < len(keys) {
			order = append(order, keys[i])
		}
	}
	return order
}
