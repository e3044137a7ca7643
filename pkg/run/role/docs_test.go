package role

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the generated documentation again")

const (
	tableBegin = "<!-- Generated from the context matrix by `make generate`; do not edit from here … -->\n"
	tableEnd   = "<!-- … to here. -->\n"
)

// The matrix and the fields of specs/roles.md are made from the data that the prompts and
// the check of templates use.
func TestGeneratedMatrix(t *testing.T) {
	t.Parallel()
	path := filepath.Join("..", "..", "..", "specs", "roles.md")
	there, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(there), tableBegin)
	_, after, found := strings.Cut(rest, tableEnd)
	if !ok || !found {
		t.Fatalf("%s has no place for the matrix", path)
	}
	page := before + tableBegin + matrixTable() + tableEnd + after
	if *update {
		if err := os.WriteFile(path, []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if string(there) != page {
		t.Errorf("%s differs from the matrix; run `make generate` and look at the difference", path)
	}
}

func matrixTable() string {
	var b strings.Builder
	b.WriteString("\nY: given. O: given unless `context_requirements` leaves it out. R: on a replan only.\n\n| piece |")
	for _, k := range Kinds {
		fmt.Fprintf(&b, " %s |", k)
	}
	b.WriteString(" what it is | fields |\n|---|" + strings.Repeat("---|", len(Kinds)) + "---|---|\n")
	fields := func(p Piece) string {
		var names []string
		for _, f := range Fields {
			if f.Piece == p {
				names = append(names, "`."+f.Name+"`")
			}
		}
		return strings.Join(names, " ")
	}
	for _, row := range Matrix {
		fmt.Fprintf(&b, "| `%s` |", row.Piece)
		for _, access := range row.Access {
			fmt.Fprintf(&b, " %c |", access)
		}
		fmt.Fprintf(&b, " %s | %s |\n", row.About, fields(row.Piece))
	}
	fmt.Fprintf(&b, "\nEvery kind has %s.\n\n", fields(""))
	return b.String()
}
