package verb

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"liza/pkg/git"
	"liza/pkg/project"
)

// SpecCommitted refuses a spec file that is not committed as it stands: agents work in worktrees,
// which have what commits have and nothing else.
func SpecCommitted(ctx context.Context, p *project.Project, repo *git.Repo, spec string) error {
	spec, _, _ = strings.Cut(spec, "#")
	spec = filepath.ToSlash(filepath.Clean(spec))
	how, err := repo.Uncommitted(ctx, spec)
	if err != nil {
		return err
	}
	if real, err := SpecFile(p.Root, spec); how == "" && err == nil { // behind a symbolic link
		root, _ := filepath.EvalSymlinks(p.Root)
		if rel, err := filepath.Rel(root, real); err == nil && filepath.ToSlash(rel) != spec {
			spec = filepath.ToSlash(rel)
			if how, err = repo.Uncommitted(ctx, spec); err != nil {
				return err
			}
		}
	}
	file, why, force := quoted(spec), "it is not committed", ""
	switch how {
	case "":
		return nil
	case git.Ignored:
		why, force = "git ignores it", " --force"
	case git.Modified:
		why = "it has changes that are not committed"
	}
	return Refuse("git add"+force+" "+file+" && git commit -m 'Write the spec' -- "+file,
		"agents would not see the spec file %s as it stands: %s, and their worktrees have only what is committed", spec, why)
}

// quoted is a path as a shell takes it for one word.
func quoted(path string) string {
	if strings.ContainsFunc(path, func(r rune) bool {
		return !strings.ContainsRune("/._-+,@%", r) && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') && r < 0x80
	}) {
		return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
	}
	return path
}

// KeepSettings commits what people write in .liza, and nothing of the board.
const KeepSettings = "git add .liza && git commit -m 'Settings of Liza' -- .liza"

// SettingsKept reports whether what people write in .liza is committed: git clean -fdx takes the rest away. Without a
// settings file there is nothing to keep.
func SettingsKept(ctx context.Context, p *project.Project, repo *git.Repo) (bool, error) {
	for _, name := range []string{"config.yaml", "config.json"} {
		if _, err := os.Lstat(filepath.Join(p.Liza, name)); err != nil {
			continue // there are the defaults
		}
		how, err := repo.Uncommitted(ctx, filepath.Join(".liza", name))
		if err != nil || how == git.Untracked || how == git.Ignored {
			return false, err
		}
	}
	return true, nil
}
