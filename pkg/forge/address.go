package forge

import (
	"fmt"
	"net/url"
	"strings"
)

// Locate reads the address of a git remote: the host's web address, the repository's path, and the kind of forge when the host is
// one that everybody knows. Names and passwords in the address are left out.
func Locate(remote string) (host, repo, kind string, err error) {
	given := remote
	if !strings.Contains(remote, "://") { // git@host:owner/name.git
		before, path, ok := strings.Cut(remote, ":")
		if !ok || strings.Contains(before, "/") {
			return "", "", "", fmt.Errorf("the remote %s is not on a forge", given)
		}
		remote = "ssh://" + before + "/" + strings.TrimPrefix(path, "/")
	}
	u, err := url.Parse(remote)
	if err != nil || u.Hostname() == "" {
		return "", "", "", fmt.Errorf("the address of the remote is not understood")
	}
	repo = strings.TrimSuffix(strings.Trim(u.Path, "/"), ".git")
	if !strings.Contains(repo, "/") {
		return "", "", "", fmt.Errorf("the remote at %s names no owner and repository", u.Hostname())
	}
	scheme, at := "https", u.Hostname()
	if u.Scheme == "http" || u.Scheme == "https" {
		scheme, at = u.Scheme, u.Host
	}
	switch name := strings.ToLower(u.Hostname()); {
	case name == "github.com":
		kind = GitHub
	case name == "gitlab.com" || strings.HasPrefix(name, "gitlab."):
		kind = GitLab
	case name == "codeberg.org" || name == "gitea.com" || strings.HasPrefix(name, "gitea."):
		kind = Gitea
	}
	return scheme + "://" + at, repo, kind, nil
}

// API is the address of the API of a forge, from its web address.
func API(kind, host string) string {
	host = strings.TrimSuffix(host, "/")
	switch {
	case kind == GitHub && host == "https://github.com":
		return "https://api.github.com"
	case kind == Jira:
		return host
	case kind == Linear:
		return "https://api.linear.app"
	case kind == GitHub:
		return host + "/api/v3"
	case kind == GitLab:
		return host + "/api/v4"
	}
	return host + "/api/v1"
}

// TokenVariables are the variables of the environment in which each kind of forge's token is looked for, in this order.
func TokenVariables(kind string) []string {
	switch kind {
	case GitHub:
		return []string{"GITHUB_TOKEN", "GH_TOKEN"}
	case GitLab:
		return []string{"GITLAB_TOKEN"}
	case Jira:
		return []string{"JIRA_TOKEN", "JIRA_API_TOKEN"}
	case Linear:
		return []string{"LINEAR_TOKEN", "LINEAR_API_KEY"}
	}
	return []string{"GITEA_TOKEN"}
}

// TokenCommand is the forge's own command line that prints the token for a host, nil when there is none.
func TokenCommand(kind, host string) []string {
	u, err := url.Parse(host)
	switch {
	case err != nil:
		return nil
	case kind == GitHub:
		return []string{"gh", "auth", "token", "--hostname", u.Hostname()}
	case kind == GitLab:
		return []string{"glab", "config", "get", "token", "--host", u.Hostname()}
	}
	return nil
}
