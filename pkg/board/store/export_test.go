package store

import "runtime"

// AwaitAsking waits until n members wait for the one that writes.
func (g *Group) AwaitAsking(n int) {
	for {
		g.mu.Lock()
		asking := len(g.asking)
		g.mu.Unlock()
		if asking >= n {
			return
		}
		runtime.Gosched()
	}
}
