package e2e_test

import (
	"encoding/json"
	"fmt"
	"sync"
)

// A way is how the model tells Liza what it has done.
type way string

const (
	byVerbs way = "verbs" // commands of liza in the program's shell, and plain words at the end
	byExit  way = "exit"  // the exit command alone
	byTools way = "mcp"   // tools of Liza's server, and plain words at the end
)

// The sprint: a planner makes two tasks; `hello` is rejected once, mended, approved and merged;
// `readme` waits for it and is approved at once.
const plan = `{"goal": "A greeting", "order": "graph", "tasks": [
 {"id": "hello", "type": "feature", "title": "Print a greeting", "description": "hello.sh greets somebody", "done_when": "sh hello.sh Ada prints Hello, Ada!; without a name it exits 2", "scope": "IN: hello.sh and its test", "spec_ref": "specs/vision.md", "files": ["hello.sh", "tests/**"], "depends_on": []},
 {"id": "readme", "type": "docs", "title": "Show the command", "description": "README.md shows how to greet", "done_when": "README.md has an example", "scope": "IN: README.md", "spec_ref": "specs/vision.md", "files": ["README.md"], "depends_on": ["hello"]},
 {"id": "tell", "kind": "msg", "description": "Say that hello.sh greets", "notify": true, "depends_on": ["readme"]}]}`

const rejection = "hello.sh:2 greets nobody when the name is missing: refuse it with exit code 2 and test it"

// work is what the coder does in its shell, by task and iteration. The first command shows
// the environment: a key in it must not get into any file of Liza's.
var work = map[string][]string{
	"hello": {
		`env | grep -i key; mkdir -p tests && printf '#!/bin/sh\necho "Hello, $1!"\n' > hello.sh && printf '[ "$(sh hello.sh Ada)" = "Hello, Ada!" ]\n' > tests/hello_test.sh && git add -A && git commit -qm "Print a greeting"`,
		`printf '#!/bin/sh\necho "Hello, ${1:?a name is missing}!"\n' > hello.sh && printf 'if sh hello.sh 2>/dev/null; then exit 1; fi\n' >> tests/hello_test.sh && git add -A && git commit -qm "Refuse a missing name"`,
	},
	"readme": {`printf '\n    sh hello.sh Ada\n' >> README.md && git commit -qam "Show how to greet"`},
}

// sprint is the script of a whole sprint.
func sprint(w way) func(a ask) answerOrCommand {
	return func(a ask) answerOrCommand {
		steps := []answerOrCommand{{text: "Nothing is to be done."}}
		switch a.role {
		case "planner":
			steps = planner(w)
		case "coder":
			if all := work[a.task]; a.iteration <= len(all) {
				steps = coder(w, a, all[a.iteration-1])
			}
		case "code_reviewer":
			steps = reviewer(w, a)
		}
		return steps[min(a.step, len(steps)-1)]
	}
}

func planner(w way) []answerOrCommand {
	switch w {
	case byTools:
		return []answerOrCommand{{find: "plan-apply"}, {tool: "plan-apply", args: plan}, {text: "The plan is on the board."}}
	case byVerbs:
		return []answerOrCommand{{command: "$LIZA_BIN plan apply - <<'PLAN'\n" + plan + "\nPLAN"}, {text: "The plan is on the board."}}
	}
	return []answerOrCommand{{command: "git log --oneline"}, {text: exitCommand("Two tasks.", `"plan": `+plan)}}
}

func coder(w way, a ask, command string) []answerOrCommand {
	steps := []answerOrCommand{{command: command}}
	switch w {
	case byTools:
		args := fmt.Sprintf(`{"task": %q, "summary": "It is done and tested."}`, a.task)
		return append(steps, answerOrCommand{find: "submit"}, answerOrCommand{tool: "submit", args: args}, answerOrCommand{text: "It is submitted."})
	case byVerbs:
		return append(steps, answerOrCommand{command: fmt.Sprintf("$LIZA_BIN submit %s --summary 'It is done and tested.'", a.task)}, answerOrCommand{text: "It is submitted."})
	}
	return append(steps, answerOrCommand{text: exitCommand("It is done and tested.", "")})
}

func reviewer(w way, a ask) []answerOrCommand {
	rejects := a.task == "hello" && a.iteration == 1
	command, verdict := "approve", `"review": {"status": "ok"}`
	if rejects {
		command, verdict = fmt.Sprintf("reject --reason '%s'", rejection), fmt.Sprintf(`"review": {"status": "needs_fix", "reason": %q}`, rejection)
	}
	look := answerOrCommand{command: "git log --oneline | head -n 3"}
	switch w {
	case byTools:
		args := fmt.Sprintf(`{"task": %q, "verdict": "approve"}`, a.task)
		if rejects {
			args = fmt.Sprintf(`{"task": %q, "verdict": "reject", "reason": %q}`, a.task, rejection)
		}
		return []answerOrCommand{{find: "verdict"}, {tool: "verdict", args: args}, {text: "The verdict is given."}}
	case byVerbs:
		return []answerOrCommand{look, {command: fmt.Sprintf("$LIZA_BIN verdict %s %s", a.task, command)}, {text: "The verdict is given."}}
	}
	return []answerOrCommand{look, {text: exitCommand("It was read.", verdict)}}
}

// exitCommand is the JSON object with which a run ends.
func exitCommand(summary, payload string) string {
	text := fmt.Sprintf(`{"action": "COMPLETED", "evidence_files": [], "summary_for_supervisor": %q`, summary)
	if payload != "" {
		text += ", " + payload
	}
	text += "}"
	if !json.Valid([]byte(text)) {
		panic("no JSON: " + text)
	}
	return "All done.\n\n```json\n" + text + "\n```\n"
}

// trouble is the script of two coders whose changes of one file are in conflict. The second one first asks a question, and mends the
// conflict when its merge has failed; the reviewer approves all.
func trouble() func(a ask) answerOrCommand {
	var mu sync.Mutex
	ended := map[string]int{} // runs of a task's coder
	return func(a ask) answerOrCommand {
		if a.role == "code_reviewer" {
			return answerOrCommand{text: exitCommand("It was read.", `"review": {"status": "ok"}`)}
		}
		mu.Lock()
		defer mu.Unlock()
		n := ended[a.task]
		if a.task == "second" {
			n--
		}
		command := fmt.Sprintf("echo %s > same.txt && git add -A && git commit -qm 'Say %s'", a.task, a.task)
		if n > 0 {
			command = "git merge -q integration; printf 'first\nsecond\n' > same.txt && git add -A && git commit -qm 'Say both'"
		}
		switch {
		case n < 0:
			ended[a.task]++
			return answerOrCommand{text: `{"action": "STUCK", "evidence_files": [], "summary_for_supervisor": "It is not said which word.", "blocked_questions": ["Which word?"]}`}
		case a.step == 0:
			return answerOrCommand{command: command}
		}
		ended[a.task]++
		return answerOrCommand{text: exitCommand("It is done.", "")}
	}
}
