package prompt

import (
	"embed"
	"io/fs"
	"strings"
)

//go:embed rules/*.md commands/*.md finish/*.md
var files embed.FS

// text is the content of an embedded file; one that is missing is a programmer's error.
func text(name string) string {
	data, err := fs.ReadFile(files, name)
	if err != nil {
		panic("prompt: no embedded text " + name)
	}
	return strings.TrimSpace(string(data))
}

// roleText is the role body: the first section of a prompt.
func (in *Input) roleText() string { return in.rendered }

// rules is the contract of the kind (specs/roles-and-knowledge.md#2.7).
func (in *Input) rules() string {
	own := text("rules/" + string(in.Kind) + ".md")
	if in.Kind == Messenger || in.Kind == Summarizer { // they have no commands and no identity
		return text("rules/helper.md") + "\n" + own
	}
	last := "alone"
	if in.Interactive {
		last = "interactive"
	}
	return text("rules/all.md") + "\n" + own + "\n" + text("rules/"+last+".md")
}

// commands are the verbs of the kind, with an example each (specs/cli.md#3, specs/decisions.md#D26).
func (in *Input) commands() string {
	return text("commands/intro.md") + "\n\n" + text("commands/"+string(in.Kind)+".md")
}

// finish is the exit command of the kind (specs/roles-and-knowledge.md#4.1); a summarizer gives
// either a summary or facts.
func (in *Input) finish() string {
	name := string(in.Kind)
	if in.Interactive {
		return text("finish/interactive-" + name + ".md")
	}
	if in.Kind == Summarizer {
		name += "-summary"
		if in.Shorten != nil && in.Shorten.Facts {
			name = string(in.Kind) + "-facts"
		}
	}
	return text("finish/all.md") + "\n" + text("finish/"+name+".md")
}

func (in *Input) instructions() string { return in.Instructions }

func (in *Input) repository() string { return in.RepoTree }

func (in *Input) skills() string { return in.Skills }
