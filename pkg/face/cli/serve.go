package cli

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	neturl "net/url"
	"time"

	urfave "github.com/urfave/cli/v3"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/transition"
	"liza/pkg/face/dashboard"
	"liza/pkg/face/dashboard/web"
)

type serveOptions struct {
	env            *Env
	addr, tokenEnv string
	open, noToken  bool
}

func newServe(env *Env) *urfave.Command {
	o := &serveOptions{env: env}
	return &urfave.Command{
		Name: "serve", Category: "look", Usage: "show the board in a browser, and serve it as JSON",
		Description: "A page that follows the board: lanes, what waits for you, a page for each task with its diff and its attempts, agents with their output, graph,\n" +
			"timeline, costs, log, alerts, and the board as it was. Beside it /api/… with JSON, /api/events with server-sent events, and /metrics for Prometheus\n" +
			"(specs/http-api.md). Its buttons are verbs of a person, so every caller has to send a token, as Authorization: Bearer TOKEN or by opening /?token=TOKEN\n" +
			"once. The token is new at each start and is in the address that is printed; --token-env names a variable that holds another one, which stays over\n" +
			"restarts, has at least 22 characters, and which addresses of other machines need. It goes on until Ctrl-C. For people only." +
			examples("liza serve --open", "LIZA_WEB=… liza serve --addr 0.0.0.0:7717 --token-env LIZA_WEB") + exitsText(0, 1, 2, 3, 130),
		Flags: []urfave.Flag{
			&urfave.StringFlag{Name: "addr", Value: "127.0.0.1:7717", Usage: "`HOST:PORT` to listen on; port 0 takes a free one", Destination: &o.addr},
			flag("open", "open the page in the browser", &o.open),
			text("token-env", "`NAME` of the environment variable that holds the token", &o.tokenEnv),
			flag("no-token", "let every user and program of this machine act as you; on loopback only", &o.noToken),
		},
		Action: env.do(o.run),
	}
}

func (o *serveOptions) run(ctx context.Context, _ []string) error {
	if o.env.JSON {
		return usagef("liza help serve", "--json is not possible with serve: it goes on until it is ended")
	}
	token, err := o.token()
	if err != nil {
		return err
	}
	handler, err := o.project(ctx, token)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", o.addr)
	if err != nil {
		return transition.Refuse(transition.ExitFailure, "liza serve --addr 127.0.0.1:0", "cannot serve on %s: %w", o.addr, err)
	}
	o.env.System.Lasting()
	url := "http://" + listener.Addr().String() + "/"
	withToken := url
	if token != "" {
		withToken += "?token=" + neturl.QueryEscape(token)
	}
	if o.noToken {
		o.env.System.Log().Warn("without a token every user and every program of this machine, agents included, can do what you can: pause, approve merges, answer")
	}
	if o.tokenEnv == "" {
		url = withToken // a token that a person has chosen is not shown
	}
	fmt.Fprintf(o.env.System.Stdout, "%s shows the board until Ctrl-C\n", url)
	if o.open {
		defer o.env.browseOr(ctx, listener.Addr().(*net.TCPAddr).Port, withToken)()
	}
	return o.serve(ctx, listener, handler)
}

// project returns page and API of the project.
func (o *serveOptions) project(ctx context.Context, token string) (http.Handler, error) {
	o.env.System.Watches = true
	d, err := o.env.System.Service(ctx)
	if err != nil {
		return nil, err
	}
	if o.tokenEnv != "" {
		d.Board.Caller.Person = o.tokenEnv // who calls is known by the token's name (specs/roles-and-knowledge.md#9.7)
	}
	source := sourceOf(d)
	if _, err := source.State(ctx); err != nil {
		return nil, err
	}
	return web.Handler(web.Options{Version: version, Service: d, Token: token, Source: source, Explain: webProblem, Open: (&openings{env: o.env, d: d, life: ctx}).open,
		Metrics: func(s *blackboard.State) (dashboard.Metrics, error) {
			f, err := reportFacts(o.env.System.Log(), d, s)
			return dashboard.MetricsOf(s, f.Tasks, f.Journal, f.Now), err
		}}), nil
}

// webProblem is what a command would say of an error.
func webProblem(err error) web.Problem {
	r := explainOffline(err)
	return web.Problem{Code: exitName(r.code), Message: r.message, Next: r.next}
}

// serve answers requests until ctx ends.
func (o *serveOptions) serve(ctx context.Context, listener net.Listener, handler http.Handler) error {
	server := &http.Server{ReadHeaderTimeout: 10 * time.Second, BaseContext: func(net.Listener) context.Context { return ctx }, Handler: handler}
	ended := context.AfterFunc(ctx, func() {
		bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), 3*time.Second)
		defer cancel()
		_ = server.Shutdown(bounded)
	})
	defer ended()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("cannot go on serving: %w", err)
	}
	return &errDone{130}
}

// shortestToken is how many characters 128 bits have in base 64.
const shortestToken = 22

// token is what callers have to know: that of --token-env, else a new one. Nobody but this machine
// may listen in without a token of a person's choice.
func (o *serveOptions) token() (string, error) {
	switch {
	case o.tokenEnv != "" && o.noToken:
		return "", usagef("liza help serve", "--no-token and --token-env exclude each other")
	case o.tokenEnv != "":
		switch token := o.env.System.Get(o.tokenEnv); {
		case token == "":
			return "", usagef("liza help serve", "--token-env %s: the environment has no such variable, or it is empty", o.tokenEnv)
		case len(token) < shortestToken:
			return "", usagef("openssl rand -base64 24", "--token-env %s: a token of less than %d characters can be guessed (128 bits are %d)", o.tokenEnv, shortestToken, shortestToken)
		default:
			return token, nil
		}
	}
	host, _, err := net.SplitHostPort(o.addr)
	if err != nil {
		return "", usagef("liza help serve", "--addr '%s' must have the form HOST:PORT", o.addr)
	}
	if ip, err := netip.ParseAddr(host); host != "localhost" && (err != nil || !ip.IsLoopback()) {
		return "", usagef("liza help serve", "--addr %s can be reached from other machines; that needs --token-env NAME", o.addr)
	}
	if o.noToken {
		return "", nil
	}
	return rand.Text(), nil
}
