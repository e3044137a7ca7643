package exitcmd

import (
	"fmt"
	"strings"
)

// InWords is what an agent of that kind says, with the exit command at its end as people read it. A text without one,
// and one whose exit command is broken, stay as they are.
func InWords(text, kind string) string {
	if !strings.Contains(text, `"action"`) || len(text) > exitWindow {
		return text
	}
	a := Read(text, kind, false)
	if a.Problem != nil {
		return text
	}
	return strings.TrimSpace(a.Before + "\n" + a.Exit.words())
}

func (e *Exit) words() string {
	text := strings.TrimSuffix(strings.ToLower(e.Action)+": "+e.Summary, ": ")
	if r := e.Review; r != nil {
		text = strings.TrimSuffix("review "+r.Status+": "+e.Summary, ": ")
		for _, f := range r.Findings {
			if f != nil {
				text += "\n- " + strings.TrimPrefix(fmt.Sprintf("%s:%d: %s", f.File, f.Line, f.Message), ":0: ")
			}
		}
	}
	if p := e.Plan; p != nil {
		text += "\nplan:"
		for _, t := range p.Tasks {
			text += "\n- " + strings.TrimSpace(t.ID+" "+t.Title)
		}
	}
	for _, more := range append([]string{e.Text, e.SummaryText}, e.BlockedQuestions...) {
		if more != "" {
			text += "\n" + more
		}
	}
	return text
}
