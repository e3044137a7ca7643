package dashboard

import (
	"net/url"
	"strings"
)

// forges are the hosts whose pages of commits are known, with what is between the address of the repository and the commit.
var forges = []struct{ host, between string }{
	{"github.com", "/commit/"}, {"gitlab.com", "/-/commit/"}, {"codeberg.org", "/commit/"}, {"bitbucket.org", "/commits/"}, {"git.sr.ht", "/commit/"},
}

// CommitPages is the beginning of the addresses of the pages that a forge has for commits, from the address of a remote; "" when
// the host is not known. Names and passwords of the address are left out.
func CommitPages(remote string) string {
	if !strings.Contains(remote, "://") { // git@host:owner/name.git
		host, path, ok := strings.Cut(remote, ":")
		if !ok || strings.Contains(host, "/") {
			return ""
		}
		remote = "ssh://" + host + "/" + strings.TrimPrefix(path, "/")
	}
	u, err := url.Parse(remote)
	if err != nil {
		return ""
	}
	path := strings.TrimSuffix(strings.Trim(u.Path, "/"), ".git")
	for _, f := range forges {
		if f.host == strings.ToLower(u.Hostname()) && strings.Contains(path, "/") {
			return (&url.URL{Scheme: "https", Host: f.host, Path: "/" + path + f.between}).String()
		}
	}
	return ""
}
