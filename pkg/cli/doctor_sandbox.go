package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"liza/pkg/broker"
	"liza/pkg/config"
	"liza/pkg/git"
	"liza/pkg/proxy"
	"liza/pkg/sandbox"
	"liza/pkg/store/postgres"
	"liza/pkg/upkeep"
	"liza/pkg/verb"
	"liza/pkg/wall"
)

// examineWall says which level of sandbox this machine reaches, and proves it by trying what must be refused.
func (e *Env) examineWall(ctx context.Context, x *upkeep.Doctor) {
	if x.Service.Repo == nil { // a wall is made around the worktrees, which nobody can list
		return
	}
	cfg := x.Service.Config()
	level, reason, err := e.newWalls(x.Service, nil).Level(ctx, "")
	if bad, ok := errors.AsType[*sandbox.Unavailable](err); ok {
		x.Add("sandbox", upkeep.SeverityError, "level", bad.Next, "", "level %s is required, and %s is the strongest here: %s; no program is started", bad.Want, bad.Have, bad.Why)
		return
	}
	if err != nil {
		x.Add("sandbox", upkeep.SeverityError, "level", "liza config show --origin", "", "%v", err)
		return
	}
	sayLevel(x, cfg, level, reason)
	e.examineSettings(ctx, x)
	if level != sandbox.Closed && level != sandbox.Partial {
		return
	}
	tried, err := e.tryWall(ctx, x.Service, level)
	if err != nil {
		x.Add("sandbox", upkeep.SeverityError, "proof", "LIZA_SANDBOX=partial liza doctor", "", "the wall of level %s cannot be tried: %v", level, err)
		return
	}
	sayAttempts(x, level, tried)
}

// examineSettings tells what the person's own settings of the program name and its runs do not get.
func (e *Env) examineSettings(ctx context.Context, x *upkeep.Doctor) {
	program := cmp.Or(x.CLI, x.Service.Config().Agents.Default)
	missing, err := e.missing(ctx, x.Service, program)
	if err != nil {
		return // the level or the program is told of anyway
	}
	for _, m := range missing {
		x.Add("sandbox", upkeep.SeverityWarning, program, m.Next, "", "%s", m.What)
	}
}

func sayLevel(x *upkeep.Doctor, cfg *config.Config, level sandbox.Level, reason string) {
	switch {
	case level == sandbox.Open && reason == "":
		x.Add("sandbox", upkeep.SeverityInfo, "level", "", cfg.Origin("sandbox.level").String(), "open: agent programs are not contained, because sandbox.level says so")
	case level == sandbox.Wrapped:
		x.Add("sandbox", upkeep.SeverityInfo, "level", "", cfg.Origin("sandbox.wrap").String(), "wrap: `%s` is put before each program; what it refuses is not tried", strings.Join(cfg.Sandbox.Wrap, " "))
	case reason != "":
		x.Add("sandbox", upkeep.SeverityWarning, "level", "", "", "%s", reason)
	default:
		x.Add("sandbox", upkeep.SeverityOK, "level", "", "", "%s can be had here", level)
	}
}

// sayAttempts compares what was refused with what the level promises.
func sayAttempts(x *upkeep.Doctor, level sandbox.Level, tried []sandbox.Attempt) {
	var refused, open []string
	broken := false
	for _, a := range tried {
		switch {
		case a.Refused && level.Covers(a.Act):
			refused = append(refused, a.Act)
		case a.Refused:
		case a.Act == sandbox.ActOpen && !level.Covers(a.Act):
			x.Add("sandbox", upkeep.SeverityWarning, "database", "liza config set sandbox.require closed, or a password for this role in pg_hba.conf", a.Target,
				"an agent program at level %s can %s, and read and write the board there", level, a.Act)
		case level.Covers(a.Act):
			broken = true
			x.Add("sandbox", upkeep.SeverityError, "proof", "LIZA_SANDBOX=open liza run, if you accept that", a.Target, "an agent program could %s, which level %s promises to refuse", a.Act, level)
		default:
			open = append(open, a.Act)
		}
	}
	text := "tried and refused: " + strings.Join(slices.Compact(refused), ", ")
	if len(open) > 0 {
		text += "; not contained at this level: " + strings.Join(open, ", ")
	}
	if !broken {
		x.Add("sandbox", upkeep.SeverityOK, "proof", "", "", "%s", text)
	}
}

// tryWall makes a wall like that of a run, without a program, around a folder of its own, and tries it.
func (e *Env) tryWall(ctx context.Context, d *verb.Service, level sandbox.Level) ([]sandbox.Attempt, error) {
	name := fmt.Sprintf("doctor-%d", os.Getpid())
	run, err := broker.MakeFolder(e.brokerBase(), d.Project.Root, name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = errors.Join(run.Listener.Close(), run.Remove()) }()
	dir := filepath.Join(run.Path, "work")
	w, err := e.newWalls(d, nil).Plan(ctx, wall.Use{Name: name, Dir: dir, Write: true, Sockets: run.Path}, nil)
	if err != nil {
		return nil, err
	}
	w.Spec.Write, w.Make = []string{dir}, []string{dir, w.Spec.Home, w.Spec.Tmp} // nothing of the person's is made for this
	remove, err := w.Prepare()
	defer func() { _ = remove() }()
	if err != nil {
		return nil, err
	}
	outside, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	defer outside.Close()
	t := sandbox.Targets{Board: d.Project.State(), Private: d.Project.Journal(), Folders: []string{d.Project.Root}, Address: outside.Addr().String(), Pid: os.Getpid()}
	all, _ := d.Repo.Worktrees(ctx)
	if i := slices.IndexFunc(all, func(w git.Worktree) bool { return !w.Main && !w.Prunable }); i >= 0 {
		t.Folders = append(t.Folders, all[i].Path)
	}
	if at := d.Config().Store.URL; at != "" {
		if t.Database, err = postgres.Bare(at); err != nil {
			t.Database = "" // told with the board
		}
	}
	if level == sandbox.Closed {
		t.Host = "example.com:443" // refused by its name; nobody looks it up
		l, err := run.Listen(filepath.Base(w.Spec.Proxy))
		if err != nil {
			return nil, err
		}
		p, err := proxy.Serve(l, proxy.Options{})
		if err != nil {
			return nil, err
		}
		defer func() { _ = p.Close() }()
	}
	return sandbox.Prove(ctx, w.Spec, sandbox.Detect(ctx), t)
}
