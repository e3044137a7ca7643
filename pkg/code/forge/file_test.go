package forge

import "testing"

// The web address of a file in a commit, with the form of each kind of forge.
func TestFilesOfACommitHaveAWebAddress(t *testing.T) {
	t.Parallel()
	for kind, want := range map[string]string{
		GitHub: "https://forge.example.com/team/app/blob/abc/shots/a%20b%23.png?raw=true",
		GitLab: "https://forge.example.com/team/app/-/raw/abc/shots/a%20b%23.png",
		Gitea:  "https://forge.example.com/team/app/raw/commit/abc/shots/a%20b%23.png",
	} {
		o := Options{Kind: kind, Web: "https://forge.example.com", Repo: "team/app"}
		if got := o.File("abc", "shots/a b#.png"); got != want {
			t.Errorf("%s: %s, want %s", kind, got, want)
		}
	}
}
