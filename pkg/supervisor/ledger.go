package supervisor

import (
	"sync"
	"time"

	"liza/pkg/agent"
	"liza/pkg/blackboard"
	"liza/pkg/transition"
)

// Running is what the agent programs of one process have used so far that are still running.
// Limits of the sprint and of the day count it; the board knows only runs that have ended.
// They also share what they saw of each other's worktrees a moment ago.
type Running struct {
	mu   sync.Mutex
	runs map[string]*running // by agent
	seen map[string]seen     // by task
}

// seen are the files that a task had changed at a time.
type seen struct {
	at    time.Time
	files []string
}

// seenFor is how long that is told without another look: with many coders each prompt would look into every worktree.
const seenFor = 10 * time.Second

func (l *Running) sawChanged(task string, now time.Time, look func() ([]string, error)) ([]string, error) {
	if l == nil {
		return look()
	}
	l.mu.Lock()
	s, known := l.seen[task]
	l.mu.Unlock()
	if age := now.Sub(s.at); known && age >= 0 && age < seenFor {
		return s.files, nil
	}
	files, err := look()
	if err == nil {
		l.mu.Lock()
		if l.seen == nil {
			l.seen = map[string]seen{}
		}
		l.seen[task] = seen{now, files}
		l.mu.Unlock()
	}
	return files, err
}

type running struct {
	began time.Time
	usage agent.Usage
}

func (r *running) spent(now time.Time) transition.Spent {
	return transition.Spent{Cents: blackboard.AmountOf(r.usage.CostCents), Tokens: r.usage.TokensIn + r.usage.TokensOut, Seconds: max(0, int(now.Sub(r.began)/time.Second))} // a clock may be set back
}

func (l *Running) begin(id string, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.runs == nil {
		l.runs = map[string]*running{}
	}
	l.runs[id] = &running{began: now}
}

func (l *Running) used(id string, u agent.Usage) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r := l.runs[id]; r != nil {
		r.usage = u
	}
}

func (l *Running) end(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.runs, id)
}

// spent is what the run of one agent has used, and what all have.
func (l *Running) spent(id string, now time.Time) (own, all transition.Spent) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for name, r := range l.runs {
		s := r.spent(now)
		all = all.Add(s)
		if name == id {
			own = s
		}
	}
	return own, all
}
