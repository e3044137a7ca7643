package cli_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/websocket"
)

// devserver is a server that an agent has started, while the command behind its ports runs: "devserver 3000,$LIZA_PORT sh agent.sh".
// It says whose it is, and what of the request it was given; at /echo it is a WebSocket.
func devserver(args []string) int {
	task := os.Getenv("LIZA_TASK_ID")
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "server of %s at %s, host %s, cookies %q\n", task, r.URL.Path, r.Host, r.Header["Cookie"])
	})
	mux.Handle("/echo", websocket.Handler(func(c *websocket.Conn) { _, _ = io.Copy(c, c) }))
	for port := range strings.SplitSeq(os.ExpandEnv(args[0]), ",") {
		listener, err := net.Listen("tcp", net.JoinHostPort("localhost", port))
		if err != nil {
			fmt.Println(err)
			return 1
		}
		go func() { _ = http.Serve(listener, mux) }()
	}
	cmd := exec.Command(args[1], args[2:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return exit.ExitCode()
	}
	if err != nil {
		return 1
	}
	return 0
}

// surf is a browser: it opens an address, keeps its cookies, and prints what it gets at each path behind that; of ws:/echo what the server
// says to a greeting. "surf ADDRESS [Header=value …] [/path | ws:/path | post:/path=body …]".
func surf(args []string) int {
	jar, _ := cookiejar.New(nil)
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	headers := http.Header{}
	base, err := url.Parse(args[0])
	if err != nil {
		fmt.Println(err)
		return 2
	}
	ask := func(method string, at *url.URL, body string) {
		r, _ := http.NewRequestWithContext(ctx, method, at.String(), strings.NewReader(body))
		r.Header, r.Host = headers.Clone(), headers.Get("Host")
		answer, err := (&http.Client{Jar: jar}).Do(r)
		if err != nil {
			fmt.Println(err)
			return
		}
		defer answer.Body.Close()
		text, _ := io.ReadAll(answer.Body)
		fmt.Printf("%d %s\n", answer.StatusCode, strings.TrimSpace(string(text)))
	}
	first := slices.IndexFunc(append(args[1:], "/"), func(arg string) bool { return strings.Contains(arg, "/") })
	for _, arg := range args[1 : 1+first] {
		name, value, _ := strings.Cut(arg, "=")
		headers.Set(name, value)
	}
	ask(http.MethodGet, base, "")
	for _, arg := range args[1+first:] {
		kind, path, ok := strings.Cut(arg, ":")
		switch body := ""; {
		case !ok:
			ask(http.MethodGet, base.ResolveReference(&url.URL{Path: arg}), "")
		case kind == "post":
			path, body, _ = strings.Cut(path, "=")
			ask(http.MethodPost, base.ResolveReference(&url.URL{Path: path}), body)
		default:
			fmt.Println(greet(base, jar, path))
		}
	}
	return 0
}

func greet(base *url.URL, jar http.CookieJar, path string) string {
	config, err := websocket.NewConfig("ws://"+base.Host+path, "http://"+base.Host)
	if err != nil {
		return err.Error()
	}
	for _, c := range jar.Cookies(base) {
		config.Header.Add("Cookie", c.String())
	}
	conn, err := websocket.DialConfig(config)
	if err != nil {
		return err.Error()
	}
	defer conn.Close()
	answer := ""
	if err = websocket.Message.Send(conn, "hello"); err == nil {
		err = websocket.Message.Receive(conn, &answer)
	}
	return fmt.Sprint("echo ", answer, " ", err)
}

// held succeeds when a process holds the ports that begin with a first one.
func held(args []string) int {
	first, _ := strconv.Atoi(args[0])
	lock, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 27100 + (first-21000)/20})
	if err != nil {
		return 0
	}
	_ = lock.Close()
	return 1
}
