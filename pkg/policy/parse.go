package policy

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// maxDepth is how deep substitutions, subshells and nested shells are looked into.
const maxDepth = 4

// maxBrackets is how deep brackets may be in each other: the parser calls itself for each,
// and a stack that grows without bound ends the whole process.
const maxBrackets = 1000

// Errors about commands that are not started because they cannot be understood.
var (
	errEmpty = errors.New("the command is empty")
	errDeep  = fmt.Errorf("the command is nested deeper than %d levels, so that it cannot be looked through", maxDepth)
)

// segment is one simple command.
type segment struct {
	raw     string
	words   []string // assignments first, without quotes, and without redirections
	targets []string // files that are written by redirection
	scripts []string // here-documents
	loads   bool     // a download is in one of its substitutions
	piped   bool     // it reads what the segment before writes
	depth   int
}

// text judges a text that a shell would carry out, as bash reads it and as a plain sh does:
// what is a string for one may be a command for the other. What either of them would start is
// judged; a text that bash cannot read is not started.
func (j *judge) text(command string, depth int) error {
	if depth > maxDepth || bracketsOf(command) > maxBrackets {
		return errDeep
	}
	for _, shell := range []syntax.LangVariant{syntax.LangPOSIX, syntax.LangBash} {
		leave := j.subshell()
		in := j.came
		w := &walk{judge: j, text: command, depth: depth}
		var denied error
		var err error
		for s, failed := range syntax.NewParser(syntax.Variant(shell)).StmtsSeq(strings.NewReader(command)) {
			if err = failed; err != nil {
				break
			}
			if _, denied = w.stmt(s, in); denied != nil {
				break
			}
		}
		leave()
		switch {
		case denied != nil:
			return denied
		case err != nil && shell == syntax.LangBash:
			return unread(err)
		}
	}
	return nil
}

func unread(err error) error {
	if parse, ok := errors.AsType[syntax.ParseError](err); ok {
		if _, quoted, found := strings.Cut(parse.Text, "without closing quote "); found {
			if quote, err := strconv.Unquote(quoted); err == nil {
				return fmt.Errorf("a quote is not closed: %s in line %d, column %d", quote, parse.Pos.Line(), parse.Pos.Col())
			}
		}
		return fmt.Errorf("the command cannot be read: line %d: %s", parse.Pos.Line(), shorten(parse.Text))
	}
	return fmt.Errorf("the command cannot be read: %v", err)
}

// bracketsOf is how deep the brackets of a text are in each other, quoted ones too.
func bracketsOf(text string) int {
	depth, most := 0, 0
	for i := range len(text) {
		switch text[i] {
		case '(', '[', '{':
			depth++
			most = max(most, depth)
		case ')', ']', '}':
			depth = max(0, depth-1)
		}
	}
	return most
}

// walk goes through the commands of one text in the order in which a shell reads them.
type walk struct {
	*judge
	text  string
	depth int
}

// stmts judges commands that follow one another. in is what they can read, the result what
// reads them gets.
func (w *walk) stmts(list []*syntax.Stmt, in pipe) (out pipe, err error) {
	for _, s := range list {
		one, err := w.stmt(s, in)
		if err != nil {
			return out, err
		}
		out = out.and(one)
	}
	return out, nil
}

func (w *walk) stmt(s *syntax.Stmt, in pipe) (pipe, error) {
	if s == nil {
		return pipe{}, nil
	}
	call, simple := s.Cmd.(*syntax.CallExpr)
	if simple || s.Cmd == nil {
		return w.simple(s, call, in)
	}
	out, err := w.compound(s.Cmd, in)
	if err != nil || len(s.Redirs) == 0 {
		return out, err
	}
	// the redirections of a compound command are a segment without words
	redirected, err := w.simple(&syntax.Stmt{Redirs: s.Redirs}, nil, pipe{})
	return out.and(redirected), err
}

// simple makes a segment of a simple command and judges it, after what is in its substitutions.
func (w *walk) simple(s *syntax.Stmt, call *syntax.CallExpr, in pipe) (pipe, error) {
	seg := segment{raw: w.raw(s, call), depth: w.depth, piped: in.open}
	var nodes []syntax.Node
	if call != nil {
		for _, a := range call.Assigns {
			seg.words = append(seg.words, w.assignment(a))
			nodes = append(nodes, a)
		}
		for _, word := range call.Args {
			seg.words = append(seg.words, w.expanded(word)...)
			nodes = append(nodes, word)
		}
	}
	for _, r := range s.Redirs {
		nodes = append(nodes, r)
		switch value := w.value(r.Word); {
		case r.Hdoc != nil:
			seg.scripts = append(seg.scripts, w.source(r.Hdoc))
		case r.Op == syntax.WordHdoc:
			seg.scripts = append(seg.scripts, value)
		case r.Op != syntax.RdrIn && r.Op != syntax.DplIn:
			seg.targets = append(seg.targets, value)
		}
	}
	return w.hand(seg, in, nodes)
}

// hand judges a segment after the substitutions that are in nodes.
func (w *walk) hand(seg segment, in pipe, nodes []syntax.Node) (pipe, error) {
	writes := pipe{last: seg.words, loads: in.loads || downloads(seg.words), open: true}
	loads, err := w.substitutions(nodes, writes)
	if err != nil {
		return pipe{}, err
	}
	seg.loads = loads
	writes.loads = writes.loads || loads
	if len(seg.words) == 0 && len(seg.targets) == 0 {
		return writes, nil
	}
	w.came = in
	return writes, w.segment(seg)
}

// substitutions judges what is in command and process substitutions; a command whose output
// goes into one is read there.
func (w *walk) substitutions(nodes []syntax.Node, writes pipe) (loads bool, err error) {
	for _, node := range nodes {
		syntax.Walk(node, func(n syntax.Node) bool {
			var list []*syntax.Stmt
			in := pipe{}
			switch n := n.(type) {
			case *syntax.CmdSubst:
				list = n.Stmts
			case *syntax.ProcSubst:
				if list = n.Stmts; n.Op == syntax.CmdOut {
					in = writes
				}
			default:
				return err == nil
			}
			var out pipe
			if err == nil {
				out, err = w.inner(list, in)
			}
			loads = loads || out.loads
			return false
		})
	}
	return loads, err
}

// inner judges what a shell of its own carries out: its cd ends with it.
func (w *walk) inner(list []*syntax.Stmt, in pipe) (pipe, error) {
	if w.depth >= maxDepth {
		return pipe{}, errDeep
	}
	defer w.subshell()()
	w.depth++
	defer func() { w.depth-- }()
	return w.stmts(list, in)
}

// compound judges the parts of a command that is made of others.
func (w *walk) compound(cmd syntax.Command, in pipe) (pipe, error) {
	switch c := cmd.(type) {
	case *syntax.BinaryCmd:
		first, err := w.stmt(c.X, in)
		if err != nil {
			return first, err
		}
		if c.Op == syntax.Pipe || c.Op == syntax.PipeAll {
			return w.stmt(c.Y, first.opened())
		}
		second, err := w.stmt(c.Y, in)
		return first.and(second), err
	case *syntax.Subshell:
		return w.inner(c.Stmts, in)
	case *syntax.Block:
		return w.stmts(c.Stmts, in)
	case *syntax.FuncDecl:
		return w.stmt(c.Body, in)
	case *syntax.TimeClause:
		return w.stmt(c.Stmt, in)
	case *syntax.CoprocClause:
		return w.stmt(c.Stmt, in)
	case *syntax.TestDecl:
		return w.stmt(c.Body, in)
	case *syntax.IfClause:
		return w.parts(in, nil, c.Cond, c.Then, elseOf(c))
	case *syntax.WhileClause:
		return w.parts(in, nil, c.Cond, c.Do)
	case *syntax.ForClause:
		return w.parts(in, []syntax.Node{c.Loop}, c.Do)
	case *syntax.CaseClause:
		nodes, lists := []syntax.Node{c.Word}, [][]*syntax.Stmt{}
		for _, item := range c.Items {
			for _, pattern := range item.Patterns {
				nodes = append(nodes, pattern)
			}
			lists = append(lists, item.Stmts)
		}
		return w.parts(in, nodes, lists...)
	case *syntax.DeclClause:
		return w.declares(c, in)
	}
	return w.parts(in, []syntax.Node{cmd}) // tests and arithmetic
}

func elseOf(c *syntax.IfClause) []*syntax.Stmt {
	if c.Else == nil {
		return nil
	}
	return []*syntax.Stmt{{Position: c.Else.Pos(), Cmd: c.Else}}
}

// parts judges substitutions in nodes and then the lists.
func (w *walk) parts(in pipe, nodes []syntax.Node, lists ...[]*syntax.Stmt) (out pipe, err error) {
	loads, err := w.substitutions(nodes, pipe{})
	out.loads = loads
	for _, list := range lists {
		if err != nil {
			return out, err
		}
		var one pipe
		one, err = w.stmts(list, in)
		out = out.and(one)
	}
	return out, err
}

// declares judges export, local, readonly and their like, which are commands with words.
func (w *walk) declares(c *syntax.DeclClause, in pipe) (pipe, error) {
	seg := segment{raw: w.source(c), words: []string{c.Variant.Value}, depth: w.depth, piped: in.open}
	var nodes []syntax.Node
	for _, a := range c.Args {
		seg.words = append(seg.words, w.assignment(a))
		nodes = append(nodes, a)
	}
	return w.hand(seg, in, nodes)
}
