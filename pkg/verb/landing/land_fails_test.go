package landing_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"liza/pkg/board/blackboard"
	"liza/pkg/code/forge"
)

var numbersIn = regexp.MustCompile(`[0-9a-f]{40}|[0-9]+`)

// Each call of a whole landing fails once for good, in each way in which forges fail. The round may end with that; the next ones go on,
// and nothing happens twice.
func TestALandingConvergesWhereverTheForgeFails(t *testing.T) {
	t.Parallel()
	unavailable := func(w http.ResponseWriter) { w.WriteHeader(http.StatusBadGateway) }
	for name, way := range map[string]struct {
		carried bool // the call is carried out, and its answer lost
		answer  func(http.ResponseWriter)
	}{
		"5xx before it is carried out": {false, unavailable},
		"5xx after it":                 {true, unavailable},
		"a long rate limit": {false, func(w http.ResponseWriter) {
			w.Header().Set("Retry-After", "3600")
			w.WriteHeader(http.StatusTooManyRequests)
		}},
	} {
		for _, kind := range []string{forge.GitHub, forge.GitLab, forge.Gitea} {
			if kind != forge.GitHub && !way.carried {
				continue // what differs between them is what is done twice
			}
			t.Run(kind+", "+name, func(t *testing.T) {
				t.Parallel()
				p, f := landPlace(t, kind)
				p.Config.Land.Merge, p.Config.Land.Draft = "liza", true
				f.CI = "test -f fix-*-1.md || { echo FAIL; exit 1; }"
				f.Stale = 1
				failures := map[string]int{}
				f.Fail = func(w http.ResponseWriter, r *http.Request) bool {
					step := r.Method + numbersIn.ReplaceAllString(r.URL.EscapedPath(), "N")
					tries := 1
					if r.Method == http.MethodGet {
						tries = 4 // reads are tried again by themselves
					}
					if failures[step]++; failures[step] > tries {
						return false
					}
					if way.carried {
						f.ServeHTTP(httptest.NewRecorder(), r)
					}
					way.answer(w)
					return true
				}
				landed(t, p, "task-1")
				// until goes on until the request is as far; it returns how many rounds failed.
				until := func(done func(q *blackboard.Request) bool) (failed int) {
					for range 40 {
						_, err := lander(t, p, f, "").Round(t.Context(), "", true)
						if err != nil {
							failed++
						}
						if q := p.State().Requests; len(q) == 1 && done(q[0]) {
							return failed
						}
					}
					t.Fatalf("after 40 rounds: %+v", p.State().Requests)
					return 0
				}
				failed := until(func(q *blackboard.Request) bool { return len(q.Fixes) == 1 })
				p.Finish("fix-"+strings.Split(p.State().Requests[0].Fixes[0], "-")[1]+"-1", "coder-9")
				failed += until(func(q *blackboard.Request) bool { return q.Status == blackboard.RequestMerged })
				if all := f.Requests(); len(all) != 1 || all[0].State != "merged" || !strings.Contains(all[0].Body, "### fix-") {
					t.Errorf("requests %+v", all)
				}
				tasks := 0
				for range p.State().Tasks() {
					tasks++
				}
				if tasks != 2 || failed < 6 {
					t.Errorf("%d tasks, want 2; %d rounds failed, want at least 6", tasks, failed)
				}
				p.Sound()
			})
		}
	}
}

// A rate limit that is over in a moment does not end a round.
func TestALandingWaitsForAShortRateLimit(t *testing.T) {
	t.Parallel()
	p, f := landPlace(t, forge.GitHub)
	landed(t, p, "task-1")
	limited := map[string]bool{}
	f.Fail = func(w http.ResponseWriter, r *http.Request) bool {
		step := r.Method + r.URL.Path
		if limited[step] {
			return false
		}
		limited[step] = true
		w.Header().Set("Retry-After", "7")
		w.WriteHeader(http.StatusForbidden)
		return true
	}
	if _, err := lander(t, p, f, "").Round(t.Context(), "", true); err != nil {
		t.Fatal(err)
	}
	if len(f.Requests()) != 1 || len(limited) < 5 {
		t.Errorf("%d requests; %d calls were limited", len(f.Requests()), len(limited))
	}
	f.Fail = func(w http.ResponseWriter, _ *http.Request) bool {
		w.Header().Set("Retry-After", "3600")
		w.WriteHeader(http.StatusTooManyRequests)
		return true
	}
	_, err := lander(t, p, f, "").Round(t.Context(), "", true)
	if limit := new(forge.LimitError); !errors.As(err, &limit) {
		t.Errorf("under a long limit the round ended with %v", err)
	}
}
