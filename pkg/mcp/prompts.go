package mcp

import (
	"cmp"
	"context"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"liza/pkg/blackboard"
	"liza/pkg/transition"
)

// addPrompts offers the prompt that an agent of a role would begin with; an agent gets that
// of its own role only (specs/roles-and-knowledge.md#2.4: who is told what).
func (o Options) addPrompts(s *sdk.Server) {
	offer := func(role blackboard.Role, name, about string, forTask bool) {
		if o.Role != "" && o.Role != role {
			return
		}
		p := &sdk.Prompt{Name: name, Description: about}
		if forTask {
			p.Arguments = []*sdk.PromptArgument{{Name: "task", Description: "id of the task", Required: o.Task == ""}}
		}
		s.AddPrompt(p, func(ctx context.Context, req *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
			task := "_planner"
			if forTask {
				task = cmp.Or(req.Params.Arguments["task"], o.Task)
			}
			return o.prompt(ctx, role, task, about)
		})
	}
	offer(blackboard.RolePlanner, "planner", "what the planner is told when it is woken now", false)
	offer(blackboard.RoleCoder, "coder", "what the next coder of a task is told", true)
	offer(blackboard.RoleReviewer, "code-reviewer", "what the next reviewer of a task is told", true)
}

func (o Options) prompt(ctx context.Context, role blackboard.Role, task, about string) (*sdk.GetPromptResult, error) {
	text, err := o.promptText(ctx, role, task)
	if err != nil {
		return nil, wireError(o.Explain(err))
	}
	return &sdk.GetPromptResult{Description: about, Messages: []*sdk.PromptMessage{{Role: "user", Content: &sdk.TextContent{Text: text}}}}, nil
}

func (o Options) promptText(ctx context.Context, role blackboard.Role, task string) (string, error) {
	if task == "" {
		return "", usage("liza status", "the prompt of a "+string(role)+" needs the argument task")
	}
	kind, text, err := o.Prompt(ctx, task)
	if err == nil && kind != role {
		err = &transition.Refusal{Exit: transition.ExitRefused, Next: "liza show " + task, Message: task + " waits for a " + string(kind) + " now, not for a " + string(role)}
	}
	return text, err
}
