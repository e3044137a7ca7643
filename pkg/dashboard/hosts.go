package dashboard

import (
	"fmt"
	"slices"
	"time"

	"liza/pkg/blackboard"
)

// hosts are in the order of their names.
func (b builder) hosts() []Host {
	var list []Host
	for name, h := range b.s.Hosts {
		if h == nil {
			continue
		}
		row := Host{Name: name, Here: name == b.f.Process.Host, ClockOffset: h.ClockOffset, ClockOff: b.s.ClockOff(h), Version: h.Version, Load: h.Load}
		if seen, ok := h.Seen.At(); ok {
			ago := b.f.Now.Sub(seen)
			row.SeenSeconds, row.Silent = max(0, int(ago/time.Second)), ago > b.s.Duration("lease_duration")+b.s.Duration("lease_grace")
		}
		for _, a := range b.s.Agents {
			if a != nil && a.Host == name {
				row.Agents++
			}
		}
		list = append(list, row)
	}
	slices.SortFunc(list, func(x, y Host) int { return compareAgents(x.Name, y.Name) })
	return list
}

// Said is what a host says of itself, on one line.
func (h Host) Said() string {
	text := Agents(h.Agents) + ", last contact " + age(h.SeenSeconds) + " ago"
	if h.Silent {
		text += ", silent: its claims are free"
	}
	if h.ClockOffset != 0 {
		text += fmt.Sprintf(", clock %+d s", h.ClockOffset)
	}
	if h.ClockOff {
		text += " (off by more than lease_grace)"
	}
	return text + after(", load ", h.Load) + after(", liza ", h.Version)
}

// Agents is a number of agents.
func Agents(n int) string {
	if n == 1 {
		return "1 agent"
	}
	return fmt.Sprintf("%d agents", n)
}

// byHost puts the agents of one host beside each other.
func byHost(agents []Agent) {
	slices.SortStableFunc(agents, func(x, y Agent) int { return compareAgents(x.Host, y.Host) })
}

// wrongClocks are warnings about hosts whose clock others cannot rely on.
func (b builder) wrongClocks() (list []string) {
	for _, h := range b.hosts() {
		if h.ClockOff {
			list = append(list, ClockText(h.Name, b.s.Hosts[h.Name]))
		}
	}
	return list
}

// ClockText says how far the clock of a host is off.
func ClockText(name string, h *blackboard.Host) string {
	off, way := time.Duration(h.ClockOffset)*time.Second, "ahead of"
	if off < 0 {
		off, way = -off, "behind"
	}
	return fmt.Sprintf("the clock of host %s is %s %s that of the board; leases go by the board's, but times in its logs are wrong: set it", name, off, way)
}
