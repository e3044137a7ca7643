// Package policy has the shell commands that are never started for a task of kind exec, or for an item of a rejection
// (specs/roles-and-knowledge.md#9.4).
//
// It compares the pieces of a command line with a list of expressions. That prevents accidents. A script, a variable or a
// program can start anything that the text does not show; the sandbox contains those.
package policy

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"liza/pkg/base/prose"
)

// List is the project's part of the deny list (policy.*): expressions over a piece of a command line. Allow overrides the
// built-in list, Deny overrides everything. The expressions are valid: the configuration was checked.
type List struct {
	Deny, Allow []string
	AllowSudo   bool
}

// Denial is the reason why a command is not started. Segment is its denied part.
type Denial struct {
	Segment string
	Why     string
}

func (d *Denial) Error() string {
	return fmt.Sprintf("denied: `%s` %s", prose.OneLine(d.Segment, 200), d.Why)
}

// Hint returns how the task can continue after a denial.
func (d *Denial) Hint() string {
	return "say it without this command, or let a person allow it in policy.allow of .liza/config.yaml"
}

const maxCommand = 128<<10 - 1 // length of the longest argument that Linux passes to a program

var errEmpty = errors.New("the command is empty")

const (
	// start is where a piece names its command: behind keywords, assignments, and programs that start another one.
	start = `(?:^|-exec(?:dir)?\s|-ok(?:dir)?\s|\s-\w*c\s)[\s!"'\\]*(?:(?:(?:do|then|else|elif|if|while|until|coproc)\s|\w+=\S*\s|` +
		`(?:\S*/)?(?:sudo|doas|env|nice|timeout|nohup|time|exec|command|builtin|setsid|stdbuf|ionice|busybox|eval|xargs)\s(?:\s*(?:-\S+|\w+=\S*|[A-Z0-9][\w.]*)\s)*)[\s!"'\\]*)*(?:\S*/)?`
	outside = `["']?(?:/|~|\$\{?HOME|(?:\S*/)?\.\.(?:["'/\s]|$)|(?:\S*/)?\.git(?:["'/\s]|$))`
	guarded = `["']?(?:\S*/)?\.(?:liza|git)(?:["'/\s]|$)|["']?(?:~|\$\{?HOME\}?)/\.(?:bash\w*|profile|z\w*|kshrc|config/fish/config\.fish)\b|["']?/etc/profile`
	shell   = `(?:\S*/)?(?:ba|z|da|k|a)?sh\b`
	loads   = `\b(?:curl|wget|fetch|aria2c|base64\s+(?:-d|-D|--decode))\b`
)

// rules is the built-in list. An expression with whole looks at the whole command line, the others at one piece.
var rules = sync.OnceValue(func() []rule {
	return []rule{
		{at(`(?:sudo|doas|su)(?:\s|$)`), "acts as another user (policy.allow_sudo)", false, true},
		{at(`rm\s(?:.*\s)?(?:-\w*[rR]|--recursive).*\s` + outside), "deletes what is outside of the worktree, or a repository", false, false},
		{at(`find\s(?:.*\s)?` + outside + `.*\s-delete`), "deletes what is outside of the worktree, or a repository", false, false},
		{at(`ch(?:mod|own|grp)\s(?:.*\s)?(?:-\w*R|--recursive).*\s` + outside), "changes what is outside of the worktree, or a repository", false, false},
		{at(`(?:mkfs[\w.]*|fdisk|parted|wipefs|sfdisk)(?:\s|$)`), "formats a disk", false, false},
		{at(`dd\s.*\bof=/dev/`), "writes to a device", false, false},
		{at(`(?:shutdown|reboot|halt|poweroff|(?:tel)?init\s+[06])(?:\s|$)`), "stops the machine", false, false},
		{at(`kill\s(?:.*\s)?(?:1|-\w+\s+-1)(?:\s|$)`), "ends every process, or the first one", false, false},
		{at(`git\s(?:.*\s)?push(?:["'\s]|$)`), "publishes work: that is for people", false, false},
		{at(`git\s(?:.*\s)?(?:worktree|update-ref)(?:["'\s]|$)`), "changes what Liza keeps in the repository", false, false},
		{regexp.MustCompile(`\bgit\s(?:.*\s)?(?:-C\s*|--(?:git-dir|work-tree)[=\s])` + outside + `|\bGIT_(?:DIR|WORK_TREE)=` + outside), "works on a repository outside of the worktree", false, false},
		{regexp.MustCompile(`>\|?\s*["']?/dev/(?:sd|nvme|hd|vd|mmcblk|disk)`), "writes to a disk", false, false},
		{regexp.MustCompile(`>\|?\s*(?:` + guarded + `)`), "writes to .liza, .git or a start file of the shell", false, false},
		{at(`(?:tee|mv|touch|mkdir|rmdir|rm|unlink|truncate|chmod|chown|chgrp|shred|(?:sed|perl)\s.*-\w*i\S*)\s(?:.*\s)?(?:` + guarded + `)`), "writes to .liza, .git or a start file of the shell", false, false},
		{at(`(?:cp|ln|install|rsync|scp)\s.*\s(?:-t\s*|--target-directory[=\s])?(?:` + guarded + `)\S*\s*$`), "writes to .liza, .git or a start file of the shell", false, false},
		{regexp.MustCompile(`([\w:.]+)\s*\(\s*\)\s*\{\s*([\w:.]+)\s*\|\s*([\w:.]+)\s*&`), "starts copies of itself without end", true, false},
		{regexp.MustCompile(loads + `[^;&]*\|\s*(?:\w+=\S*\s+|sudo\s+)*` + shell + `|` + shell + `[^;&|]*[<$]\(\s*` + loads), "carries out what it has loaded from elsewhere", true, false},
	}
})

// A rule denies what its expression matches.
type rule struct {
	matches *regexp.Regexp
	why     string
	whole   bool // it looks at the whole command line
	sudo    bool // policy.allow_sudo turns it off
}

func at(command string) *regexp.Regexp { return regexp.MustCompile(start + `(?:` + command + `)`) }

// ends are where a command of a line ends and another one may begin.
var ends = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile("\\|\\||&&|[;|\\n(){}`]|(?:^|[^>&])&(?:[^>&\\d]|$)|<<<|\\$\\(")
})

// Check returns nil for a command that may be started in a worktree; a *Denial names the denied segment.
func (l List) Check(command, worktree string) error {
	if strings.TrimSpace(command) == "" {
		return errEmpty
	}
	if len(command) > maxCommand {
		return fmt.Errorf("it has %d bytes, and no shell takes more than %d; put it into a script", len(command), maxCommand)
	}
	command = strings.ReplaceAll(command, "\\\n", " ")
	lists := [2][]*regexp.Regexp{}
	for i, list := range [2][]string{l.Deny, l.Allow} {
		for _, text := range list {
			lists[i] = append(lists[i], regexp.MustCompile(text))
		}
	}
	deny, allow := lists[0], lists[1]
	for i, piece := range append([]string{command}, ends().Split(strings.NewReplacer("${HOME}", "$HOME").Replace(command), -1)...) {
		piece = strings.TrimSpace(piece)
		matches := func(r *regexp.Regexp) bool { return r.MatchString(piece) }
		if slices.ContainsFunc(deny, matches) {
			return &Denial{piece, "is forbidden by policy.deny"}
		}
		if slices.ContainsFunc(allow, matches) {
			continue
		}
		own := strings.ReplaceAll(piece, worktree+"/", "") // a path of the worktree is as good as a relative one
		for _, r := range rules() {
			if r.whole == (i == 0) && !(r.sudo && l.AllowSudo) && r.refuses(own) {
				return &Denial{piece, r.why}
			}
		}
	}
	return nil
}

// refuses reports whether a rule denies a piece. A function that starts itself has one name in all places.
func (r rule) refuses(piece string) bool {
	m := r.matches.FindStringSubmatch(piece)
	return m != nil && (len(m) < 4 || m[1] == m[2] && m[2] == m[3])
}
