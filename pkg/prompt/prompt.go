package prompt

import (
	"errors"
	"fmt"
	"strings"
)

// Build writes the prompt. The error is a *role.UnusableError when the text of the role
// cannot be rendered.
func Build(in Input) (Prompt, error) {
	alone := in.Kind == Planner || in.Kind == Summarizer
	switch {
	case in.State == nil:
		return Prompt{}, errors.New("cannot write a prompt without a state")
	case !in.Kind.Known():
		return Prompt{}, fmt.Errorf("cannot write a prompt for the kind '%s'", in.Kind)
	case in.Role == nil || in.Role.Kind != in.Kind:
		return Prompt{}, fmt.Errorf("cannot write the prompt of a %s without a role of that kind", in.Kind)
	case in.Task == nil && !alone:
		return Prompt{}, fmt.Errorf("cannot write the prompt of a %s without a task", in.Kind)
	case in.Shorten == nil && in.Kind == Summarizer:
		return Prompt{}, errors.New("cannot write the prompt of a summarizer without a text to shorten")
	}
	if alone {
		in.Task = nil
	}
	limit := in.MaxChars
	if limit <= 0 {
		limit = MaxChars
	}
	d, err := newDraft(&in)
	if err != nil {
		return Prompt{}, err
	}
	tail := in.reask()
	d.shrink(limit - len(tail))
	p := Prompt{Text: d.text() + tail, Cuts: d.cuts(), Sections: d.shown(), Files: in.files()}
	p.Over = len(p.Text) > limit
	return p, nil
}

const brokenLimit = 4000 // bytes of an unusable answer, and of what is wrong with it

// reask is what follows the original prompt when an answer could not be used: the answer,
// what is wrong with it, and how to finish, once more.
func (in *Input) reask() string {
	r := in.Reask
	if r == nil {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\n## Your last answer could not be used\n\n")
	if broken, _ := clean(r.Broken); broken != "" {
		b.WriteString(fence("answer", lastBytes(broken, brokenLimit)) + "\n\n")
	} else {
		b.WriteString("There was no answer.\n\n")
	}
	errs, _ := clean(r.Errors)
	fmt.Fprintf(&b, "What is wrong: %s\n\n", cutText(errs, brokenLimit, ""))
	b.WriteString("What you did in the worktree and on the board still holds. Put right what is wrong, and answer once more.")
	if r.Max > 0 {
		fmt.Fprintf(&b, " This is try %d of %d.", r.Attempt, r.Max)
	}
	return b.String() + "\n\n## How to finish\n\n" + in.finish() + "\n\n" + in.closing() + "\n"
}

func newDraft(in *Input) (d draft, err error) {
	if in.rendered, err = in.Role.Render(in.data()); err != nil {
		return d, err
	}
	d.in = in
	d.gather()
	return d, nil
}
