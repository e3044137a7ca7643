package policy

import (
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// wrong says why a segment is denied, "" when it is not. It is the table of
// specs/roles-and-knowledge.md#9.4.
func (j *judge) wrong(s segment) string {
	for _, t := range s.targets {
		if device.MatchString(t) {
			return "writes to a disk"
		}
		if why := j.guarded(t); why != "" {
			return why
		}
	}
	words, sudo := bare(s.words)
	if sudo && !j.list.AllowSudo {
		return "acts as another user (policy.allow_sudo)"
	}
	if len(words) == 0 {
		return ""
	}
	name, args := path.Base(words[0]), words[1:]
	switch {
	case name == "cd" || name == "pushd":
		if dir := j.resolve(first(afterOptions(args, ""))); len(dir) <= maxPath {
			j.cwd = dir
		}
	case name == "rm" && has(args, 'r', "recursive") || name == "rm" && has(args, 'R', "recursive"):
		return j.destroys(args, "deletes")
	case name == "find" && slices.Contains(args, "-delete"):
		return j.destroys(findRoots(args), "deletes")
	case (name == "chmod" || name == "chown" || name == "chgrp") && has(args, 'R', "recursive"):
		return j.destroys(args, "changes")
	case strings.HasPrefix(name, "mkfs") || slices.Contains([]string{"fdisk", "parted", "wipefs", "sfdisk"}, name):
		return "formats a disk"
	case name == "dd":
		return j.dd(args)
	case slices.Contains([]string{"shutdown", "reboot", "halt", "poweroff"}, name):
		return "stops the machine"
	case (name == "init" || name == "telinit") && (first(args) == "0" || first(args) == "6"):
		return "stops the machine"
	case name == "kill":
		return kills(args)
	case name == "su" && !j.list.AllowSudo:
		return "acts as another user (policy.allow_sudo)"
	case shells[name] && (s.loads || s.piped && j.came.loads), name == "eval" && s.loads, (name == "source" || name == ".") && s.loads:
		return "carries out what it has loaded from elsewhere"
	case name == "git":
		return j.git(s.words, args)
	}
	return j.writes(name, args)
}

var device = regexp.MustCompile(`^/dev/(sd|nvme|hd|vd|mmcblk|disk)`)

// maxPath bounds what is remembered of where cd leads to.
const maxPath = 512

// has reports whether an option is given, alone, among others in one word, or long.
func has(args []string, letter byte, long string) bool {
	for _, w := range args {
		switch {
		case w == "--":
			return false
		case w == "--"+long:
			return true
		case len(w) > 1 && w[0] == '-' && w[1] != '-' && strings.IndexByte(w, letter) > 0:
			return true
		}
	}
	return false
}

// operands are the arguments that are not options.
func operands(args []string) []string {
	var out []string
	for i, w := range args {
		if w == "--" {
			return append(out, args[i+1:]...)
		}
		if len(w) < 2 || w[0] != '-' {
			out = append(out, w)
		}
	}
	return out
}

// resolve makes a path of a word as a shell would, as far as that can be told.
func (j *judge) resolve(word string) string {
	home := j.home()
	for _, v := range []string{"~", "$HOME", "${HOME}"} {
		if rest, ok := strings.CutPrefix(word, v); ok && (rest == "" || rest[0] == '/') {
			return filepath.Clean(home + rest)
		}
	}
	for _, v := range []string{"$PWD", "${PWD}"} {
		if rest, ok := strings.CutPrefix(word, v); ok && (rest == "" || rest[0] == '/') {
			word = "." + rest
		}
	}
	if word == "" {
		return home // of cd alone
	}
	if strings.HasPrefix(word, "~") { // another user's home
		return "/home/" + word[1:]
	}
	if filepath.IsAbs(word) {
		return filepath.Clean(word)
	}
	return filepath.Join(j.cwd, word)
}

func (j *judge) home() string {
	if j.place.Home == "" {
		return "/home"
	}
	return j.place.Home
}

func inside(dir, file string) bool {
	return file == dir || strings.HasPrefix(file, strings.TrimSuffix(dir, "/")+"/")
}

// destroys says which operand of a recursive command lies outside of the worktree.
func (j *judge) destroys(args []string, does string) string {
	for _, w := range operands(args) {
		if w == "" {
			continue
		}
		file := j.resolve(strings.TrimSuffix(w, "*") + "/")
		if w == "*" {
			file = j.cwd
		}
		switch {
		case slices.Contains(j.parts(file), ".git"):
			return does + " a repository"
		case !inside(j.place.Worktree, file) || w == ".." || w == "../":
			return does + " " + w + ", which is outside of the worktree"
		}
	}
	return ""
}

func (j *judge) dd(args []string) string {
	for _, w := range args {
		if of, ok := strings.CutPrefix(w, "of="); ok {
			if strings.HasPrefix(of, "/dev/") && of != "/dev/null" {
				return "writes to a device"
			}
			return j.guarded(of)
		}
	}
	return ""
}

// kills says whether a kill goes to every process, or to the first one.
func kills(args []string) string {
	for i := 0; i < len(args); i++ {
		w := args[i]
		switch {
		case w == "--":
			continue
		case w == "-s" || w == "-n" || w == "--signal":
			i++
		case i == 0 && len(w) > 1 && w[0] == '-' && len(args) > 1: // the signal
		case w == "-1" || w == "1":
			return "ends every process, or the first one"
		}
	}
	return ""
}

// git says why a git command reaches beyond the worktree.
func (j *judge) git(all, args []string) string {
	const elsewhere = "works on a repository outside of the worktree"
	for _, w := range all {
		for _, v := range []string{"GIT_DIR=", "GIT_WORK_TREE="} {
			if dir, ok := strings.CutPrefix(w, v); ok && !inside(j.place.Worktree, j.resolve(dir)) {
				return elsewhere
			}
		}
	}
	cwd := j.cwd
	defer func() { j.cwd = cwd }()
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		option, value, joined := strings.Cut(args[0], "=")
		args = args[1:]
		switch option {
		case "-C", "--git-dir", "--work-tree", "-c", "--namespace", "--exec-path":
			if !joined && len(args) > 0 {
				value, args = args[0], args[1:]
			}
		}
		switch option {
		case "-C":
			j.cwd = j.resolve(value)
		case "--git-dir", "--work-tree":
			if !inside(j.place.Worktree, j.resolve(value)) {
				return elsewhere
			}
		}
	}
	switch {
	case !inside(j.place.Worktree, j.cwd):
		return elsewhere
	case first(args) == "push":
		return "publishes work: that is for people"
	case first(args) == "worktree" || first(args) == "update-ref":
		return "changes what Liza keeps in the repository"
	}
	return ""
}

// writes says which operand of a command that writes files is guarded.
func (j *judge) writes(name string, args []string) string {
	names := operands(args)
	switch name {
	case "cp", "ln", "install", "rsync", "scp":
		for _, w := range args {
			if dir, ok := strings.CutPrefix(w, "--target-directory="); ok {
				names = append(names, dir)
			}
		}
		if !has(args, 't', "target-directory") && len(names) > 1 {
			names = names[len(names)-1:]
		}
	case "sed", "perl":
		if !has(args, 'i', "in-place") {
			return ""
		}
	case "tee", "mv", "touch", "mkdir", "rmdir", "rm", "unlink", "truncate", "chmod", "chown", "chgrp", "shred":
	default:
		return ""
	}
	for _, w := range names {
		if why := j.guarded(w); why != "" {
			return why
		}
	}
	return ""
}

// parts are the folders and the name of a path, within the worktree when it is there.
func (j *judge) parts(file string) []string {
	if inside(j.place.Worktree, file) {
		file = strings.TrimPrefix(file, j.place.Worktree)
	}
	return strings.Split(file, "/")
}

var startFiles = []string{".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".profile", ".zshrc", ".zshenv", ".zprofile", ".zlogin", ".kshrc", ".config/fish/config.fish"}

// guarded says why a file must not be written.
func (j *judge) guarded(word string) string {
	file := j.resolve(word)
	parts := j.parts(file)
	switch {
	case slices.Contains(parts, ".liza"):
		return "writes to .liza"
	case slices.Contains(parts, ".git"):
		return "writes to .git"
	case inside("/etc/profile.d", file) || file == "/etc/profile":
		return "writes to a start file of the shell"
	}
	if name, ok := strings.CutPrefix(file, filepath.Clean(j.home())+"/"); ok && slices.Contains(startFiles, name) {
		return "writes to a start file of the shell"
	}
	return ""
}
