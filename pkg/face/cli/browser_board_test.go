package cli_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"liza/pkg/board/blackboard"
	"liza/pkg/run/activity"
	"liza/pkg/verb/verb"
	"liza/pkg/verb/verb/verbtest"
)

// gallery is a board on which everything that the page shows is to be seen.
func gallery(t *testing.T) *verbtest.Place {
	t.Helper()
	p := verbtest.NewWith(t, verb.InitInput{Goal: "A command that greets people in their language, with options and tests", Now: time.Now()})
	p.Config.Review.Mode = "strict"
	verbtest.Write(t, filepath.Join(p.Dir, ".liza", "config.yaml"), "review: {mode: strict, baseline: false}\nsandbox: {level: open}\n")
	verbtest.Write(t, filepath.Join(p.Dir, "specs", "vision.md"), "# Vision\n\n## Greeting\n\nThe command greets by name. Without a name it greets the world.\n\n## Languages\n\nEnglish, German and Arabic.\n")
	verbtest.Write(t, filepath.Join(p.Dir, "greet.go"), "package main\n\nimport \"fmt\"\n\nfunc main() {\n\tfmt.Println(\"hello\")\n}\n")
	p.Shell(p.Dir, "git add -A -- specs greet.go && git commit -q -m 'A first greeting' && git branch -f integration")
	p.Accept()
	p.Merges(4)
	add := func(id, text string, after ...string) {
		t.Helper()
		_, err := p.Service("").AddTask(t.Context(), verb.NewTask{Task: blackboard.Task{ID: id, Description: text, SpecRef: "specs/vision.md#greeting", DoneWhen: "the tests of " + id + " pass",
			Scope: "IN: greet.go, OUT: everything else", Type: "docs", DependsOn: after, AcceptanceCriteria: []string{"greets by name", "greets the world without one"}}})
		must(t, nil, err)
	}
	add("name", "Greet somebody by name\nTake the name from the first argument, and greet the world without one.")
	add("language", "Greet in the language of the environment", "name")
	add("shout", "An option to shout")
	add("config", "Read defaults from a file")
	add("arabic", "Arabic greetings\nمرحبا بالعالم")
	add("docs", "A manual page with examples", "language", "shout")
	add("release", "Build releases for Linux and macOS", "docs", "config")
	coder, reviewer := p.Service("coder-1"), p.Service("code-reviewer-1")
	ctx := t.Context()
	_, err := coder.Claim(ctx, "name")
	must(t, nil, err)
	change(p, "name", "package main\n\nimport (\n\t\"fmt\"\n\t\"os\"\n)\n\n// main greets.\nfunc main() {\n\tname := \"world\"\n\tif len(os.Args) > 1 {\n\t\tname = os.Args[1]\n\t}\n\tfmt.Println(\"hello, \" + name)\n}\n")
	must2(t)(coder.Submit(ctx, verb.SubmitInput{Task: "name", NoTests: "an example", Summary: "The first argument is the name."}))
	must2(t)(reviewer.Reviews.ClaimReview(ctx, "name"))
	must2(t)(reviewer.Reviews.Verdict(ctx, verb.VerdictInput{Task: "name", Verdict: verb.Reject, Reason: "greet.go:12 takes an empty argument for a name",
		Findings: []*blackboard.Finding{{Severity: "error", Check: "review", File: "greet.go", Line: 12, Message: "an empty argument greets nobody", Fix: "treat it as no argument"}}}))
	must2(t)(coder.Claim(ctx, "name"))
	change(p, "name", "package main\n\nimport (\n\t\"fmt\"\n\t\"os\"\n)\n\n// main greets.\nfunc main() {\n\tname := \"world\"\n\tif len(os.Args) > 1 && os.Args[1] != \"\" {\n\t\tname = os.Args[1]\n\t}\n\tfmt.Println(\"hello, \" + name)\n}\n")
	must2(t)(coder.Submit(ctx, verb.SubmitInput{Task: "name", NoTests: "an example", Summary: "An empty argument is none."}))
	must2(t)(reviewer.Reviews.ClaimReview(ctx, "name"))
	must2(t)(reviewer.Reviews.Verdict(ctx, verb.VerdictInput{Task: "name", Verdict: verb.Approve}))
	must2(t)(p.Service("").Reviews.Comment(ctx, verb.Comment{Task: "name", Path: "greet.go", Line: 14, Text: "A full stop at the end, please."}))

	must2(t)(coder.Claim(ctx, "config"))
	must2(t)(coder.Block(ctx, verb.BlockInput{Task: "config", Reason: "the spec does not say where the file is", Questions: []string{"Is it ~/.greet or $XDG_CONFIG_HOME/greet?"}}))
	must2(t)(coder.Claim(ctx, "shout"))
	change(p, "shout", "package main\n\nfunc shout(s string) string { return s + \"!\" }\n")
	must2(t)(coder.Submit(ctx, verb.SubmitInput{Task: "shout", NoTests: "an example"}))
	add("colour", "Greet in colour")
	must2(t)(p.Service("coder-2").Claim(ctx, "colour"))
	run := activity.Event{At: time.Now().UTC(), Kind: activity.Run, Agent: "coder-2", Task: "colour", Role: "coder", Program: "claude", Model: "opus", Number: 1, ID: "r-1"}
	says(p, "coder-2", run) // an agent's own file has where its runs begin
	says(p, "colour", run, activity.Event{Kind: activity.Text, Text: "I look at how the greeting is printed."}, activity.Event{Kind: activity.Tool, Tool: "Read", Text: "greet.go"},
		activity.Event{Kind: activity.Result, Text: "package main …"}, activity.Event{Kind: activity.Usage, In: 18400, Out: 1250}, activity.Event{Kind: activity.Tool, Tool: "Bash", Text: "go test ./..."})
	must2(t)(p.Service("").AddTask(ctx, verb.NewTask{Draft: true, Task: blackboard.Task{ID: "poem", Description: "Greet with a poem", SpecRef: "specs/vision.md", DoneWhen: "it rhymes", Scope: "IN: greet.go", Type: "docs"}}))
	must2(t)(p.Service("").Hold(ctx, "arabic", "the translation is not there yet"))
	return p
}

// says writes what a run does.
func says(p *verbtest.Place, name string, events ...activity.Event) {
	p.TB.Helper()
	var lines strings.Builder
	for _, e := range events {
		if e.At.IsZero() {
			e.At = time.Now().UTC()
		}
		if err := json.NewEncoder(&lines).Encode(e); err != nil {
			p.TB.Fatal(err)
		}
	}
	verbtest.Write(p.TB, p.Project.Activity(name), lines.String())
}

// change commits a text as greet.go of a task.
func change(p *verbtest.Place, id, text string) {
	p.TB.Helper()
	dir := p.Repo.WorktreePath(id)
	verbtest.Write(p.TB, filepath.Join(dir, "greet.go"), text)
	p.Git(dir, "commit", "-q", "-am", "Work on "+id)
}

func must(t *testing.T, _ any, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func must2(t *testing.T) func(any, error) {
	return func(_ any, err error) { t.Helper(); must(t, nil, err) }
}

// galleryViews are the views of a gallery, by the name of their pictures.
var galleryViews = map[string]string{
	"board": "board", "past": "board?rev=12", "waits": "waits", "agents": "agents", "agent": "agent/coder-1", "graph": "graph", "timeline": "timeline", "costs": "costs", "log": "log", "alerts": "alerts",
	"task": "task/name", "diff": "task/name/diff", "attempts": "task/name/attempts", "history": "task/name/history",
}

func (b *tab) theme(name string) {
	b.Helper()
	b.do(chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}}})
		return err
	}))
}

// look opens a view and waits for what it asks the server for: until nothing has changed for a while.
func (b *tab) look(view string) {
	b.Helper()
	b.do(chromedp.Evaluate[chromedp.Void](fmt.Sprintf(`location.hash = %q; window.quiet = false; {
		let timer; const again = () => { clearTimeout(timer); timer = setTimeout(() => { o.disconnect(); window.quiet = true; }, 250); };
		const o = new MutationObserver((all) => { if (all.some((m) => m.target.nodeName !== "TIME")) again(); }); o.observe(document.body, {childList: true, subtree: true}); again(); }`, "#/"+view)))
	b.wait("window.quiet")
}

func (b *tab) picture(file, view string, width int64, theme string) {
	b.Helper()
	b.do(chromedp.EmulateViewport(width, 900))
	b.theme(theme)
	b.look(view)
	// A screenshot of the whole page would make it one pixel wide for a moment, which views notice: the window grows instead.
	height, err := chromedp.Run(b.ctx, chromedp.Evaluate[int64]("Math.max(900, document.documentElement.scrollHeight)"))
	must(b.T, nil, err)
	b.do(chromedp.EmulateViewport(width, height))
	b.look(view)
	png, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
	must(b.T, nil, err)
	must(b.T, nil, os.MkdirAll(filepath.Dir(file), 0o755))
	must(b.T, nil, os.WriteFile(file, png, 0o644))
}
