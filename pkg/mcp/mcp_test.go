package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// echo is an offer whose tool tells what it was given.
func echo() Offer {
	return Offer{Name: "test", Version: "1",
		Tools: []Tool{{Name: "echo", Help: "says it again", ReadOnly: true,
			Arguments: []Argument{{Name: "word", Help: "what", Kind: Text, Required: true, OneOf: []string{"a", "b"}}, {Name: "times", Kind: Number}, {Name: "loud", Kind: Flag}, {Name: "more", Kind: Texts}, {Name: "any", Kind: Any}},
			Call: func(_ context.Context, given map[string]json.RawMessage) (json.RawMessage, bool) {
				out, err := json.Marshal(map[string]any{"ok": true, "result": given})
				return out, err != nil || string(given["loud"]) == "true"
			}}},
		Resources: []Resource{
			{URI: "x://one", Name: "one", MIME: "text/plain", Read: func(context.Context, string) (string, error) { return "the one", nil }},
			{URI: "x://of/{id}", Name: "of", Read: func(_ context.Context, id string) (string, error) {
				if id == "gone" {
					return "", errors.New("there is no such thing")
				}
				return "of " + id, nil
			}}},
		Prompts: []Prompt{{Name: "begin", Arguments: []Argument{{Name: "task", Required: true}}, Text: func(_ context.Context, given map[string]string) (string, error) { return "Do " + given["task"], nil }}},
	}
}

// connect talks to a server of that offer.
func connect(t *testing.T, o Offer) *sdk.ClientSession {
	t.Helper()
	toServer, fromClient := io.Pipe()
	toClient, fromServer := io.Pipe()
	done := make(chan error, 1)
	go func() { done <- Serve(t.Context(), toServer, fromServer, o) }()
	session, err := sdk.NewClient(&sdk.Implementation{Name: "client"}, nil).Connect(t.Context(), &sdk.IOTransport{Reader: toClient, Writer: fromClient}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = session.Close()
		_ = fromClient.Close()
		if err := <-done; err != nil {
			t.Errorf("the server ended with: %v", err)
		}
	})
	return session
}

func TestAClientListsCallsAndReads(t *testing.T) {
	t.Parallel()
	c := connect(t, echo())
	tools, err := c.ListTools(t.Context(), nil)
	if err != nil || len(tools.Tools) != 1 || tools.Tools[0].Name != "echo" || !tools.Tools[0].Annotations.ReadOnlyHint {
		t.Fatalf("tools: %+v, %v", tools, err)
	}
	schema, err := json.Marshal(tools.Tools[0].InputSchema)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"required":["word"]`, `"enum":["a","b"]`, `"type":"integer"`, `"type":"boolean"`, `"items":{"type":"string"}`, `"additionalProperties":false`} {
		if !strings.Contains(string(schema), want) {
			t.Errorf("the schema lacks %s: %s", want, schema)
		}
	}
	r, err := c.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "x://of/task-1"})
	if err != nil || r.Contents[0].Text != "of task-1" {
		t.Errorf("resource: %+v, %v", r, err)
	}
	if _, err := c.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "x://of/gone"}); err == nil || !strings.Contains(err.Error(), "there is no such thing") {
		t.Errorf("a resource that is not there: %v", err)
	}
	p, err := c.GetPrompt(t.Context(), &sdk.GetPromptParams{Name: "begin", Arguments: map[string]string{"task": "it"}})
	if err != nil || p.Messages[0].Content.(*sdk.TextContent).Text != "Do it" {
		t.Errorf("prompt: %+v, %v", p, err)
	}
	if _, err := c.GetPrompt(t.Context(), &sdk.GetPromptParams{Name: "begin"}); err == nil || !strings.Contains(err.Error(), "needs the argument 'task'") {
		t.Errorf("a prompt without its argument: %v", err)
	}
}

func TestArgumentsAreCheckedBeforeTheCall(t *testing.T) {
	t.Parallel()
	c := connect(t, echo())
	for _, x := range []struct {
		given map[string]any
		want  string // in the answer
		fails bool
	}{
		{map[string]any{"word": "a", "times": 2, "more": []string{"x"}, "any": map[string]any{"k": 1}}, `"times":2`, false},
		{map[string]any{"word": "a", "more": nil}, `"word":"a"`, false},
		{map[string]any{"word": "a", "loud": true}, `"loud":true`, true},
		{map[string]any{}, "echo needs the argument 'word'", true},
		{map[string]any{"word": nil}, "echo needs the argument 'word'", true},
		{map[string]any{"word": "c"}, "must be one of a, b", true},
		{map[string]any{"word": 1}, "must be a text", true},
		{map[string]any{"word": "a", "times": 1.5}, "must be a whole number", true},
		{map[string]any{"word": "a", "more": "x"}, "must be a list of texts", true},
		{map[string]any{"word": "a", "loud": "yes"}, "must be true or false", true},
		{map[string]any{"word": "a", "wrod": "a"}, "echo has no argument 'wrod'; it takes word, times, loud, more, any", true},
	} {
		r, err := c.CallTool(t.Context(), &sdk.CallToolParams{Name: "echo", Arguments: x.given})
		if err != nil {
			t.Fatalf("%v: %v", x.given, err)
		}
		text := r.Content[0].(*sdk.TextContent).Text
		if r.IsError != x.fails || !strings.Contains(text, x.want) {
			t.Errorf("%v: failed %v, %s; want %q", x.given, r.IsError, text, x.want)
		}
		if structured, err := json.Marshal(r.StructuredContent); err != nil || !bytes.Contains(structured, []byte(`"ok"`)) {
			t.Errorf("%v: structured %s, %v", x.given, structured, err)
		}
	}
}

// Whoever pipes requests into the server and ends the input gets all answers, in order.
func TestEveryRequestIsAnsweredInOrderBeforeTheEnd(t *testing.T) {
	t.Parallel()
	var in strings.Builder
	in.WriteString(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}` + "\n" +
		`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n")
	const calls = 50
	for n := 1; n <= calls; n++ {
		fmt.Fprintf(&in, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"echo","arguments":{"word":"a"}}}`+"\n", n)
	}
	var out bytes.Buffer
	if err := Serve(t.Context(), strings.NewReader(strings.TrimSuffix(in.String(), "\n")), &out, echo()); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != calls+1 {
		t.Fatalf("%d answers to %d requests:\n%s", len(lines), calls+1, out.String())
	}
	for n, line := range lines {
		if !strings.HasPrefix(line, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result"`, n)) {
			t.Errorf("answer %d is %s", n, line)
		}
	}
}

func TestWhatIsNoMessageEndsTheConversationWithASentence(t *testing.T) {
	t.Parallel()
	err := Serve(t.Context(), strings.NewReader("hello\n"), io.Discard, echo())
	if err == nil || !strings.HasPrefix(err.Error(), "cannot go on with the conversation: ") {
		t.Errorf("got %v", err)
	}
}

func TestAConversationThatIsStoppedEndsWithoutAnError(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	in, client := io.Pipe()
	defer client.Close()
	done := make(chan error, 1)
	go func() { done <- Serve(ctx, in, io.Discard, echo()) }()
	stop()
	if err := <-done; err != nil {
		t.Errorf("got %v", err)
	}
}
