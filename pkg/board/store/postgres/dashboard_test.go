package postgres

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"liza/pkg/board/store"
)

// The columns that a query names are looked up by the server, whether there is a row or not.
func TestTheDashboardAsksForWhatTheViewsHave(t *testing.T) {
	t.Parallel()
	s := newBoard(t)
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "specs", "dashboard.json"))
	if err != nil {
		t.Fatal(err)
	}
	var dashboard struct {
		Templating struct {
			List []struct{ Type, Query string }
		}
		Panels []struct {
			Title   string
			Targets []struct{ RawSQL string }
		}
	}
	if err := json.Unmarshal(text, &dashboard); err != nil {
		t.Fatal(err)
	}
	var queries []string
	for _, v := range dashboard.Templating.List {
		if v.Type == "query" {
			queries = append(queries, v.Query)
		}
	}
	for _, p := range dashboard.Panels {
		for _, target := range p.Targets {
			queries = append(queries, target.RawSQL)
		}
	}
	if len(queries) < 5 {
		t.Fatalf("the dashboard has %d queries", len(queries))
	}
	for _, sql := range queries {
		rows, err := s.pool.Query(t.Context(), strings.ReplaceAll(sql, "$board", s.o.Board))
		if err == nil {
			rows.Close()
			err = rows.Err()
		}
		if err != nil {
			t.Errorf("%s: %v", sql, err)
		}
	}
}

// A value that a person wrote may be no time: the views show the rest all the same.
func TestTheViewsHaveWhatTheDocumentSays(t *testing.T) {
	t.Parallel()
	sharedWasMade.Store(true)
	s := opened(t, optionsOn(sharedServer(t), t))
	text := `version: 1
revision: 7
tasks:
  - id: task-1
    description: One
    status: MERGED
    created: soon
    priority: high
    attempts:
      - {seq: 1, agent: coder-1, outcome: merged, cost_cents: 12.5, ended: 2026-01-19T15:00:00Z}
  - id: task-2
    description: Two
    status: UNCLAIMED
    created: 2026-01-19T14:00:00Z
agents:
  coder-1: {role: coder, status: IDLE, host: alpha, heartbeat: 2026-01-19T15:00:00Z}
goal: {id: goal-1}
sprint: {id: s}
config: {}
`
	if err := s.Import(t.Context(), []byte(text), ""); err != nil {
		t.Fatal(err)
	}
	document, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "specs", "hosts.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, view := range []string{"tasks", "agents", "attempts"} {
		_, line, ok := strings.Cut(string(document), "\n| `liza."+view+"` | ")
		line, _, _ = strings.Cut(line, "\n")
		rows, err := s.pool.Query(t.Context(), "SELECT * FROM liza."+view+" WHERE board = $1", s.o.Board)
		if err != nil || !ok {
			t.Fatal(err, ok)
		}
		var said []string
		for _, f := range rows.FieldDescriptions() {
			if f.Name != "board" && f.Name != "value" {
				said = append(said, "`"+f.Name+"`")
			}
		}
		all, err := pgx.CollectRows(rows, pgx.RowToMap)
		if err != nil || len(all) == 0 {
			t.Errorf("liza.%s gives %d rows: %v", view, len(all), err)
		}
		if want := strings.Join(said, ", ") + " |"; line != want {
			t.Errorf("specs/hosts.md says of liza.%s\n%s\nand it has\n%s", view, line, want)
		}
	}
	var status, host string
	var cents float64
	if err := s.pool.QueryRow(t.Context(), `SELECT t.status, a.host, x.cost_cents::float8 FROM liza.tasks t JOIN liza.attempts x ON x.board = t.board AND x.task = t.id JOIN liza.agents a ON a.board = t.board AND a.id = x.agent
WHERE t.board = $1 AND t.created IS NULL`, s.o.Board).Scan(&status, &host, &cents); err != nil || status != "MERGED" || host != "alpha" || cents != 12.5 {
		t.Errorf("the views say %s %s %v: %v", status, host, cents, err)
	}
}

// Each role of the documented grants can do what it is for and nothing more.
func TestTheGrantsAreEnoughAndNotMore(t *testing.T) {
	t.Parallel()
	s := newBoard(t)
	own := fmt.Sprintf("roles_test_%d", boards.Add(1))
	for _, sql := range []string{"CREATE ROLE " + own + "_host LOGIN", "CREATE ROLE " + own + "_reader LOGIN"} {
		if _, err := s.pool.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	document, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "specs", "hosts.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, documented, _ := strings.Cut(string(document), "```sql\n")
	documented, _, ok := strings.Cut(documented, "```")
	if !ok || !strings.Contains(documented, "liza_reader") {
		t.Fatal("specs/hosts.md has no grants")
	}
	granted := ""
	for line := range strings.Lines(strings.ReplaceAll(documented, "DATABASE liza ", "DATABASE postgres ")) {
		if !strings.HasPrefix(line, "CREATE ROLE") && !strings.Contains(line, "liza_owner") {
			granted += line
		}
	}
	granted = strings.NewReplacer("liza_host", own+"_host", "liza_reader", own+"_reader").Replace(granted)
	if _, err := s.pool.Exec(t.Context(), granted); err != nil {
		t.Fatal(err)
	}
	as := func(role string) *Store {
		o := s.o
		o.URL = strings.Replace(o.URL, "liza@", role+"@", 1)
		return opened(t, o)
	}
	host := as(own + "_host")
	if err := host.Update(t.Context(), op, numberedNote); err != nil {
		t.Errorf("a host cannot write: %v", err)
	}
	if err := host.PutFiles(t.Context(), store.BoardFile{Path: "archive/s.yaml", Text: "x"}); err != nil {
		t.Errorf("a host cannot write files: %v", err)
	}
	if _, err := host.pool.Exec(t.Context(), "DROP TABLE liza.journal"); code(err) != "42501" {
		t.Errorf("a host drops a table: %v", err)
	}
	reader := as(own + "_reader")
	if _, err := reader.View(t.Context()); err == nil {
		t.Error("who only looks reads the tables")
	}
	looks, err := pgx.Connect(t.Context(), reader.o.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer looks.Close(t.Context())
	for _, view := range []string{"tasks", "agents", "attempts"} {
		if _, err := looks.Exec(t.Context(), "SELECT * FROM liza."+view); err != nil {
			t.Errorf("who only looks cannot read liza.%s: %v", view, err)
		}
	}
}
