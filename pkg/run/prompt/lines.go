package prompt

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"slices"
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"

	"liza/pkg/base/prose"
	"liza/pkg/board/blackboard"
)

// lines collects the lines of a section.
type lines struct{ b strings.Builder }

func (l *lines) add(format string, args ...any) { fmt.Fprintf(&l.b, format+"\n", args...) }

func (l *lines) String() string { return strings.TrimSuffix(l.b.String(), "\n") }

// named adds "label: text" when there is a text.
func (l *lines) named(label, text string) {
	if text = strings.TrimSpace(text); text != "" {
		l.add("%s: %s", label, text)
	}
}

// oneLine makes a text of a list fit into one line of at most n bytes.
func oneLine(text string, n int) string {
	return prose.Cut(strings.Join(strings.Fields(text), " "), n)
}

// after is mark and text, or nothing.
func after(mark, text string) string {
	if text == "" {
		return ""
	}
	return mark + text
}

// marker is where text was left out (specs/roles-and-knowledge.md#0.1).
func marker(n int, hint string) string {
	if hint == "" {
		return fmt.Sprintf("[… %d bytes left out]", n)
	}
	return fmt.Sprintf("[… %d bytes left out: %s]", n, hint)
}

// cutText keeps the beginning of a text, so that it has at most limit bytes with the
// marker. It never cuts within a rune.
func cutText(text string, limit int, hint string) string {
	if len(text) <= limit {
		return text
	}
	keep := firstBytes(text, max(0, limit-len(marker(len(text), hint))-1))
	return keep + "\n" + marker(len(text)-len(keep), hint)
}

func firstBytes(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}

func lastBytes(text string, n int) string {
	if len(text) <= n {
		return text
	}
	at := len(text) - n
	for at < len(text) && !utf8.RuneStart(text[at]) {
		at++
	}
	return marker(at, "") + "\n" + text[at:]
}

// fitDiff keeps whole files of a diff, the smallest first, and names the rest.
func fitDiff(_ *Input, diff string, limit int, hint string) string {
	if len(diff) <= limit {
		return diff
	}
	files := splitDiff(diff)
	order := make([]int, len(files))
	for i := range order {
		order[i] = i
	}
	sort.SliceStable(order, func(a, b int) bool { return len(files[order[a]]) < len(files[order[b]]) })
	kept := map[int]bool{}
	size := len(marker(len(diff), hint)) + 1
	for _, i := range order {
		if size+len(files[i]) > limit {
			break
		}
		size += len(files[i])
		kept[i] = true
	}
	if len(kept) == 0 { // not even one file fits: the beginning of the smallest
		keep := firstBytes(files[order[0]], max(0, limit-size))
		return keep + "\n" + marker(len(diff)-len(keep), hint)
	}
	var b strings.Builder
	left := 0
	names := []string{}
	for i, f := range files {
		if kept[i] {
			b.WriteString(f)
			continue
		}
		left += len(f)
		names = append(names, diffName(f))
	}
	rest := "Not shown: " + strings.Join(names, ", ")
	if size+len(rest)+1 <= limit {
		b.WriteString(rest + "\n")
	}
	return b.String() + marker(left, hint)
}

// splitDiff splits a diff at its files.
func splitDiff(diff string) []string {
	var files []string
	start := 0
	for {
		next := strings.Index(diff[start+1:], "\ndiff --git ")
		if next < 0 {
			return append(files, withNewline(diff[start:]))
		}
		end := start + 1 + next + 1
		files = append(files, diff[start:end])
		start = end
	}
}

func withNewline(s string) string { return strings.TrimSuffix(s, "\n") + "\n" }

// diffName is the name of the file that a part of a diff is about.
func diffName(part string) string {
	line, _, _ := strings.Cut(part, "\n")
	if i := strings.LastIndex(line, " b/"); i >= 0 {
		return line[i+3:]
	}
	return line
}

// count reads a setting whose zero means the built-in value and whose negatives mean none.
func count(n, builtin int) int {
	switch {
	case n == 0:
		return builtin
	case n < 0:
		return 0
	}
	return n
}

// sections are all parts of a prompt in the order of specs/roles-and-knowledge.md#2.2: the parts that stay the same longest
// are first. A section without lead and text has no heading.
var sections = []section{
	// The same for every task of a role.
	{name: "role", from: "role file", text: func(in *Input) string { return in.rendered }},
	{name: "rules", heading: "Rules", from: "Liza", text: (*Input).rules},
	{name: "verbs", piece: "verbs", heading: "Commands", from: "Liza", text: (*Input).commands},
	{name: "finish", heading: "How to finish", from: "Liza", text: (*Input).finish},
	{name: "custom_instructions", piece: "custom_instructions", field: "CustomInstructions", heading: "Project instructions", limit: 4000, from: "context.custom_instructions, .liza/instructions.md",
		text: func(in *Input) string { return in.Instructions }, hint: constant(".liza/instructions.md")},
	{name: "skills", piece: "skills", field: "Skills", heading: "Skills", limit: 3000, fenced: true, from: ".liza/skills", text: func(in *Input) string { return in.Skills }, hint: constant("ls .liza/skills")},

	// The same for a sprint, or as long as the integration branch does not move.
	{name: "goal", piece: "goal", field: "Goal", heading: "Goal", from: "plan", text: (*Input).goal},
	{name: "summary", piece: "summary", field: "Summary", heading: "Summary", limit: 3000, fenced: true, from: "goal.summary", text: (*Input).summary, hint: constant("$LIZA_BIN show goal")},
	{name: "facts", piece: "facts", field: "Facts", heading: "Known facts", limit: 3000, from: "facts", text: (*Input).facts, hint: constant("$LIZA_BIN facts"), fit: (*Input).fitFacts},
	{name: "repo_structure", piece: "repo_structure", field: "RepoContext", heading: "Repository", limit: 3000, fenced: true, from: "git ls-files", text: func(in *Input) string { return in.RepoTree }, hint: constant("git ls-files")},

	// The task.
	{name: "task", piece: "task", heading: "Task", from: "task", text: (*Input).task},
	{name: "criteria", piece: "criteria", heading: "Done when", from: "task", text: (*Input).criteria},
	{name: "spec", piece: "spec", field: "Spec", heading: "Spec", limit: 4000, fenced: true, from: "spec file, spec_changes", lead: (*Input).specLead, text: (*Input).spec, hint: (*Input).specPath},
	{name: "request", piece: "request", field: "Request", heading: "Request of the user", limit: 4000, fenced: true, from: "plan", text: (*Input).request, hint: constant("$LIZA_BIN show plan")},
	{name: "related_tasks", piece: "related_tasks", field: "RelatedTasks", heading: "Related tasks", limit: 1500, from: "tasks", text: (*Input).relatedTasks, hint: (*Input).show},
	{name: "relevant_files", piece: "relevant_files", field: "RelevantFiles", heading: "Relevant files", limit: 1500, fenced: true, from: "git ls-files, the texts of the task", text: (*Input).relevant, hint: constant("git ls-files")},
	{name: "session_context", piece: "session_context", field: "SessionContext", heading: "Who else is at work", limit: 1000, from: "tasks", text: (*Input).sessionContext, hint: constant("$LIZA_BIN status")},

	// The run.
	{name: "run", piece: "run", heading: "This run", from: "claim", text: (*Input).run},
	{name: "caller_role", piece: "caller_role", field: "CallerRole", heading: "Caller", from: "plan, notes", text: talked(conversation.caller)},
	{name: "new_message", piece: "new_message", field: "NewMessage", heading: "New message", limit: 6000, fenced: true, from: "goal, notes", text: talked(conversation.newMessage), hint: constant("$LIZA_BIN log --action note")},
	{name: "wake", piece: "wake", field: "Wake", heading: "Why you run", from: "triggers", text: planned(planning.wake)},
	{name: "causes", piece: "wake", heading: "Causes", fenced: true, from: "tasks, discoveries, anomalies", text: planned(planning.causes), hint: constant("$LIZA_BIN status")},
	{name: "board", piece: "board", field: "Board", heading: "Board", limit: 3000, fenced: true, from: "tasks", text: planned(planning.board), hint: constant("$LIZA_BIN status")},
	{name: "messages", piece: "messages", field: "Messages", heading: "Messages so far", limit: 3000, fenced: true, from: "notes, msg tasks", text: talked(conversation.messages), hint: constant("$LIZA_BIN log --action note")},
	{name: "completed", piece: "replan", field: "Completed", heading: "Completed", limit: 3000, fenced: true, from: "plans", text: planned(planning.completed), hint: constant("$LIZA_BIN status")},
	{name: "remaining", piece: "replan", field: "Remaining", heading: "Remaining", limit: 1500, fenced: true, from: "plans", text: planned(planning.remaining), hint: constant("$LIZA_BIN status")},
	{name: "failure", piece: "replan", field: "Failure", heading: "Failure", limit: 2500, fenced: true, from: "plans", text: planned(planning.failure), hint: constant("$LIZA_BIN status")},
	{name: "replan_history", piece: "replan", field: "ReplanHistory", heading: "Earlier plans", limit: 2000, fenced: true, from: "plans", text: planned(planning.replanHistory), hint: constant("$LIZA_BIN show plan")},
	{name: "handoff", piece: "handoff", field: "Handoff", heading: "Handoff", limit: 2000, fenced: true, from: "handoff", lead: before(earlier.handoffLead), text: before(earlier.handoff), hint: (*Input).show},
	{name: "answers", piece: "answers", field: "Answers", heading: "Answers to earlier questions", limit: 2000, fenced: true, from: "questions", text: before(earlier.answers), hint: (*Input).show},
	{name: "task_notes", piece: "task_notes", field: "HumanNotes", heading: "Notes of people", limit: 2000, fenced: true, from: "notes", text: before(earlier.taskNotes), hint: (*Input).show},
	{name: "prior_attempts", piece: "prior_attempts", field: "PriorAttempts", heading: "Earlier attempts", limit: 3000, fenced: true, from: "attempts", text: before(earlier.priorAttempts), hint: (*Input).show},
	{name: "rejection", piece: "rejection", field: "PriorRejection", heading: "Prior rejection", limit: 4000, from: "rejection", lead: before(earlier.rejectionLead), text: before(earlier.rejection), hint: (*Input).show},
	{name: "intent", piece: "intent", field: "Intent", heading: "Intent of the coder", limit: 1500, fenced: true, from: "checkpoint", lead: (*Input).intentLead, text: (*Input).intent, hint: (*Input).show},
	{name: "checks", piece: "checks", field: "Checks", heading: "Checks", limit: 3000, fenced: true, from: "review checks", text: (*Input).checks, hint: (*Input).show},
	{name: "output", piece: "output", field: "Output", heading: "Submission", limit: 8000, fenced: true, from: "submission", text: (*Input).output, hint: (*Input).show},
	{name: "diff", piece: "output", field: "Diff", heading: "Diff", limit: 10000, fenced: true, from: "git diff", text: func(in *Input) string { return in.Diff }, hint: (*Input).diffCommand, fit: fitDiff},
	{name: "attempts", piece: "output", heading: "Attempts", limit: attemptsLimit, fenced: true, from: "git diff", lead: (*Input).attemptsLead, text: (*Input).attempts, hint: constant("git diff")},
	{name: "compress", piece: "compress", field: "ToCompress", heading: "Text to shorten", fenced: true, from: "notes, facts", text: (*Input).compress, hint: constant("$LIZA_BIN log")},
	{name: "checklist", piece: "run", heading: "Checklist", from: "Liza", text: (*Input).checklist},
}

func constant(text string) func(*Input) string { return func(*Input) string { return text } }

//go:embed rules/*.md commands/*.md finish/*.md
var files embed.FS

// text is the content of an embedded file; one that is missing is a programmer's error.
func text(name string) string {
	data, err := fs.ReadFile(files, name)
	if err != nil {
		panic("prompt: no embedded text " + name)
	}
	return strings.TrimSpace(string(data))
}

// rules is the contract of the kind (specs/roles-and-knowledge.md#2.7).
func (in *Input) rules() string {
	own := text("rules/" + string(in.Kind) + ".md")
	if in.Kind == Messenger || in.Kind == Summarizer { // they have no commands and no identity
		return text("rules/helper.md") + "\n" + own
	}
	last := "alone"
	if in.Interactive {
		last = "interactive"
	}
	return text("rules/all.md") + "\n" + own + "\n" + text("rules/"+last+".md")
}

// commands are the verbs of the kind, with an example each (specs/cli.md#3, specs/decisions.md#D26). Those that end a run are told
// where a run ends by them: one way to end is explained, not two.
func (in *Input) commands() string {
	own := text("commands/" + string(in.Kind) + ".md")
	if in.Interactive {
		own = strings.TrimSuffix(own, "```") + strings.TrimPrefix(text("commands/interactive-"+string(in.Kind)+".md"), "```sh\n")
	}
	return text("commands/intro.md") + "\n\n" + own
}

// finish is the exit command of the kind (specs/roles-and-knowledge.md#4.1); a summarizer gives
// either a summary or facts.
func (in *Input) finish() string {
	name := string(in.Kind)
	if in.Interactive {
		return text("finish/interactive-" + name + ".md")
	}
	if in.Kind == Summarizer {
		name += "-summary"
		if in.Shorten != nil && in.Shorten.Facts {
			name = string(in.Kind) + "-facts"
		}
	}
	way := text("finish/printed.md")
	if in.AnswerTool != "" {
		way = strings.ReplaceAll(text("finish/called.md"), "TOOL", in.AnswerTool)
	}
	return way + "\n\n" + text("finish/all.md") + "\n" + text("finish/"+name+".md")
}

// fence puts text that came from outside of Liza between two lines (
// specs/roles-and-knowledge.md#2.5). The token is made from the text, so no text can hold its own end.
func fence(name, text string) string {
	sum := sha256.Sum256([]byte(text))
	token := hex.EncodeToString(sum[:8])
	return "<<<liza " + name + " " + token + "\n" + text + "\n" + token + " liza>>>"
}

// Said is a text for a run that is under way, as its program is told it: whose word it is, fenced.
func Said(n *blackboard.Note) string {
	words, _ := clean(n.Message)
	text := n.ID + " from " + n.Author() + ", while you work:\n" + fence("text", words) + "\n"
	if n.Liza() {
		return text
	}
	return text + "Take it into account from now on. Your task, its rules and the command with which it ends stay as they are."
}

// clean makes a text fit for a prompt: valid UTF-8 without control characters, lines that
// end in LF, no blank edge. lost counts the bytes that could not be shown.
func clean(text string) (cleaned string, lost int) {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	var b strings.Builder
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			b.WriteRune(utf8.RuneError)
			lost++
		case r == '\n' || r == '\t' || !unicode.IsControl(r):
			b.WriteString(text[i : i+size])
		default:
			lost += size
		}
		i += size
	}
	return strings.TrimRight(strings.Trim(b.String(), "\n"), " \t\n"), lost
}

// squeeze is the order in which sections give way (specs/roles-and-knowledge.md#2.6). Each first
// shrinks as far as needed, but not below its floor, and is then dropped if it may be.
// Sections that are not named here are never touched.
var squeeze = []struct {
	section string
	floor   int
	drop    bool
}{
	{"session_context", 500, true},
	{"related_tasks", 500, true},
	{"repo_structure", 500, true},
	{"relevant_files", 500, true},
	{"messages", 500, true},
	{"summary", 500, true},
	{"facts", 500, true},
	{"intent", 500, true},
	{"spec", 500, true},
	{"checks", 500, true},
	{"prior_attempts", 500, true},
	{"diff", 500, true},
	{"output", 2000, false},
	{"custom_instructions", 1000, false},
}

// closing is the last line of every prompt.
const closing = "End with exactly one exit command, as \"How to finish\" says."

// goesOn begins the prompt of a run whose conversation has had one.
const goesOn = "This conversation goes on. What it was told still holds: role, rules, commands, how to finish, and the task, where nothing else is said here. This is new:"

// closingInteractive is it where a person works with the program.
const closingInteractive = "End the work with a command, as \"How to finish\" says, when the person agrees."

func (in *Input) closing() string {
	if in.Interactive {
		return closingInteractive
	}
	return closing
}

// draft is a prompt while it is put together.
type draft struct {
	in    *Input
	parts []part
}

// part is a section with its text.
type part struct {
	section
	in          *Input
	lead, whole string // whole: the text before any cut
	now         string // the text to send
	note        string // command or path for the marker
	dropped     bool   // only its marker is left
}

// gather makes every section that the kind gets and that has something to say, each
// within its own limit.
func (d *draft) gather() {
	for _, s := range sections {
		if !d.in.gets(s.piece) || s.field != "" && d.in.Role.Uses(s.field) || d.in.resumed() && s.piece != "run" {
			continue
		}
		p := d.in.part(s)
		if p.lead == "" && p.whole == "" || d.in.told(p) {
			continue
		}
		d.parts = append(d.parts, p)
	}
}

// told reports whether the conversation of this run was told the part last as it is now. What the run is, it is told each time.
func (in *Input) told(p part) bool {
	var b strings.Builder
	p.write(&b)
	if p.name == "run" {
		return false
	}
	for _, prompt := range slices.Backward(in.Told) {
		if strings.Contains(prompt, b.String()) {
			return true
		}
		if p.heading != "" && strings.Contains(prompt, "## "+p.heading+"\n\n") {
			return false
		}
	}
	return false
}

// part is a section with its text, within the section's own limit.
func (in *Input) part(s section) part {
	p := part{section: s, in: in}
	if s.lead != nil {
		p.lead, _ = clean(s.lead(in))
	}
	if s.text != nil {
		text, lost := clean(s.text(in))
		if lost > 0 && text != "" {
			text += fmt.Sprintf("\n[… %d unprintable bytes left out]", lost)
		}
		p.whole, p.now = text, text
	}
	if s.hint != nil {
		hint, _ := clean(s.hint(in))
		p.note = oneLine(hint, 200)
	}
	if s.limit > 0 {
		p.cut(s.limit)
	}
	return p
}

// cut shortens the part's text to limit bytes, the marker included.
func (p *part) cut(limit int) {
	if len(p.whole) <= limit {
		return
	}
	if p.fit != nil {
		p.now = p.fit(p.in, p.whole, limit, p.note)
		return
	}
	p.now = cutText(p.whole, limit, p.note)
}

// shrink makes sections give way until the prompt has at most limit bytes.
func (d *draft) shrink(limit int) {
	for _, q := range squeeze {
		for i := range d.parts {
			p := &d.parts[i]
			if p.name != q.section {
				continue
			}
			over := len(d.text()) - limit
			if over <= 0 {
				return
			}
			if target := max(q.floor, len(p.now)-over); target < len(p.now) {
				p.cut(target)
			}
			if q.drop && len(d.text()) > limit {
				p.dropped, p.now = true, marker(len(p.whole), p.heading+", "+p.note)
			}
		}
	}
}

// text is the whole prompt.
func (d *draft) text() string {
	var b strings.Builder
	if len(d.in.Told) > 0 {
		b.WriteString(goesOn + "\n\n")
	}
	for _, p := range d.parts {
		p.write(&b)
	}
	if d.in.resumed() {
		return strings.TrimSuffix(b.String(), "\n")
	}
	return b.String() + d.in.closing() + "\n"
}

func (p *part) write(b *strings.Builder) {
	if p.dropped {
		b.WriteString(p.now + "\n\n")
		return
	}
	if p.heading != "" {
		b.WriteString("## " + p.heading + "\n\n")
	}
	if p.lead != "" {
		b.WriteString(p.lead + "\n")
		if p.now != "" {
			b.WriteString("\n")
		}
	}
	if p.now != "" {
		b.WriteString(p.body() + "\n")
	}
	b.WriteString("\n")
}

// body is the text as it is sent: between fences when it comes from outside.
func (p *part) body() string {
	if p.fenced && p.now != "" {
		return fence(p.name, p.now)
	}
	return p.now
}

// shown returns the sections of the prompt, for people.
func (d *draft) shown() []Section {
	var list []Section
	for _, p := range d.parts {
		var b strings.Builder
		p.write(&b)
		s := Section{Name: p.name, From: p.from, Bytes: b.Len()}
		if p.now != p.whole {
			s.Cut = len(p.whole) - len(p.now)
		}
		if p.name == "role" {
			s.From = d.in.Role.Source + ":" + d.in.Role.Name
			if d.in.Role.File != "" {
				s.From = d.in.Role.File
			}
		}
		list = append(list, s)
	}
	return list
}

// cuts returns one sentence for each cut.
func (d *draft) cuts() []string {
	var list []string
	for _, p := range d.parts {
		if p.now != p.whole {
			list = append(list, fmt.Sprintf("%s: %d of %d bytes", p.name, len(p.now), len(p.whole)))
		}
	}
	return list
}
