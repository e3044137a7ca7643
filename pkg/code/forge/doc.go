// Package forge talks to the places where teams keep their repositories: GitHub, GitLab and Gitea (and Forgejo, whose API is Gitea's).
//
// A Client knows pull or merge requests ("requests" here), the checks of a commit with their logs, comments, and issues. It speaks plain
// HTTP: of the APIs some twenty calls each are used, and the clients that the forges offer bring thousands, with a
// library and a way of paging, waiting and failing of their own for each.
//
// The rules that hold for every call: answers and pages are bounded; a rate limit is waited for when that is short, else it is a *LimitError;
// reads are repeated after a failure of the server, writes never, because nobody knows whether they were carried out (callers
// look for what they wrote by branch and marker); the token goes to the host that it is for and never to another one.
package forge
