package cli

import (
	"context"
	"os/exec"
	"runtime"
	"strconv"
	"sync"
	"time"

	"liza/pkg/sprint"
	"liza/pkg/upkeep"
	"liza/pkg/verb"
	"liza/pkg/watch"
)

// watcherOf watches the project of a service. An agent's process only looks: stopping the
// sprint at its deadline is for people's processes and for the team.
func (e *Env) watcherOf(d *verb.Service) *watch.Watcher {
	w := &watch.Watcher{Files: e.alertFiles(d.Project), Sinks: []watch.Sink{alertMail{e, d.Project}}, Look: upkeep.Observe(d, time.Now()).Facts,
		Problem: func(err error) { e.Log().Warn(err.Error()) }}
	if d.Caller.AgentID == "" && d.Caller.As == "" {
		w.Deadline = func(ctx context.Context, message string) error {
			_, err := sprint.SystemCheckpoint(ctx, d, message)
			return err
		}
	}
	return w
}

// desktop raises notifications on the desktop of the person who watches. Where the program
// for that is missing nothing happens.
func (e *Env) desktop() *desktop {
	return &desktop{queue: e.late, system: runtime.GOOS}
}

type desktop struct {
	queue  *sync.WaitGroup
	system string
	turn   sync.Mutex // one at a time, in any order
}

// Tell notifies of a raised alert; what was open before, or is over, needs nobody.
func (d *desktop) Tell(c watch.Change) {
	if c.Old || c.Cleared {
		return
	}
	argv := notification(d.system, c.Alert)
	path, err := exec.LookPath(argv[0])
	if err != nil {
		return
	}
	show := func() {
		d.turn.Lock()
		defer d.turn.Unlock()
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		cmd := exec.CommandContext(ctx, path, argv[1:]...)
		cmd.WaitDelay = time.Second
		_ = cmd.Run() // a desktop that does not answer stops nobody
	}
	if d.queue == nil {
		show()
		return
	}
	d.queue.Go(show)
}

// notification is the command that shows an alert on a desktop.
func notification(system string, a watch.Alert) []string {
	title := "liza: " + string(a.Kind) + " " + a.Subject
	if system == "darwin" {
		return []string{"osascript", "-e", "display notification " + strconv.Quote(a.Message) + " with title " + strconv.Quote(title)}
	}
	urgency := map[string]string{watch.Error: "critical", watch.Warning: "normal", watch.Info: "low"}[a.Severity]
	return []string{"notify-send", "--app-name=liza", "--urgency=" + urgency, "--", title, a.Message}
}
