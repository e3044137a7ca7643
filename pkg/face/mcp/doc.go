// Package mcp offers the verbs and the read views to programs that speak the Model Context
// Protocol: `liza mcp`, a server on stdin and stdout.
//
// It has no rules of its own. A tool parses its arguments, calls one method of verb.Service, the
// same as the command of that name, and shows what came of it in the form of --json:
// {"ok": true, "result": …} or {"ok": false, "error": {"code", "message", "next"}}. Who calls
// is what the service's Caller says, and each call is checked again inside the write that it asks
// for, so a server that outlives its run is refused like any late command.
//
// Names to know: Serve, and Options, which says who is served. What an agent is offered
// depends on its role; a person gets everything. tools.go holds the tools as tables,
// serve.go what can be read under liza:// and the prompts of the roles.
package mcp
