// Package prompt writes the text that an agent starts with, within its budget.
//
// Build is a pure function: what it needs is in Input, gathered by the caller (Tree and
// RelevantFiles give it its form), and the same Input gives the same bytes. A prompt is a
// list of sections in the order of specs/roles-and-knowledge.md#2.2, so that what stays the same
// longest is first: two prompts of one role for different tasks begin with the same
// bytes. The text of the role comes first (package role); its Matrix says which kind of
// agent gets which piece of context (2.4), and a section whose piece a kind is denied is
// never even made. A template that prints a piece itself gets no second section of it.
// Each section has a limit, and when the whole is still too large, sections shrink in a
// fixed order (2.6); the role, the rules, the commands, the exit command, the task, its
// criteria and scope, a rejection and the run block never do.
//
// Text that people or programs outside of Liza produced is between fences whose token
// is a hash of the text (2.5), so that nothing inside can forge the end.
//
// The texts are files: rules/, commands/ and finish/, one for each kind of agent.
package prompt
