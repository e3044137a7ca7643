package assembly

import (
	"strconv"

	"liza/pkg/board/config"
	"liza/pkg/run/agent"
)

// Programs are the entries that the settings of a project add to the catalogue, or change.
func Programs(cfg *config.Config) map[string]agent.Entry {
	all := map[string]agent.Entry{}
	for name, a := range cfg.Agents.Custom {
		s := a.Signatures
		e := agent.Entry{Provider: a.Provider, Command: a.Command, Prompt: a.Prompt, LongPrompt: a.LongPrompt, Output: a.Output, Answer: a.Answer, Model: a.Model,
			Resume: a.Resume, ResumeCommand: a.ResumeCommand, Interactive: a.Interactive, MCP: a.MCP, Env: a.Env, RootEnv: a.RootEnv, Unset: a.Unset,
			Version: a.Version, Help: a.Help, Needs: a.Needs, RestartCode: a.RestartCode, EndGrace: a.EndGrace, SessionUsage: a.SessionUsage,
			ExitCodes: map[int]agent.Outcome{}, Signatures: map[string][]string{
				"context_full": s.ContextFull, "stopped": s.Stopped, "reask": s.Reask, "unusable": s.Unusable, "quota": s.Quota,
				"rate_limit": s.RateLimit, "overloaded": s.Overloaded, "network": s.Network, "no_session": s.NoSession,
			}}
		for code, class := range a.ExitCodes {
			n, err := strconv.Atoi(code)
			if err != nil {
				n = -1 // refused with the entry, by name
			}
			e.ExitCodes[n] = agent.Outcome(class)
		}
		all[name] = e
	}
	return all
}
