package store

import (
	"fmt"
	"strings"

	"liza/pkg/base/yamldoc"
	"liza/pkg/board/blackboard"
)

// required are the sections that a state must have (specs/protocol.md#2.1).
var required = []string{"goal", "tasks", "agents", "sprint", "config"}

// missing are the required sections that the file does not have.
func missing(doc *yamldoc.Document) []string {
	var keys []string
	for _, key := range required {
		if _, ok := doc.Section(key); !ok {
			keys = append(keys, key)
		}
	}
	return keys
}

// decoding returns the problems of decoding the file: V03 for sections and V04 for fields of a wrong type, and with unknown
// also V61 for unknown keys, once for each name.
func decoding(doc *yamldoc.Document, unknown bool) []blackboard.Violation {
	r := reporter{doc: doc, unknown: unknown, seen: map[string]bool{}}
	for _, key := range doc.Keys() {
		sec, known := sectionOf(key)
		if !known {
			r.unknownSection(key)
			continue
		}
		entries, split := doc.Entries(key)
		if !split {
			if p := pieceOf(doc, key); p != nil {
				r.problems(sec, nil, key, key, p)
			}
			continue
		}
		for i, e := range entries {
			p := e.Value().(*piece)
			if len(p.problems) == 0 {
				continue
			}
			if sec.kind == whole || (sec.kind == list) != (e.Name() == "") {
				r.wrongSection(sec)
				break
			}
			entry := e.Name()
			if sec.kind == list {
				entry = name("", i)
				if p.norm.IsValid() {
					entry = name(idField(p.raw.Type().Elem())(p.raw), i)
				}
			}
			r.problems(sec, e, key+"["+entry+"]", entry, p)
		}
	}
	return r.found
}

type reporter struct {
	doc     *yamldoc.Document
	unknown bool
	seen    map[string]bool // unknown keys by section and name
	found   []blackboard.Violation
}

// problems adds the problems of one piece. path is its place, subject its name.
func (r *reporter) problems(sec section, e *yamldoc.Entry, path, subject string, p *piece) {
	before := -1
	for _, problem := range p.problems {
		if problem.Unknown() && (!r.unknown || r.seen[sec.key+" "+problem.Key]) {
			continue
		}
		if before < 0 {
			before = r.doc.LinesBefore(sec.key, e)
		}
		v := blackboard.Violation{
			Rule: "V04", Severity: blackboard.SeverityError, OnWrite: true, Subjects: []string{sec.key},
			Path: within(path, problem.Path), Line: before + problem.Line, Column: problem.Column,
		}
		if sec.key == "tasks" || sec.key == "agents" {
			v.Subjects = []string{subject}
		}
		switch {
		case problem.Unknown():
			r.seen[sec.key+" "+problem.Key] = true
			v.Rule, v.Severity, v.OnWrite = "V61", blackboard.SeverityWarning, false
			v.Message = owner(sec, e, path, subject) + ": unknown key '" + problem.Key + "'" + nearest(problem)
		case problem.Empty:
			v.Severity = blackboard.SeverityWarning
			v.Message = owner(sec, e, path, subject) + ": " + problem.Path + ": " + problem.Message
		case problem.Path == "" && e == nil:
			v.Rule, v.Message = "V03", "section "+strings.Replace(problem.Message, "it ", "'"+sec.key+"' ", 1)
		default:
			v.Message = owner(sec, e, path, subject) + ": " + problem.Message
		}
		r.found = append(r.found, v)
	}
}

func (r *reporter) wrongSection(sec section) {
	line, column := r.doc.Line(sec.key)
	want, is := "a list", "a map"
	switch sec.kind {
	case dict:
		want, is = is, want
	case whole:
		want, is = "one value", "a list or a map"
	}
	r.found = append(r.found, blackboard.Violation{
		Rule: "V03", Severity: blackboard.SeverityError, OnWrite: true, Subjects: []string{sec.key}, Path: sec.key,
		Line: line, Column: column, Message: fmt.Sprintf("section '%s' must be %s, is %s", sec.key, want, is),
	})
}

func (r *reporter) unknownSection(key string) {
	if !r.unknown {
		return
	}
	var known []string
	for _, s := range sections() {
		known = append(known, s.key)
	}
	line, column := r.doc.Line(key)
	r.found = append(r.found, blackboard.Violation{
		Rule: "V61", Severity: blackboard.SeverityWarning, Subjects: []string{key}, Path: key, Line: line, Column: column,
		Message: "unknown section '" + key + "'" + nearest(yamldoc.Problem{Key: key, Known: known}),
	})
}

func nearest(p yamldoc.Problem) string {
	if n := blackboard.Nearest(p.Key, p.Known); n != "" {
		return "; nearest: " + n
	}
	return ""
}

// owner returns the subject of a message: task t, agent a, or the path.
func owner(sec section, e *yamldoc.Entry, path, subject string) string {
	switch {
	case e == nil:
		return sec.key
	case sec.key == "tasks":
		return "task " + subject
	case sec.key == "agents":
		return "agent " + subject
	}
	return path
}

func within(path, inner string) string {
	if inner == "" || strings.HasPrefix(inner, "[") {
		return path + inner
	}
	return path + "." + inner
}

// locate fills in lines and columns that are not known yet.
func locate(doc *yamldoc.Document, violations []blackboard.Violation) []blackboard.Violation {
	for i := range violations {
		if v := &violations[i]; v.Line == 0 && v.Path != "" {
			v.Line, v.Column = doc.Line(v.Path)
		}
	}
	return violations
}

// What Options.Strict proves. A failure is a mistake in Liza, so it panics.

// proveUntouched decodes the bytes again and compares the result with the state that all forks share.
func (r *rules) proveUntouched(v *version) {
	again := &version{}
	if err := again.parse(v.doc.Bytes(), newReader()); err != nil {
		panic("store: the state cannot be read again: " + err.Error())
	}
	for _, sec := range sections() {
		if is, was := sec.of(v.base), sec.of(again.base); !yamldoc.Same(is.Interface(), was.Interface()) {
			panic(fmt.Sprintf("store: somebody changed section %s of a state that is shared; see blackboard.State.Own", sec.key))
		}
	}
}

func (r *rules) proveSame(narrow, all []blackboard.Violation) {
	names := func(list []blackboard.Violation) map[string]bool {
		set := map[string]bool{}
		for _, v := range list {
			set[v.Rule+" "+v.Path+" "+v.Message] = true
		}
		return set
	}
	a, b := names(narrow), names(all)
	for v := range b {
		if !a[v] {
			panic("store: looking at what changed misses a violation: " + v)
		}
	}
	for v := range a {
		if !b[v] {
			panic("store: looking at what changed invents a violation: " + v)
		}
	}
}
