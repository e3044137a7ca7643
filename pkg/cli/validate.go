package cli

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	urfave "github.com/urfave/cli/v3"

	"liza/pkg/blackboard"
	"liza/pkg/blackboard/audit"
	"liza/pkg/prose"
	"liza/pkg/store"
)

type validateOptions struct {
	env         *Env
	noSpecFiles bool
	fix         bool
}

// validated is the result of `liza validate`.
type validated struct {
	File       string                 `json:"file"`
	Valid      bool                   `json:"valid"`
	Errors     int                    `json:"errors"`
	Warnings   int                    `json:"warnings"`
	Violations []blackboard.Violation `json:"violations"`
	Fixed      []string               `json:"fixed,omitempty"`

	restore bool // an older state helps: this one cannot be read, or lacks what was there
}

func newValidate(env *Env) *urfave.Command {
	o := &validateOptions{env: env}
	return &urfave.Command{
		Name: "validate", Category: "people", ArgsUsage: "[FILE]", Usage: "check the board against every rule",
		Description: "All violations at once, with rule, id and line. The last line is VALID (warnings are allowed) or INVALID. FILE may be any state file, also\n" +
			"outside of a project or one that does not parse. Changes nothing; --fix repairs what is provably safe, lists it, and checks again." +
			examples("liza validate", "liza validate old-state.yaml --no-spec-files") + exitsText(0, 1, 2, 3, 5),
		Flags: []urfave.Flag{
			flag("no-spec-files", "do not look for spec files (also SKIP_SPEC_FILE_CHECK=true)", &o.noSpecFiles),
			flag("fix", "repair what is provably safe", &o.fix),
		},
		Action: env.do(o.run),
	}
}

func (o *validateOptions) run(ctx context.Context, args []string) error {
	p, err := o.env.placeOf(ctx, args)
	if err != nil {
		return err
	}
	v, err := o.check(ctx, p)
	if err == nil && o.fix {
		v, err = o.repair(ctx, p, v)
	}
	if err != nil {
		return err
	}
	return o.show(v)
}

func (o *validateOptions) check(ctx context.Context, p *place) (validated, error) {
	i, err := p.store.Inspect(ctx)
	if err != nil {
		return p.unreadable(err)
	}
	facts, err := o.env.validationFacts(ctx, p, i, o.noSpecFiles)
	if err != nil {
		return validated{}, err
	}
	return p.result(i.Locate(audit.Validate(i.State, i.Previous, facts))), nil
}

// repair mends what Repair is sure of, in one write, and checks again.
func (o *validateOptions) repair(ctx context.Context, p *place, before validated) (validated, error) {
	if p.project == nil {
		return before, usagef("liza validate --fix", "--fix repairs the board of a project, not a file outside of one")
	}
	if err := o.env.personOnly(ctx, "repair the board"); err != nil {
		return before, err
	}
	i, err := p.store.Inspect(ctx)
	if err != nil {
		return before, nil // what does not parse cannot be repaired; it was reported
	}
	facts, err := o.env.validationFacts(ctx, p, i, o.noSpecFiles)
	if err != nil {
		return before, err
	}
	var done []string
	err = p.store.Update(ctx, store.Op{Name: "validate --fix", Agent: blackboard.Human}, func(s *blackboard.State) error {
		done = audit.Repair(s, facts)
		for _, line := range done {
			s.Record(blackboard.Entry{Timestamp: blackboard.TimeOf(o.env.Now()), Agent: blackboard.Human, Action: "edited_by_hand", Detail: "validate --fix: " + line})
		}
		return nil
	})
	if err != nil {
		return before, err
	}
	after, err := o.check(ctx, p)
	if after.Fixed = done; before.has("V57") && !after.has("V57") {
		after.Fixed = append(after.Fixed, "log.yaml: the end that no state belongs to was cut (V57)")
	}
	return after, err
}

func (o *validateOptions) show(v validated) error {
	next := "edit " + v.File
	if v.File == boardName && !slices.ContainsFunc(v.Violations, func(x blackboard.Violation) bool { return isError(x) && !x.Fixable }) {
		next = "liza validate --fix"
	}
	if v.File == boardName && !slices.ContainsFunc(v.Violations, func(x blackboard.Violation) bool { return isError(x) && x.Rule != ruleJournal }) {
		next = nextSeal
	}
	if v.restore && v.File == boardName {
		next = "liza restore --list"
	}
	message := fmt.Sprintf("%s is not valid: %s", v.File, counts(v))
	switch {
	case o.env.JSON && v.Valid:
		return o.env.Print(v, "")
	case o.env.JSON:
		return o.env.failWith(report{code: 3, message: message, next: next}, v)
	}
	var b strings.Builder
	for _, line := range v.Fixed {
		fmt.Fprintf(&b, "FIXED %s\n", line)
	}
	for _, x := range v.Violations {
		b.WriteString(violationLine(x))
	}
	if len(v.Violations) > 0 {
		fmt.Fprintf(&b, "%s\n", counts(v))
	}
	if v.Valid {
		fmt.Fprintf(o.env.Stdout, "%sVALID\n", b.String())
		return nil
	}
	fmt.Fprintf(o.env.Stdout, "%sINVALID\n", b.String())
	fmt.Fprintf(o.env.Stderr, "next: %s\n", next)
	return &errDone{3}
}

// violationLine is "ERROR V08 task-3 (line 41): CLAIMED without assigned_to".
func violationLine(v blackboard.Violation) string {
	word, message, place := "ERROR", v.Message, ""
	if v.Severity == blackboard.SeverityWarning {
		word = "WARNING"
	}
	if len(v.Subjects) > 0 {
		place = " " + v.Subjects[0]
		for _, prefix := range []string{"task ", "agent ", ""} {
			if rest, ok := strings.CutPrefix(message, prefix+v.Subjects[0]+": "); ok {
				message = rest
				break
			}
		}
	}
	if v.Line > 0 {
		place += fmt.Sprintf(" (line %d)", v.Line)
	}
	return fmt.Sprintf("%s %s%s: %s\n", word, v.Rule, place, message)
}

func counts(v validated) string {
	return prose.Count(v.Errors, "error") + ", " + prose.Count(v.Warnings, "warning")
}

func (v validated) has(rule string) bool {
	return slices.ContainsFunc(v.Violations, func(x blackboard.Violation) bool { return x.Rule == rule })
}

// result counts what was found in the place's file.
func (p *place) result(found []blackboard.Violation) validated {
	v := validated{File: p.name, Violations: found}
	if v.Violations == nil {
		v.Violations = []blackboard.Violation{}
	}
	for _, x := range found {
		if x.Severity == blackboard.SeverityWarning {
			v.Warnings++
		} else {
			v.Errors++
		}
	}
	v.Valid = v.Errors == 0
	return v
}

// unreadable makes violations of what keeps the file from being read (V01, V02).
func (p *place) unreadable(err error) (validated, error) {
	if x, ok := asError[*store.InvalidError](err); ok {
		v := p.result(x.Violations)
		v.restore = true
		return v, nil
	}
	if x, ok := asError[*store.VersionError](err); ok {
		message := "version is " + x.Version + "; this program reads 1"
		if x.Version == "" {
			message = "version is missing; this program reads 1"
		}
		v := p.result([]blackboard.Violation{{Rule: "V02", Severity: blackboard.SeverityError, Path: "version", Subjects: []string{"version"}, Message: message}})
		v.restore = x.Version == ""
		return v, nil
	}
	return validated{}, fmt.Errorf("cannot read %s: %v", filepath.Base(p.name), err)
}
