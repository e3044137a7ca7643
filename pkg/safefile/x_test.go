package safefile
import ("testing";"path/filepath";"time";"fmt")
func TestXGreedy(t *testing.T) {
	ms := time.Millisecond
	for name, g := range map[string]contest{"greedy 2ms": {Hold: 2*ms}, "greedy 100us": {Hold: 100*time.Microsecond}, "greedy 0": {}} {
		for _, n := range []int{8, 64} {
		p := filepath.Join(t.TempDir(), "a.lock")
		all := same(n, contest{Path: p, Hold: 2*ms, Pause: 5*ms, For: 3*time.Second})
		g.Path, g.For = p, 3*time.Second
		all = append(all, g)
		s := fight(t, all...)
		c, w := total(s[:n])
		least := s[0].Count
		for _, x := range s[:n] { least = min(least, x.Count) }
		fmt.Printf("%s n=%d: greedy %d (worst %v), others mean %d, least %d, worst wait %v\n", name, n, s[n].Count, s[n].Worst.Round(ms), c/n, least, w.Round(ms))
		}
	}
}
