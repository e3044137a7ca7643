package cli

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"

	urfave "github.com/urfave/cli/v3"

	"liza/pkg/base/safefile"
	"liza/pkg/board/blackboard"
	"liza/pkg/code/merge"
	"liza/pkg/run/agent"
	"liza/pkg/team/assembly"
)

type explainOptions struct {
	env    *Env
	cli    string
	exit   string
	stderr string
}

// explained is the result of `liza explain`.
type explained struct {
	File      string `json:"file"`
	Run       string `json:"run,omitempty"` // of a log of several runs
	Program   string `json:"program"`       // unknown: it is read as text
	Version   string `json:"version,omitempty"`
	Guessed   bool   `json:"guessed"`
	Class     string `json:"class"`
	Means     string `json:"means"`
	Signature string `json:"signature"`
	Evidence  string `json:"evidence,omitempty"`
	Line      int    `json:"line,omitempty"`

	Session      string             `json:"session,omitempty"`
	NoSession    bool               `json:"no_session,omitempty"`
	RetrySeconds float64            `json:"retry_seconds,omitempty"`
	ResetAt      *time.Time         `json:"reset_at,omitempty"`
	TokensIn     *int               `json:"tokens_in"` // null = not known
	TokensOut    *int               `json:"tokens_out"`
	TokensCached *int               `json:"tokens_cached"`
	CostCents    *blackboard.Amount `json:"cost_cents"`
	Tools        int                `json:"tools"`
	Unknown      int                `json:"unknown_lines"`
}

// meanings says what each class means for the work.
var meanings = map[agent.Outcome]string{
	agent.Finished:    "the program ended and reports no failure; its exit command or the verbs that it called decide",
	agent.Reask:       "there is no usable answer; the program is asked again, at most limits.max_parse_retries times",
	agent.Stopped:     "the program's own limit of turns or money ended it",
	agent.Crashed:     "the program failed by itself; it is started again after a growing wait",
	agent.RateLimited: "the provider asks for patience; the claim is kept and the program started again",
	agent.Overloaded:  "the provider fails or is full; the claim is kept and the program started again",
	agent.Network:     "the provider could not be reached; the claim is kept and the program started again",
	agent.QuotaWindow: "the quota of the plan is used up; nothing of this program is started before it resets, other programs go on",
	agent.Unusable:    "no login, no credit, no such model, or a wrong setting; a person is needed",
	agent.ContextFull: "the conversation no longer fits; a new run goes on with a handoff",
	agent.Asked:       "it waited for somebody to answer; the task is blocked with its question",
	agent.Refused:     "the model refuses what it was asked for; it is not asked the same again, and the task is blocked with its words",
	agent.Stalled:     "it hung, or was stopped from outside: there is no last word",
	unknownProgram:    "text without an error at its end does not tell how its program ended; name it with --cli, or give --exit",
}

// unknownProgram is the class of a text that may be anything, and the name of its program.
const unknownProgram = "unknown"

func newExplain(env *Env) *urfave.Command {
	o := &explainOptions{env: env}
	return &urfave.Command{
		Name: "explain", Category: "repair", ArgsUsage: "FILE", Usage: "how the output of an agent program is classified, and by which sign",
		Description: "FILE is what a program printed: a log of .liza/output/ (of several runs the last), or a recording of its stdout. Without --cli the program\n" +
			"is that of the log's first line, or known by its events; else the file is read as text, and only an error at its end tells something. With --exit the exit code counts too (-1 = killed by a signal). Signatures of\n" +
			"agents.NAME.signatures in .liza/config.yaml are looked for before the built-in ones. Needs no project and changes nothing." +
			examples("liza explain .liza/output/task-3.log", "liza explain recorded.jsonl --cli codex --exit 1 --stderr recorded.err") + exitsText(0, 1, 2),
		Flags: []urfave.Flag{
			text("cli", "`NAME` of the agent program that printed it", &o.cli),
			text("exit", "`CODE` with which it ended", &o.exit),
			text("stderr", "`FILE` with what it printed on stderr", &o.stderr),
		},
		Action: env.do(o.run),
	}
}

func (o *explainOptions) run(ctx context.Context, args []string) error {
	if len(args) != 1 {
		return usagef("liza help explain", "explain needs one FILE, the output of an agent program")
	}
	result := explained{File: args[0]}
	rec, err := o.recording(&result)
	if err != nil {
		return err
	}
	reader, err := o.reader(ctx, rec.Stdout, &result)
	if err != nil {
		return err
	}
	result.fill(agent.Explain(reader, rec))
	if result.Program == unknownProgram && rec.Exit == nil && result.Class == string(agent.Finished) {
		result.Class, result.Means = unknownProgram, meanings[unknownProgram]
	}
	return o.env.Print(result, "%s", result.String())
}

// recording reads the files.
func (o *explainOptions) recording(result *explained) (agent.Recording, error) {
	var rec agent.Recording
	var err error
	if rec.Stdout, rec.At, err = o.read(result.File); err != nil {
		return rec, err
	}
	if o.stderr != "" {
		if rec.Stderr, _, err = o.read(o.stderr); err != nil {
			return rec, err
		}
	}
	if o.exit != "" {
		code, err := strconv.Atoi(o.exit)
		if err != nil || code < -1 || code > 255 {
			return rec, usagef("liza help explain", "--exit '%s' must be an exit code, or -1", o.exit)
		}
		rec.Exit = &code
	}
	if run, ok := lastRun(rec.Stdout); ok {
		rec.Stdout, result.Run, result.Program, result.Version = run.out, run.name, run.program, run.version
		if rec.At.Before(run.at) {
			rec.At = run.at
		}
	}
	return rec, nil
}

// longestLog is how much of a file is read: its end.
const longestLog = 64 << 20

func (o *explainOptions) read(name string) ([]byte, time.Time, error) {
	path := o.env.path(name)
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return nil, time.Time{}, usagef("liza help explain", "%s is not a file that can be read", name)
	}
	f, err := safefile.Open(path)
	if err != nil {
		return nil, time.Time{}, fmt.Errorf("cannot read %s: %v", name, err)
	}
	defer f.Close()
	from := max(0, info.Size()-longestLog)
	data, err := io.ReadAll(io.NewSectionReader(f, from, longestLog))
	if err != nil {
		return nil, time.Time{}, fmt.Errorf("cannot read %s: %v", name, err)
	}
	if from > 0 {
		_, data, _ = bytes.Cut(data, []byte("\n"))
	}
	return data, info.ModTime(), nil
}

// runHeader is the line that a supervisor writes at the beginning of each run.
// Older ones have no program.
var runHeader = regexp.MustCompile(`(?m)^=== (\S+) (\S+) run (\d+)(?: \(\S+\))?(?:: (\S+)(?: (\S+))?)?\n`)

// loggedRun is one run in a log.
type loggedRun struct {
	name             string
	at               time.Time
	program, version string // "" = not told
	out              []byte
}

// lastRun is the last run in a log.
func lastRun(log []byte) (run loggedRun, ok bool) {
	all := runHeader.FindAllSubmatchIndex(log, -1)
	if len(all) == 0 {
		return run, false
	}
	m := all[len(all)-1]
	group := func(i int) string {
		if m[2*i] < 0 {
			return ""
		}
		return string(log[m[2*i]:m[2*i+1]])
	}
	run.at, _ = time.Parse(time.RFC3339, group(1))
	run.name, run.program, run.version, run.out = group(2)+" run "+group(3), group(4), group(5), log[m[1]:]
	return run, true
}

// reader is that of the program: named, or told by the log, or known by its events, or the one for text.
func (o *explainOptions) reader(ctx context.Context, stdout []byte, result *explained) (agent.Reader, error) {
	if o.cli != "" {
		result.Program, result.Version = o.cli, ""
	} else if result.Program == "" {
		result.Program, result.Guessed = cmp.Or(agent.Guess(stdout), unknownProgram), true
	}
	switch result.Program {
	case unknownProgram:
		return agent.NewReader("")
	case "scripted":
		return agent.NewReader(result.Program)
	}
	var own map[string]agent.Entry
	if p, err := o.env.System.Find(ctx); err == nil {
		cfg, err := o.env.System.Config(p, true)
		if err != nil {
			return nil, err
		}
		own = assembly.Programs(cfg.Get())
	}
	adapter, err := agent.Lookup(result.Program, agent.Options{Custom: own})
	if err != nil && o.cli == "" { // a log of another project, with a program of its own
		result.Program, result.Version, result.Guessed = unknownProgram, "", true
		return agent.NewReader("")
	}
	if err != nil {
		return nil, usagef("liza help explain", "%v", err)
	}
	return adapter.Reader(agent.Spec{}), nil
}

func (r *explained) fill(res agent.Result) {
	r.Class, r.Means, r.Signature = string(res.Outcome), meanings[res.Outcome], res.Signature
	r.Evidence, r.Line = res.Evidence, res.EvidenceLine
	r.Session, r.NoSession, r.Tools, r.Unknown = res.Session, res.NoSession, res.Tools, res.Unknown
	r.RetrySeconds = res.RetryAfter.Seconds()
	if !res.ResetAt.IsZero() {
		at := res.ResetAt.UTC()
		r.ResetAt = &at
	}
	if u := res.Usage; u.TokensKnown {
		r.TokensIn, r.TokensOut, r.TokensCached = &u.TokensIn, &u.TokensOut, &u.TokensCached
	}
	if u := res.Usage; u.CostKnown {
		cents := blackboard.AmountOf(u.CostCents)
		r.CostCents = &cents
	}
}

func (r *explained) String() string {
	var b strings.Builder
	line := func(key, format string, args ...any) {
		fmt.Fprintf(&b, "%-10s %s\n", key, fmt.Sprintf(format, args...))
	}
	if r.Run != "" {
		line("run", "%s, the last one of %s", r.Run, r.File)
	}
	switch {
	case r.Program == unknownProgram:
		line("program", "unknown, read as text; next: liza explain %s --cli NAME", r.File)
	case r.Guessed:
		line("program", "%s, known by its events", r.Program)
	default:
		line("program", "%s", strings.TrimSpace(r.Program+" "+r.Version))
	}
	if r.Class == unknownProgram {
		line("class", "unknown program: %s", r.Means)
	} else {
		line("class", "%s: %s", r.Class, r.Means)
	}
	line("signature", "%s", r.Signature)
	switch {
	case r.Evidence != "" && r.Line > 0:
		line("evidence", "line %d: %s", r.Line, r.Evidence)
	case r.Evidence != "":
		line("evidence", "%s", r.Evidence)
	}
	if r.RetrySeconds > 0 {
		line("retry", "after %s", time.Duration(r.RetrySeconds*float64(time.Second)))
	}
	if r.ResetAt != nil {
		line("resets", "at %s", r.ResetAt.Format(time.RFC3339))
	}
	if r.NoSession {
		line("session", "the conversation that was to be resumed is not known to the program")
	} else if r.Session != "" {
		line("session", "%s", r.Session)
	}
	line("usage", "%s", r.usage())
	return b.String()
}

func (r *explained) usage() string {
	tokens, cost := "tokens unknown", "cost unknown"
	if r.TokensIn != nil {
		tokens = fmt.Sprintf("%d tokens in (%d cached), %d out", *r.TokensIn, *r.TokensCached, *r.TokensOut)
	}
	if r.CostCents != nil {
		cost = r.CostCents.String() + " cents"
		if *r.CostCents == 1 {
			cost = "1 cent"
		}
	}
	return tokens + ", " + cost
}

// nextOfMove is what helps after a conflict or a failing check.
func nextOfMove(x *merge.MoveError) string {
	if x.Log != "" {
		return "cat " + x.Log
	}
	return `liza note "TEXT", with which the planner makes a task of it`
}
