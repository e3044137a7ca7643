package git

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
)

// folderSettings are the settings that a git folder of its own gets from the person's and the repository's
// configuration, because honest work differs without them. Everything else stays out: addresses (but for
// FolderSpec.Remotes; else noRemote), credentials, and what
// starts programs, hooks too, but for the filters in Repo.Filters, which run with the rights of the run.
var folderSettings = []struct{ key, reason string }{
	{"user.name", "who commits"},
	{"user.email", "who commits"},
	{"user.useconfigonly", "who commits"},
	{"i18n.commitencoding", "the encoding of messages"},
	{"core.autocrlf", "the ends of lines in files"},
	{"core.eol", "the ends of lines in files"},
	{"core.safecrlf", "the ends of lines in files"},
	{"core.filemode", "what the file system can keep"},
	{"core.symlinks", "what the file system can keep"},
	{"core.ignorecase", "what the file system can keep"},
	{"core.precomposeunicode", "what the file system can keep"},
	{"core.checkstat", "what counts as a change of a file"},
	{"core.trustctime", "what counts as a change of a file"},
	{"core.sparsecheckout", "which files are checked out"},
	{"core.sparsecheckoutcone", "which files are checked out"},
	{"index.sparse", "the index is a copy of the worktree's"},
	{"index.version", "the index is a copy of the worktree's"},
	{"core.untrackedcache", "the index is a copy of the worktree's"},
	{"core.splitindex", "the index is a copy of the worktree's"},
	{"core.bigfilethreshold", "which files are compared"},
	{"core.commentchar", "messages that begin with it"},
	{"core.whitespace", "what git calls an error of whitespace"},
	{"core.abbrev", "how commits are named in texts"},
	{"core.quotepath", "how files are named in texts"},
	{"diff.algorithm", "how differences look"},
	{"diff.renames", "how differences look"},
	{"diff.renamelimit", "how differences look"},
	{"merge.conflictstyle", "how conflicts look"},
	{"merge.renames", "what a merge finds"},
	{"merge.renamelimit", "what a merge finds"},
	{"blame.ignorerevsfile", "whose line it is"},
}

// noRemote is in the place of a remote's address where a run has none: git quotes it when it fetches or pushes. Without any
// remote models add one.
const noRemote = "/dev/null/liza: runs neither fetch nor push; Liza pushes what is approved"

// folderConfig is the configuration of a git folder of its own.
func (r *Repo) folderConfig(ctx context.Context, admin, worktree string, remotes bool) (string, error) {
	o, err := r.configured(ctx, admin, r.place.CommonDir)
	if err != nil {
		return "", err
	}
	values := o.effective()
	var keys []string
	for key := range values {
		name := driverName(key)
		filter := strings.HasPrefix(key, "filter.") && slices.Contains(r.Filters, name) && values[key] != ""
		remote := remotes && strings.HasPrefix(key, "remote.") && slices.ContainsFunc([]string{".url", ".pushurl", ".fetch"}, func(end string) bool { return strings.HasSuffix(key, end) })
		if !remotes && strings.HasPrefix(key, "remote.") && strings.HasSuffix(key, ".url") {
			remote, values[key] = true, noRemote
		}
		if filter || remote || slices.ContainsFunc(folderSettings, func(s struct{ key, reason string }) bool { return s.key == key }) {
			keys = append(keys, key)
		}
	}
	for key := range values { // without their addresses
		if name, ok := strings.CutSuffix(key, ".url"); ok && strings.HasPrefix(key, "submodule.") {
			keys, values[name+".active"] = append(keys, name+".active"), "true"
		}
	}
	version := "0"
	if values["extensions.objectformat"] != "" {
		version, keys = "1", append(keys, "extensions.objectformat")
	}
	set := map[string]string{"core.repositoryformatversion": version, "core.bare": "false", "core.logallrefupdates": "true", "gc.autodetach": "false", "core.hookspath": os.DevNull}
	for key, value := range set {
		keys, values[key] = append(keys, key), value
	}
	if worktree != "" {
		keys, values["core.worktree"] = append(keys, "core.worktree"), worktree
	}
	slices.Sort(keys)
	var b strings.Builder
	for _, key := range slices.Compact(keys) {
		b.WriteString(setting(key, values[key]))
	}
	return b.String(), nil
}

// effective is what each key has after our own settings.
func (o overrides) effective() map[string]string {
	values, own := map[string]string{}, map[string]string{}
	for _, one := range o.all {
		values[one[0]] = one[1]
	}
	for _, variable := range o.env {
		name, value, _ := strings.Cut(variable, "=")
		own[name] = value
	}
	for _, option := range o.options {
		setting := strings.TrimPrefix(option, "--config-env=")
		at := strings.LastIndexByte(setting, '=')
		values[setting[:at]] = own[setting[at+1:]]
	}
	return values
}

// setting is one setting as git's file of configuration has it.
func setting(key, value string) string {
	section, rest, _ := strings.Cut(key, ".")
	name := rest
	if at := strings.LastIndexByte(rest, '.'); at >= 0 {
		section, name = fmt.Sprintf("%s %s", section, quoted(rest[:at])), rest[at+1:]
	}
	return fmt.Sprintf("[%s]\n\t%s = %s\n", section, name, quoted(value))
}

func quoted(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`).Replace(text) + `"`
}
