// Package mcp offers the verbs and the read views to programs that speak the Model Context Protocol: `liza mcp`, a server on
// stdin and stdout.
//
// It has no rules of its own. A tool parses its arguments, calls one method of verb.Service, the same as the command of that
// name, and returns the result in the form of --json: {"ok": true, "result": …} or {"ok": false, "error": {"code", "message",
// "next"}}. The service's Caller identifies the caller, and each call is checked again inside its write, so a server that
// outlives its run is refused like any late command.
//
// Names to know: Serve, and Options with the caller. The tools of an agent depend on its role; a person gets all. tools.go
// has the tools as tables, serve.go the resources under liza:// and the prompts of the roles.
package mcp
