// Package integration is the integration branch of a project as this host sees it, here or on the remote over which work travels.
//
// A Branch finds the tip (TipHere, IntegrationHead), compares it with where the board says that Liza left it (Standing), brings what other
// hosts have merged (FollowRemote), and finds what a merge of a task would change on it (Proposal). It merges nothing, and it moves
// the branch only by a person's decision (PutBranch).
package integration
