package blackboard

import (
	"strconv"
	"time"
)

// Host is one clone of the repository in which agents of this board work. Two clones on one machine are two hosts: each has
// worktrees and processes of its own.
// Written by: join, register, heartbeat.
type Host struct {
	ID          string `yaml:"id"`                     // of the clone, random
	Seen        Time   `yaml:"seen"`                   // last contact
	ClockOffset int    `yaml:"clock_offset,omitempty"` // how far its clock is ahead of the board's, in seconds
	Version     string `yaml:"version,omitempty"`      // of liza there
	Load        string `yaml:"load,omitempty"`         // processes that want to run, per processor |  | the system does not tell
}

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

// MergeTurn is a lease on the integration branch: one host moves it at a time. Each turn has a higher term than the one
// before, so that what comes late from an old one is known.
// Written by: merges.
type MergeTurn struct {
	Term  int    `yaml:"term"`           // number of the turn
	Host  string `yaml:"host,omitempty"` // who has it |  | nobody
	By    string `yaml:"by,omitempty"`   // agent id, human or system
	Until Time   `yaml:"until"`          // when others may take it
}

// HasTurn reports whether a term is the present one.
func (s *State) HasTurn(term int) bool {
	return s.Integration != nil && s.Integration.Turn != nil && s.Integration.Turn.Term == term && s.Integration.Turn.Host != ""
}
