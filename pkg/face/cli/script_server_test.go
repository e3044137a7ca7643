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
// says to a greeting. "surf ADDRESS [Header=value …] [/path | ws:/path …]".
func surf(args []string) int {
	jar, _ := cookiejar.New(nil)
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	headers := http.Header{}
	base, err := url.Parse(args[0])
	if err != nil {
		fmt.Println(err)
		return 2
	}
	get := func(at *url.URL) {
		r, _ := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
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
	opened := false
	for _, arg := range append(args[1:], "") {
		if name, value, ok := strings.Cut(arg, "="); ok {
			headers.Set(name, value)
			continue
		}
		if !opened {
			opened = true
			get(base)
		}
		if path, ok := strings.CutPrefix(arg, "ws:"); ok {
			fmt.Println(greet(base, jar, path))
		} else if arg != "" {
			get(base.JoinPath("/").ResolveReference(&url.URL{Path: arg}))
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
