package git

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// foreignSettings are settings of a repository that make git start programs, or that change the view of its commands. Agents
// can write them, so Liza's git sets each: to the value of the person's own configuration, else to a neutral one. A
// configuration chooses the names of its drivers: * stands for any name.
var foreignSettings = []struct {
	key     string
	neutral string
	never   bool // also when it is in the person's configuration: only a repository's attributes choose it
}{
	{"filter.*.clean", "", true},
	{"filter.*.smudge", "", true},
	{"filter.*.process", "", true},
	{"filter.*.required", "false", true},
	{"merge.*.driver", textMerge, true},
	{"merge.*.recursive", "text", true},
	{"merge.default", "text", false},
	{"diff.*.command", "", false}, // besides --no-ext-diff
	{"diff.*.textconv", "", false},
	{"diff.external", "", false},
	{"core.attributesfile", os.DevNull, false},
	{"core.sshcommand", "ssh", false},
	{"core.gitproxy", "", false},
	{"core.alternaterefscommand", "true", false},
	{"core.askpass", "true", false},
	{"core.pager", "cat", false},
	{"core.editor", "true", false},
	{"sequence.editor", "true", false},
	{"core.ignorestat", "false", false},
	{"log.showsignature", "false", false},
	{"commit.gpgsign", "false", false},
	{"gpg.program", "false", false},
	{"gpg.*.program", "false", false},
	{"gpg.ssh.defaultkeycommand", "false", false},
	{"credential.helper", "", false}, // an empty one clears the list
	{"credential.*.helper", "", false},
	{"protocol.allow", "", false},
	{"protocol.ext.allow", "never", false},
	{"remote.*.uploadpack", "git-upload-pack", false},
	{"remote.*.receivepack", "git-receive-pack", false},
	{"remote.*.vcs", "", false},
	{"submodule.*.update", "checkout", false},
	{"trailer.*.command", "", false},
	{"trailer.*.cmd", "", false},
}

// textMerge is git's own merge of texts, said as a driver: a driver cannot be unset, and an empty one takes our side.
const textMerge = "git merge-file --quiet --marker-size=%L %A %O %B"

// lfs is the program that nearly every repository with a filter uses; it needs no configuration of anybody.
var lfs = map[string]string{
	"filter.lfs.clean": "git-lfs clean -- %f", "filter.lfs.smudge": "git-lfs smudge -- %f",
	"filter.lfs.process": "git-lfs filter-process", "filter.lfs.required": "true",
}

// configured reads the configuration of a git folder, which keeps the repository's programs out of a command there. It asks
// git once, and again when a file of the repository's or the person's configuration has changed.
func (r *runner) configured(ctx context.Context, gitDir, common string) (overrides, error) {
	r.drivers.mu.Lock()
	defer r.drivers.mu.Unlock()
	if _, err := os.Lstat(filepath.Join(gitDir, "config.worktree")); errors.Is(err, fs.ErrNotExist) {
		gitDir = common // each task has a new folder: what they share is read once
	}
	files := r.configFiles(gitDir, common)
	if o, ok := r.drivers.known[gitDir]; ok && o.files == files {
		return o, nil
	}
	out, err := r.start(ctx, call{args: []string{"config", "--list", "--show-scope", "-z"}}, nil, gitFolders(gitDir, common, ""))
	if err != nil {
		return overrides{}, fmt.Errorf("cannot read the configuration of the repository: %w", err)
	}
	o := overridesOf(out, r.Filters)
	if files != r.configFiles(gitDir, common) || strings.Contains(strings.ToLower(out), "\nlocal\x00include") ||
		strings.Contains(strings.ToLower(out), "\x00local\x00include") || strings.HasPrefix(strings.ToLower(out), "local\x00include") {
		files = "changing" // files that it includes are looked at each time
	}
	o.files = files
	if r.drivers.known == nil || len(r.drivers.known) > 1000 {
		r.drivers.known = map[string]overrides{}
	}
	r.drivers.known[gitDir] = o
	return o, nil
}

// configFiles is the state of the files of configuration: the repository's own and the person's.
func (r *runner) configFiles(gitDir, common string) string {
	home, xdg := "", ""
	paths := []string{filepath.Join(common, "config"), filepath.Join(common, "config.worktree"), filepath.Join(gitDir, "config.worktree")}
	for _, variable := range r.env {
		switch name, value, _ := strings.Cut(variable, "="); name {
		case "HOME":
			home = value
		case "XDG_CONFIG_HOME":
			xdg = value
		case "GIT_CONFIG_GLOBAL":
			paths = append(paths, value)
		}
	}
	paths = append(paths, filepath.Join(home, ".gitconfig"), filepath.Join(cmp.Or(xdg, filepath.Join(home, ".config")), "git", "config"))
	var b strings.Builder
	for _, file := range paths {
		if info, err := os.Stat(file); err == nil {
			fmt.Fprintf(&b, "%d %d %v\n", info.Size(), info.ModTime().UnixNano(), inode(info))
		} else {
			b.WriteString("-\n")
		}
	}
	return b.String()
}

// overridesOf reads git's list "scope NUL key LF value NUL".
func overridesOf(list string, allowed []string) overrides {
	repository, person := map[string]string{}, map[string]string{}
	var all [][2]string
	parts := fields(list)
	for i := 0; i+1 < len(parts); i += 2 {
		key, value, _ := strings.Cut(parts[i+1], "\n")
		all = append(all, [2]string{key, value})
		if parts[i] == "local" || parts[i] == "worktree" {
			repository[key] = value
		} else {
			person[key] = value
		}
	}
	o := overrides{all: all}
	set := func(key, value string) {
		name := fmt.Sprintf("LIZA_GIT_%d", len(o.env)) // not with -c: a name may have an equals sign
		o.options, o.env = append(o.options, "--config-env="+key+"="+name), append(o.env, name+"="+value)
	}
	for _, f := range foreignSettings {
		for _, key := range matching(f.key, repository, person) {
			_, ours := repository[key]
			value, own := person[key]
			switch name := driverName(key); {
			case strings.HasPrefix(key, "filter.") && slices.Contains(allowed, name):
				if standard, known := lfs[key]; own && ours {
					set(key, value)
				} else if known && ours {
					set(key, standard)
				}
			case f.never:
				neutral := f.neutral
				if key == "merge.union.driver" {
					neutral = strings.Replace(neutral, "--quiet", "--quiet --union", 1)
				}
				set(key, neutral)
			case ours && own:
				set(key, value)
			case ours:
				set(key, f.neutral)
			}
		}
	}
	return o
}

// matching are the keys of both that a pattern stands for, in order.
func matching(pattern string, both ...map[string]string) []string {
	section, rest, _ := strings.Cut(pattern, ".")
	name, wild := strings.CutPrefix(rest, "*.")
	var keys []string
	for _, settings := range both {
		for key := range settings {
			if key == pattern || wild && strings.HasPrefix(key, section+".") && strings.HasSuffix(key, "."+name) && len(key) > len(section)+len(name)+2 {
				keys = append(keys, key)
			}
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// driverName is the middle of a key: lfs of filter.lfs.clean.
func driverName(key string) string {
	_, rest, _ := strings.Cut(key, ".")
	return strings.TrimSuffix(rest, path.Ext(rest))
}

// gitFolders names the folders of a repository, so that git neither looks for them nor believes the files in which
// they are named: agents can write those.
func gitFolders(gitDir, common, worktree string) []string {
	env := []string{"GIT_DIR=" + gitDir, "GIT_COMMON_DIR=" + common}
	if worktree != "" {
		env = append(env, "GIT_WORK_TREE="+worktree)
	}
	return env
}
