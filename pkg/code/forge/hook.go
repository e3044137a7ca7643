package forge

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// HookKinds are the forges whose webhooks ReadHook understands.
var HookKinds = []string{GitHub, GitLab, Gitea}

// HookAge is how old an event may be, and HookAhead how far the clock of the forge may be ahead.
const (
	HookAge   = 10 * time.Minute
	HookAhead = 5 * time.Minute
)

// ErrUnsigned is a call whose sender does not know the secret, or whose body is not the one that was signed.
var ErrUnsigned = errors.New("the signature or the token is missing or wrong")

// A Hook is a call of a webhook whose sender knows the secret.
type Hook struct {
	Kind   string
	Repo   string
	IDs    [2]string // of the delivery and of its content: a call with one of them is a replay
	Issue  string    // number of the issue that it is about; "": of none
	Title  string    // of the issue
	Closed bool      // the issue
	Labels []string  // of the issue
	Ping   bool      // the forge tries whether somebody answers
}

// hookBody is what the events of the three forges tell; project and object_attributes are GitLab's.
type hookBody struct {
	Repository struct {
		FullName string `json:"full_name"`
	} `json:"repository"`
	Project struct {
		Path string `json:"path_with_namespace"`
	} `json:"project"`
	Issue struct {
		Number int                     `json:"number"`
		Title  string                  `json:"title"`
		State  string                  `json:"state"`
		Labels []struct{ Name string } `json:"labels"`
	} `json:"issue"`
	Attributes struct {
		IID    int                      `json:"iid"`
		Title  string                   `json:"title"`
		State  string                   `json:"state"`
		Labels []struct{ Title string } `json:"labels"`
	} `json:"object_attributes"`
}

// ReadHook checks who made a call and how old its event is, and returns what it is about. GitHub and Gitea sign the body with the
// secret, but not the id of the delivery; GitLab sends the secret itself.
func ReadHook(kind string, header http.Header, body, secret []byte, now time.Time) (Hook, error) {
	h := Hook{Kind: kind}
	event, delivery := header.Get("X-GitHub-Event"), header.Get("X-GitHub-Delivery")
	switch kind {
	case GitHub:
		given, ok := strings.CutPrefix(header.Get("X-Hub-Signature-256"), "sha256=")
		if !ok || !signed(given, body, secret) {
			return h, ErrUnsigned
		}
	case Gitea:
		if !signed(header.Get("X-Gitea-Signature"), body, secret) {
			return h, ErrUnsigned
		}
		event, delivery = header.Get("X-Gitea-Event"), header.Get("X-Gitea-Delivery")
	case GitLab:
		given, want := sha256.Sum256([]byte(header.Get("X-Gitlab-Token"))), sha256.Sum256(secret) // of one length
		if subtle.ConstantTimeCompare(given[:], want[:]) != 1 {
			return h, ErrUnsigned
		}
		event, delivery = header.Get("X-Gitlab-Event"), cmp.Or(header.Get("Idempotency-Key"), header.Get("X-Gitlab-Event-UUID"))
	default:
		return h, fmt.Errorf("%q has no webhooks here", kind)
	}
	if h.Ping = event == "ping"; h.Ping {
		return h, nil
	}
	var b hookBody
	var all any
	if err := errors.Join(json.Unmarshal(body, &b), json.Unmarshal(body, &all)); err != nil {
		return h, fmt.Errorf("the body is not an event in JSON: %v", err)
	}
	switch {
	case delivery == "":
		return h, errors.New("the delivery has no id")
	case now.Sub(newestTime(all, now.Add(HookAhead))) > HookAge:
		return h, fmt.Errorf("the event is older than %s, or names no time", HookAge)
	}
	id, content := sha256.Sum256([]byte(delivery)), sha256.Sum256(body)
	h.IDs = [2]string{kind + " id " + hex.EncodeToString(id[:]), kind + " " + hex.EncodeToString(content[:])}
	if h.fill(event, b); h.Repo == "" {
		return h, errors.New("the event names no repository")
	}
	return h, nil
}

func signed(given string, body, secret []byte) bool {
	sum := hmac.New(sha256.New, secret)
	sum.Write(body)
	mac, err := hex.DecodeString(given)
	return err == nil && hmac.Equal(mac, sum.Sum(nil))
}

// fill takes what the event tells. Of requests, reviews, comments, checks and pushes it is enough to know that there is news.
func (h *Hook) fill(event string, b hookBody) {
	h.Repo = cmp.Or(b.Repository.FullName, b.Project.Path)
	switch {
	case h.Kind == GitLab && event == "Issue Hook":
		h.Issue, h.Title, h.Closed = fmt.Sprint(b.Attributes.IID), b.Attributes.Title, b.Attributes.State == "closed"
		for _, l := range b.Attributes.Labels {
			h.Labels = append(h.Labels, l.Title)
		}
	case h.Kind != GitLab && (event == "issues" || event == "issue_label"):
		h.Issue, h.Title, h.Closed = fmt.Sprint(b.Issue.Number), b.Issue.Title, b.Issue.State == "closed"
		for _, l := range b.Issue.Labels {
			h.Labels = append(h.Labels, l.Name)
		}
	}
}

// newestTime is the latest time up to limit that an event names in its fields …_at, which the forge sets. A commit's own time is its author's word.
func newestTime(value any, limit time.Time) (at time.Time) {
	later := func(t time.Time) {
		if t.After(at) && !t.After(limit) {
			at = t
		}
	}
	switch x := value.(type) {
	case map[string]any:
		for key, v := range x {
			if strings.HasSuffix(key, "_at") {
				later(timeOf(v))
			}
			later(newestTime(v, limit))
		}
	case []any:
		for _, v := range x {
			later(newestTime(v, limit))
		}
	}
	return at
}

// timeOf reads a time as one of the forges writes it.
func timeOf(value any) (at time.Time) {
	switch x := value.(type) {
	case float64:
		return time.Unix(int64(x), 0)
	case string:
		for _, form := range []string{time.RFC3339, "2006-01-02 15:04:05 MST", "2006-01-02 15:04:05 -0700"} {
			if t, err := time.Parse(form, x); err == nil {
				return t
			}
		}
	}
	return at
}
