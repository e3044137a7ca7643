package e2e_test

import (
	"encoding/json"
	"net/http"
	"strings"
)

var gemini = dialect{name: "gemini generateContent", read: readGemini, stream: streamGemini, whole: wholeGemini, refuse: refuseGemini}

func readGemini(req *http.Request, body []byte) (request, error) {
	var in struct {
		Contents []struct {
			Role  string `json:"role"`
			Parts []struct {
				Text     string          `json:"text"`
				Response json.RawMessage `json:"functionResponse"`
			} `json:"parts"`
		} `json:"contents"`
		Tools []struct {
			Functions []struct {
				Name       string `json:"name"`
				Parameters schema `json:"parameters"`
				JSONSchema schema `json:"parametersJsonSchema"`
			} `json:"functionDeclarations"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return request{}, err
	}
	_, rest, _ := strings.Cut(req.URL.Path, "/models/")
	model, method, _ := strings.Cut(rest, ":")
	r := request{model: model, stream: method == "streamGenerateContent"}
	for _, c := range in.Contents {
		if c.Role == "model" {
			continue
		}
		for _, p := range c.Parts {
			r.turns = append(r.turns, turn{text: p.Text, result: len(p.Response) > 0})
		}
	}
	for _, t := range in.Tools {
		for _, f := range t.Functions {
			s := f.Parameters
			if len(s.Properties) == 0 {
				s = f.JSONSchema
			}
			r.tools = append(r.tools, tool{name: f.Name, schema: s})
		}
	}
	return r, nil
}

func geminiChunk(r request, a answer, part map[string]any, finish string) map[string]any {
	candidate := map[string]any{"index": 0, "content": map[string]any{"role": "model", "parts": []any{part}}}
	if finish != "" {
		candidate["finishReason"] = finish
	}
	return map[string]any{"candidates": []any{candidate}, "modelVersion": r.model, "responseId": "resp-" + a.id,
		"usageMetadata": map[string]any{"promptTokenCount": tokensIn, "candidatesTokenCount": tokensOut, "totalTokenCount": tokensIn + tokensOut}}
}

func wholeGemini(r request, a answer) any {
	if a.tool != "" {
		return geminiChunk(r, a, map[string]any{"functionCall": map[string]any{"name": a.tool, "args": a.args}}, "STOP")
	}
	return geminiChunk(r, a, map[string]any{"text": a.text}, a.stop("STOP", "MAX_TOKENS"))
}

func streamGemini(r request, a answer) []event {
	if a.tool != "" {
		return []event{{data: wholeGemini(r, a)}}
	}
	var out []event
	parts := halves(a.text)
	for i, p := range parts {
		finish := ""
		if i == len(parts)-1 {
			finish = a.stop("STOP", "MAX_TOKENS")
		}
		out = append(out, event{data: geminiChunk(r, a, map[string]any{"text": p}, finish)})
	}
	return out
}

func refuseGemini(f failure) any {
	status := map[int]string{400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 429: "RESOURCE_EXHAUSTED", 529: "UNAVAILABLE"}[f.status]
	message := map[string]string{
		"401":      "API key not valid. Please pass a valid API key.",
		"529":      "The model is overloaded. Please try again later.",
		"overflow": "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
		"quota":    "You exceeded your current quota, please check your plan and billing details. Quota exceeded for metric: requests per day.",
	}[f.name]
	e := map[string]any{"code": f.status, "status": status, "message": orElse(message, "Resource has been exhausted (e.g. check quota).")}
	const google = "type.googleapis.com/google.rpc."
	switch {
	case f.name == "quota":
		e["details"] = []any{map[string]any{"@type": google + "QuotaFailure", "violations": []any{map[string]any{
			"quotaMetric": "generate_requests", "quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier"}}}}
	case f.retryAfter != "":
		e["details"] = []any{map[string]any{"@type": google + "RetryInfo", "retryDelay": f.retryAfter + "s"}}
	}
	return map[string]any{"error": e}
}
