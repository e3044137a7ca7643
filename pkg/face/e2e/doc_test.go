// Package e2e_test drives the agent programs that people have, installed from their packages,
// through whole sprints and through the failures of a provider (issue "Real agent programs").
// The models behind them are a scripted server on loopback, so nothing needs a key or costs
// anything.
//
// What needs no program is tested by `go test ./...`: the server speaks the four dialects as
// the providers document them. What needs programs has the build tag e2e and runs by
// `make e2e-agents`, which installs them first.
//
//   - server: the HTTP side; keeps each question, answers by a script, breaks on demand.
//   - dialect: Anthropic Messages, OpenAI Chat Completions, OpenAI Responses, Gemini.
//   - sprint: what the model does as planner, coder and code reviewer.
//   - program: how one real program is sent to the server.
package e2e_test
