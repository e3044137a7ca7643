package cli

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"html"
	"maps"
	"net"
	neturl "net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	urfave "github.com/urfave/cli/v3"

	"liza/pkg/base/safefile"
	"liza/pkg/board/blackboard"
	"liza/pkg/board/seal"
	"liza/pkg/board/transition"
	"liza/pkg/face/dashboard/web"
	"liza/pkg/run/agent"
	"liza/pkg/run/sandbox"
	"liza/pkg/team/supervisor"
	"liza/pkg/verb/verb"
)

type openOptions struct {
	env  *Env
	port int
	open bool
}

func newOpen(env *Env) *urfave.Command {
	o := &openOptions{env: env}
	return &urfave.Command{
		Name: "open", Category: "look", ArgsUsage: "TASK [PORT]", Usage: "open a server that a task's agent has started in your browser",
		Description: "Forwards an address of this machine to port PORT in the run of the task until Ctrl-C, or until the run ends. Without PORT it takes the only port on\n" +
			"which a server of the run listens, or names them. At sandbox level closed each run has a loopback device of its own, so any port will do; elsewhere\n" +
			"a run has the 20 ports of its LIZA_PORTS. The address has a token, which your browser gets as a cookie: no other user and no page of another\n" +
			"address gets in. WebSockets pass; service workers are refused. An agent's id instead of TASK is its run. For people only." +
			examples("liza open task-3", "liza open task-3 5173 --open", "liza open code-reviewer-1 3000 --port 8080") + exitsText(0, 1, 2, 3, 4, 130),
		Flags: []urfave.Flag{
			&urfave.IntFlag{Name: "port", Usage: "`PORT` of this machine to listen on", DefaultText: "a free one", Destination: &o.port},
			flag("open", "open the address in the browser", &o.open),
		},
		Action: env.do(o.run),
	}
}

func (o *openOptions) run(ctx context.Context, args []string) error {
	if o.env.JSON {
		return usagef("liza help open", "--json is not possible with open: it goes on until it is ended")
	}
	port := 0
	if len(args) > 1 {
		var err error
		if port, err = strconv.Atoi(args[1]); err != nil || port < 1 || port > 65535 {
			return usagef("liza help open", "'%s' is not a port from 1 to 65535", args[1])
		}
	}
	d, err := o.env.System.Service(ctx)
	if err != nil {
		return err
	}
	f, run, err := o.env.forward(ctx, d, args[0], port, o.port)
	if err != nil {
		return err
	}
	o.env.System.Lasting()
	fmt.Fprintf(o.env.System.Stdout, "%s leads to port %d of %s until Ctrl-C\n", f.Address(), f.Port, run)
	if o.open {
		defer o.env.browseOr(ctx, f.Listener.Addr().(*net.TCPAddr).Port, f.Address())()
	}
	living, end := context.WithCancelCause(ctx)
	defer end(nil)
	go run.watch(living, end)
	if err := f.Serve(living); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return &errDone{130}
	}
	return context.Cause(living)
}

// forward listens for the server at a port of a task's run, 0 for its only one.
func (e *Env) forward(ctx context.Context, d *verb.Service, name string, port, listen int) (f web.Forward, run *serving, err error) {
	s, err := d.Board.View(ctx)
	if err != nil {
		return f, nil, err
	}
	if run, err = e.serving(d, s, name); err != nil {
		return f, nil, err
	}
	if port == 0 {
		port, err = run.onlyPort(ctx)
	} else {
		var conn net.Conn
		if conn, err = run.dial(ctx, port); err == nil {
			_ = conn.Close()
		}
	}
	if err != nil {
		return f, nil, err
	}
	listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(listen)))
	if err != nil {
		return f, nil, transition.Refuse(transition.ExitFailure, "liza open "+name, "cannot listen: %w", err)
	}
	return web.Forward{Listener: listener, Token: rand.Text(), Port: port, Explain: webProblem,
		Dial: func(ctx context.Context) (net.Conn, error) { return run.dial(ctx, port) }}, run, nil
}

// A serving is a run that may have servers.
type serving struct {
	agent, task string
	child       *blackboard.Child
	socket      string // of its reaper
}

func (r *serving) String() string {
	if r.task == "" {
		return r.agent
	}
	return r.task + " (" + r.agent + ")"
}

// serving finds the run of a task, that of its coder first, or of an agent.
func (e *Env) serving(d *verb.Service, s *blackboard.State, name string) (*serving, error) {
	var found []string
	for _, id := range slices.Sorted(maps.Keys(s.Agents)) {
		if a := s.Agents[id]; a.Child != nil && (id == name || a.Child.Task == name) {
			found = append(found, id)
		}
	}
	if len(found) == 0 {
		if s.Task(name) == nil && s.Agents[name] == nil {
			return nil, notThere(s, name)
		}
		return nil, transition.Refuse(transition.ExitRefused, "liza show "+name, "no agent works on %s now; its servers ended with its run", name)
	}
	id := found[max(0, slices.IndexFunc(found, func(id string) bool { return s.Agents[id].Role == blackboard.RoleCoder }))]
	a := s.Agents[id]
	r := &serving{agent: id, task: a.Child.Task, child: a.Child, socket: supervisor.SocketOf(e.System.BrokerBase(), d.Board.Project.Root, a.Child.RunID)}
	if proc := d.Board.Proc; a.Host != proc.Host || a.BootID != proc.BootID {
		return nil, transition.Refuse(transition.ExitRefused, "liza show "+id, "%s runs on the host %s; open it there", r, a.Host)
	}
	if !agent.Alive(r.child.PID, r.child.PIDStart) {
		return nil, r.over()
	}
	return r, nil
}

func (r *serving) over() error {
	return transition.Refuse(transition.ExitRefused, "liza show "+cmp.Or(r.task, r.agent), "the run of %s has ended", r)
}

func (r *serving) closed() bool { return r.child.Sandbox == string(sandbox.Closed) }

// dial connects to a server of the run.
func (r *serving) dial(ctx context.Context, port int) (conn net.Conn, err error) {
	next := "liza open " + cmp.Or(r.task, r.agent)
	if r.closed() {
		conn, err = agent.Dial(r.socket, port)
	} else if first, last := r.band(); port < first || port > last {
		return nil, transition.Refuse(transition.ExitRefused, next, "port %d is not one of %s, which has %s at sandbox level %s", port, r, cmp.Or(r.child.Ports, "none"), r.child.Sandbox)
	} else {
		conn, err = dialLoopback(ctx, port)
	}
	switch {
	case err == nil:
		return conn, nil
	case !agent.Alive(r.child.PID, r.child.PIDStart):
		return nil, r.over()
	case errors.Is(err, agent.ErrNotKept):
		return nil, transition.Refuse(transition.ExitFailure, "liza show "+r.agent, "the run of %s cannot be reached: %v", r, err)
	}
	return nil, transition.Refuse(transition.ExitFailure, next, "nothing listens on port %d in the run of %s", port, r)
}

// dialLoopback connects to a port of this machine. A server that listens on "localhost" may have either address.
func dialLoopback(ctx context.Context, port int) (conn net.Conn, err error) {
	for _, host := range []string{"127.0.0.1", "::1"} {
		if conn, err = (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "tcp", net.JoinHostPort(host, strconv.Itoa(port))); err == nil {
			return conn, nil
		}
	}
	return nil, err
}

// band is the first and the last port of the run.
func (r *serving) band() (first, last int) {
	from, to, _ := strings.Cut(r.child.Ports, "-")
	first, _ = strconv.Atoi(from)
	last, _ = strconv.Atoi(to)
	return first, last
}

// onlyPort is the port of the only server of the run.
func (r *serving) onlyPort(ctx context.Context) (int, error) {
	var ports []int
	var err error
	if r.closed() {
		ports, err = agent.Listening(r.socket)
	} else {
		for port, last := r.band(); port > 0 && port <= last; port++ {
			if conn, err := dialLoopback(ctx, port); err == nil {
				_ = conn.Close()
				ports = append(ports, port)
			}
		}
	}
	switch name := cmp.Or(r.task, r.agent); {
	case err != nil:
		return 0, transition.Refuse(transition.ExitFailure, "liza show "+r.agent, "the run of %s cannot be reached: %v", r, err)
	case len(ports) == 0:
		return 0, transition.Refuse(transition.ExitFailure, "liza output "+name, "no server listens in the run of %s; its ports are %s", r, cmp.Or(r.child.Ports, "none"))
	case len(ports) > 1:
		list := strings.ReplaceAll(strings.Trim(fmt.Sprint(ports), "[]"), " ", ", ")
		return 0, transition.Refuse(transition.ExitRefused, fmt.Sprintf("liza open %s %d", name, ports[0]), "servers of %s listen on the ports %s", r, list)
	}
	return ports[0], nil
}

// watch ends what depends on the run when its program has ended.
func (r *serving) watch(ctx context.Context, end context.CancelCauseFunc) {
	look := time.NewTicker(time.Second)
	defer look.Stop()
	for agent.Alive(r.child.PID, r.child.PIDStart) {
		select {
		case <-look.C:
		case <-ctx.Done():
			return
		}
	}
	end(r.over())
}

// openings are the forwardings that a longer process of a person has begun: one for each server.
type openings struct {
	env  *Env
	d    *verb.Service
	life context.Context // after which they end

	mu     sync.Mutex
	all    map[string]web.Forward
	forget map[int]func() // by port
}

// mostOpenings is how many servers one process forwards at one time.
const mostOpenings = 16

// open returns the address of the server at a port of a task's run, 0 for its only one.
func (o *openings) open(ctx context.Context, task string, port int) (string, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	f, run, err := o.env.forward(ctx, o.d, task, port, 0)
	if err != nil {
		return "", err
	}
	key := fmt.Sprint(run.child.RunID, " ", f.Port)
	if begun, ok := o.all[key]; ok {
		_ = f.Listener.Close()
		return begun.Address(), nil
	}
	if len(o.all) >= mostOpenings {
		_ = f.Listener.Close()
		return "", transition.Refuse(transition.ExitRefused, "liza open "+task, "%d servers are open here already", mostOpenings)
	}
	living, end := context.WithCancelCause(o.life)
	go run.watch(living, end)
	if o.all == nil {
		o.all = map[string]web.Forward{}
	}
	o.all[key] = f
	go func() {
		_ = f.Serve(living)
		end(nil)
		o.mu.Lock()
		defer o.mu.Unlock()
		delete(o.all, key)
	}()
	return f.Address(), nil
}

// browse is open with the address in the browser.
func (o *openings) browse(ctx context.Context, task string, port int) (string, error) {
	address, err := o.open(ctx, task, port)
	if err != nil {
		return "", err
	}
	at, err := neturl.Parse(address)
	if err != nil {
		return "", err
	}
	own, _ := strconv.Atoi(at.Port())
	forget, _ := o.env.browse(o.life, own, address) // without a browser the address is on the screen
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.forget == nil {
		o.forget = map[int]func(){}
	}
	o.forget[own] = forget
	return address + " until you leave", nil
}

// close removes what led the browser here.
func (o *openings) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, forget := range o.forget {
		forget()
	}
}

// browse opens the page. Anybody can read the command line of the browser: it has the name of a file of this person's alone,
// which leads on to the address with the token until done is called.
func (e *Env) browse(ctx context.Context, port int, url string) (done func(), err error) {
	name := "xdg-open"
	if runtime.GOOS == "darwin" {
		name = "open"
	}
	file := ""
	err = seal.ErrNoFolder
	if dir := e.System.Keys(); dir != "" {
		file = filepath.Join(dir, fmt.Sprintf("open-%d.html", port))
		page := fmt.Sprintf("<!doctype html><meta charset=utf-8><meta name=referrer content=no-referrer><meta http-equiv=refresh content=\"0;url=%s\"><title>Liza</title>\n", html.EscapeString(url))
		if err = os.MkdirAll(dir, 0o700); err == nil {
			err = safefile.Replace(file, []byte(page), 0o600)
		}
		if cmd := exec.CommandContext(ctx, name, "file://"+(&neturl.URL{Path: file}).EscapedPath()); err == nil {
			if err = cmd.Start(); err == nil {
				go func() { _ = cmd.Wait() }()
			}
		}
	}
	if err != nil {
		err = fmt.Errorf("cannot open the browser: %w", err)
	}
	return func() { _ = os.Remove(file) }, err
}

// browseOr is browse for a command whose address is on the screen.
func (e *Env) browseOr(ctx context.Context, port int, url string) (done func()) {
	done, err := e.browse(ctx, port, url)
	if err != nil {
		e.System.Log().Warn(err.Error())
	}
	return done
}
