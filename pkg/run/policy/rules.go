package policy

import (
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

var shells = map[string]bool{"sh": true, "bash": true, "zsh": true, "dash": true, "ksh": true, "ash": true}

// wrong says why a simple command is denied, "" when it is not: the table of
// specs/roles-and-knowledge.md#9.4. targets are the files that its redirections write.
func (j *judge) wrong(words, targets []string) string {
	for _, t := range targets {
		if device.MatchString(t) {
			return "writes to a disk"
		}
		if why := j.guarded(t); why != "" {
			return why
		}
	}
	all := words
	words, sudo := bare(words)
	if sudo && !j.sudo {
		return "acts as another user (policy.allow_sudo)"
	}
	if len(words) == 0 {
		return ""
	}
	name, args := path.Base(words[0]), words[1:]
	switch {
	case name == "cd" || name == "pushd":
		if dir := j.resolve(first(operands(args))); len(dir) <= maxPath {
			j.cwd = dir
		}
	case name == "rm" && (option(args, 'r', "recursive") || option(args, 'R', "recursive")):
		return j.destroys(operands(args), "deletes")
	case name == "find" && slices.Contains(args, "-delete"):
		return j.destroys(findRoots(args), "deletes")
	case (name == "chmod" || name == "chown" || name == "chgrp") && option(args, 'R', "recursive"):
		return j.destroys(operands(args), "changes")
	case strings.HasPrefix(name, "mkfs") || slices.Contains([]string{"fdisk", "parted", "wipefs", "sfdisk"}, name):
		return "formats a disk"
	case name == "dd":
		return j.dd(args)
	case slices.Contains([]string{"shutdown", "reboot", "halt", "poweroff"}, name), (name == "init" || name == "telinit") && (first(args) == "0" || first(args) == "6"):
		return "stops the machine"
	case name == "kill" && (slices.Contains(args, "1") || len(args) > 1 && slices.Contains(args[1:], "-1")):
		return "ends every process, or the first one"
	case name == "su" && !j.sudo:
		return "acts as another user (policy.allow_sudo)"
	case name == "git":
		return j.git(all, args)
	}
	return j.writes(name, args)
}

var device = regexp.MustCompile(`^/dev/(sd|nvme|hd|vd|mmcblk|disk)`)

// maxPath is the longest remembered path of cd.
const maxPath = 512

// option reports whether an option is given, alone, among others in one word, or long.
func option(args []string, letter byte, long string) bool {
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

// findRoots returns the folders that find looks through: the words before its expression.
func findRoots(args []string) []string {
	args = afterOptions(args, "D")
	if end := slices.IndexFunc(args, func(w string) bool { return w == "(" || w == "!" || strings.HasPrefix(w, "-") }); end >= 0 {
		args = args[:end]
	}
	if len(args) == 0 {
		return []string{"."}
	}
	return args
}

// resolve returns the path of a word as a shell would, as far as possible.
func (j *judge) resolve(word string) string {
	home := j.home()
	for _, v := range []string{"~", "$HOME"} {
		if rest, ok := strings.CutPrefix(word, v); ok && (rest == "" || rest[0] == '/') {
			return filepath.Clean(home + rest)
		}
	}
	if rest, ok := strings.CutPrefix(word, "$PWD"); ok {
		word = "." + rest
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
func (j *judge) destroys(files []string, does string) string {
	for _, w := range files {
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
		if !option(args, 't', "target-directory") && len(names) > 1 {
			names = names[len(names)-1:]
		}
	case "sed", "perl":
		if !option(args, 'i', "in-place") {
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

// bare removes the words before the command itself: assignments, and programs that start another one. sudo reports whether it
// would change the user.
func bare(words []string) (rest []string, sudo bool) {
	for len(words) > 0 {
		name := path.Base(words[0])
		switch {
		case assignment.MatchString(words[0]):
			words = words[1:]
		case name == "sudo" || name == "doas":
			sudo = true
			words = afterOptions(words[1:], "ughpCTUrt")
		case name == "timeout":
			words = afterOptions(words[1:], "sk")
			if len(words) > 0 {
				words = words[1:]
			}
		case name == "nice":
			words = afterOptions(words[1:], "n")
		case name == "env":
			words = afterOptions(words[1:], "uC")
		case name == "stdbuf" || name == "ionice" || name == "exec":
			words = afterOptions(words[1:], "ioecnpa")
		case name == "nohup" || name == "time" || name == "command" || name == "builtin" || name == "setsid" || name == "busybox":
			words = afterOptions(words[1:], "")
		default:
			return words, sudo
		}
	}
	return words, sudo
}

var assignment = regexp.MustCompile(`^[A-Za-z_]\w*\+?=`)

// afterOptions leaves out options; those of one letter in valued take the next word.
func afterOptions(words []string, valued string) []string {
	for len(words) > 0 {
		w := words[0]
		if len(w) < 2 || w[0] != '-' {
			break
		}
		words = words[1:]
		if w == "--" {
			break
		}
		if len(w) == 2 && strings.Contains(valued, w[1:]) && len(words) > 0 {
			words = words[1:]
		}
	}
	return words
}

func first(words []string) string {
	if len(words) == 0 {
		return ""
	}
	return words[0]
}

// downloads reports whether a command loads or decodes a text that nobody has read.
func downloads(words []string) bool {
	switch path.Base(words[0]) {
	case "curl", "wget", "fetch", "aria2c":
		return true
	case "base64":
		return option(words[1:], 'd', "decode") || option(words[1:], 'D', "decode")
	}
	return false
}
