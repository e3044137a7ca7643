package forge_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"liza/pkg/code/forge"
	"liza/pkg/code/forge/forgetest"
)

const hookSecret = "hook-secret-0123456789abcdef"

func TestOnlyCallsOfTheForgeAreRead(t *testing.T) {
	t.Parallel()
	f := forgetest.New(t)
	issue := f.AddIssue("Say hello", "text", "agents", "urgent")
	now := time.Now()
	proof := map[string]string{forge.GitHub: "X-Hub-Signature-256", forge.GitLab: "X-Gitlab-Token", forge.Gitea: "X-Gitea-Signature"}
	id := map[string]string{forge.GitHub: "X-GitHub-Delivery", forge.GitLab: "X-Gitlab-Event-UUID", forge.Gitea: "X-Gitea-Delivery"}
	for _, kind := range forge.HookKinds {
		for name, c := range map[string]struct {
			at     time.Time
			secret string
			change func(h http.Header, body []byte) []byte
			want   string // of the error; "": it is read
		}{
			"valid":               {now, hookSecret, nil, ""},
			"nine minutes old":    {now.Add(-9 * time.Minute), hookSecret, nil, ""},
			"clock a bit ahead":   {now.Add(4 * time.Minute), hookSecret, nil, ""},
			"too old":             {now.Add(-11 * time.Minute), hookSecret, nil, "older than"},
			"of the future":       {now.Add(6 * time.Minute), hookSecret, nil, "older than"},
			"another secret":      {now, "another", nil, "signature"},
			"without proof":       {now, hookSecret, func(h http.Header, b []byte) []byte { h.Del(proof[kind]); return b }, "signature"},
			"an empty proof":      {now, hookSecret, func(h http.Header, b []byte) []byte { h.Set(proof[kind], ""); return b }, "signature"},
			"a part of the proof": {now, hookSecret, func(h http.Header, b []byte) []byte { h.Set(proof[kind], h.Get(proof[kind])[:12]); return b }, "signature"},
			"another body":        {now, hookSecret, func(_ http.Header, b []byte) []byte { return []byte(strings.Replace(string(b), "hello", "bye", 1)) }, map[bool]string{true: "signature"}[kind != forge.GitLab]},
			"without an id":       {now, hookSecret, func(h http.Header, b []byte) []byte { h.Del(id[kind]); return b }, "no id"},
		} {
			header, body := f.Hook(kind, c.secret, "d-1", issue, c.at)
			if c.change != nil {
				body = c.change(header, body)
			}
			h, err := forge.ReadHook(kind, header, body, []byte(hookSecret), now)
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) || errors.Is(err, forge.ErrUnsigned) != (c.want == "signature") {
				t.Errorf("%s, %s: %v, want %q", kind, name, err, c.want)
			}
			if name == "valid" && (h.Repo != "team/greeter" || h.Issue != "1" || h.Title != "Say hello" || h.Closed || strings.Join(h.Labels, " ") != "agents urgent") {
				t.Errorf("%s: %+v", kind, h)
			}
		}
		for name, body := range map[string]string{"not JSON": "hello", "without a time": `{"repository": {"full_name": "a/b"}, "head_commit": {"timestamp": "2099-01-01T00:00:00Z"}}`,
			"without a repository": `{"pull_request": {"updated_at": "` + now.UTC().Format(time.RFC3339) + `"}}`} {
			header, _ := f.Hook(kind, hookSecret, "d-1", 0, now)
			sum := hmac.New(sha256.New, []byte(hookSecret))
			sum.Write([]byte(body))
			header.Set("X-Hub-Signature-256", "sha256="+hex.EncodeToString(sum.Sum(nil)))
			header.Set("X-Gitea-Signature", hex.EncodeToString(sum.Sum(nil)))
			if _, err := forge.ReadHook(kind, header, []byte(body), []byte(hookSecret), now); err == nil || errors.Is(err, forge.ErrUnsigned) {
				t.Errorf("%s, %s: %v", kind, name, err)
			}
		}
		header, body := f.Hook(kind, hookSecret, "d-1", 0, now)
		if h, err := forge.ReadHook(kind, header, body, []byte(hookSecret), now); err != nil || h.Issue != "" || h.Repo != "team/greeter" {
			t.Errorf("%s: about a request: %+v, %v", kind, h, err)
		}
		again, _ := forge.ReadHook(kind, header, body, []byte(hookSecret), now)
		header.Set(id[kind], "d-2")
		other, _ := forge.ReadHook(kind, header, body, []byte(hookSecret), now)
		if again.IDs[1] != other.IDs[1] || again.IDs[0] == other.IDs[0] {
			t.Errorf("%s: a call with another id is not known by its body: %q, %q", kind, again.IDs, other.IDs)
		}
	}
	if _, err := forge.ReadHook(forge.Jira, http.Header{}, nil, []byte(hookSecret), now); err == nil {
		t.Error("jira has webhooks")
	}
}
