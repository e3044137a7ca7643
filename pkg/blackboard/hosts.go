package blackboard

import (
	"strconv"
	"time"
)

// FreeHostName is the name, with a number when another clone has it.
func (s *State) FreeHostName(name, id string) string {
	for n, free := 1, name; ; n++ {
		if n > 1 {
			free = name + "-" + strconv.Itoa(n)
		}
		if h := s.Hosts[free]; h == nil || h.ID == id {
			return free
		}
	}
}

// ClockOff reports whether a host's clock is further off than others grant a lease.
func (s *State) ClockOff(h *Host) bool {
	off := time.Duration(h.ClockOffset) * time.Second
	return off.Abs() > s.Duration("lease_grace")
}

// ElsewhereThan reports whether another host has the worktree of the task.
func (t *Task) ElsewhereThan(host string) bool {
	return host != "" && t.Host != "" && t.Host != host
}

// AtWork reports whether an agent of a host is at work on a task.
func (s *State) AtWork(host, task string) bool {
	for _, a := range s.Agents {
		if a != nil && a.Host == host && (a.CurrentTask == task || a.Child != nil && a.Child.Task == task) {
			return true
		}
	}
	return false
}

// HasTurn reports whether a term is the present one.
func (s *State) HasTurn(term int) bool {
	return s.Integration != nil && s.Integration.Turn != nil && s.Integration.Turn.Term == term && s.Integration.Turn.Host != ""
}
