package blackboard

import (
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

// A Contact is what a host says about itself.
type Contact struct {
	Host
	Name string
}

// Contact notes a host. It is refused while another clone is known by the same name: what belongs to a host goes by that.
func (s *State) Contact(c Contact, now time.Time) error {
	if c.Name == "" {
		return nil
	}
	old := s.Hosts[c.Name]
	if old != nil && old.ID != c.ID {
		return refuse("", ExitRefused, "LIZA_HOST=NAME liza run", "another clone of this board is known as host %s; give this one another name", c.Name)
	}
	c.Seen = TimeOf(now)
	if s.Hosts == nil {
		s.Hosts = map[string]*Host{}
	}
	s.Hosts[c.Name] = &c.Host
	return nil
}

// FreeHostName is the name, with a number when another clone has it.
func (s *State) FreeHostName(name, id string) string {
	for n, free := 1, name; ; n++ {
		if n > 1 {
			free = name + "-" + itoa(n)
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

// TakeTurn gives a host the next turn; held is the one of another host that is not over. A host's own former turn is over,
// because its merges are one after the other by a lock of that host.
func (s *State) TakeTurn(host, by string, length time.Duration, now time.Time) (term int, held *MergeTurn) {
	if s.Integration == nil {
		s.Integration = &Integration{}
	}
	next := MergeTurn{Term: 1, Host: host, By: by, Until: TimeOf(now.Add(length))}
	if old := s.Integration.Turn; old != nil {
		until, known := old.Until.At()
		if old.Host != "" && old.Host != host && (!known || now.Before(until)) {
			return 0, old
		}
		next.Term = old.Term + 1
	}
	s.Integration.Turn = &next
	return next.Term, nil
}

// KeepTurn extends a turn; false: it is over.
func (s *State) KeepTurn(term int, length time.Duration, now time.Time) bool {
	if !s.HasTurn(term) {
		return false
	}
	turn := *s.Integration.Turn
	turn.Until = TimeOf(now.Add(length))
	s.Integration.Turn = &turn
	return true
}

// EndTurn lets the next one merge.
func (s *State) EndTurn(term int, now time.Time) {
	if s.HasTurn(term) {
		s.Integration.Turn = &MergeTurn{Term: term, Until: TimeOf(now)}
	}
}

// HasTurn reports whether a term is the present one.
func (s *State) HasTurn(term int) bool {
	return s.Integration != nil && s.Integration.Turn != nil && s.Integration.Turn.Term == term && s.Integration.Turn.Host != ""
}
