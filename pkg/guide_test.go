package pkg_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// guided is a file of the guide with the names that it points at.
var (
	guided     = regexp.MustCompile("\\]\\(\\.\\./(pkg/[\\w/.-]+\\.go)\\): ((?:`\\w+`(?:, )?)+)")
	placed     = regexp.MustCompile("`(pkg/[\\w/.-]+)`")
	identifier = regexp.MustCompile(`\w+`)
)

// The reader's guide is two steps long: README, a row of specs/README.md, the function.
func TestTheGuideLeadsToPlacesThatExist(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("../README.md")
	if err != nil || !strings.Contains(string(readme), "](specs/README.md)") {
		t.Errorf("README does not lead to the guide: %v", err)
	}
	page, err := os.ReadFile("../specs/README.md")
	if err != nil {
		t.Fatal(err)
	}
	places := guided.FindAllStringSubmatch(string(page), -1)
	if len(places) < 20 {
		t.Errorf("the guide names %d places; the test looks at nothing", len(places))
	}
	for _, p := range places {
		known, err := declaredIn(filepath.Join("..", p[1]))
		if err != nil {
			t.Error(err)
			continue
		}
		for _, name := range identifier.FindAllString(p[2], -1) {
			if !known[name] {
				t.Errorf("specs/README.md leads to %s in %s, which is not there", name, p[1])
			}
		}
	}
	for _, behaviour := range []string{"the race for one", "the margin in which a lease is not trusted", "asked again after a broken answer", "on a conflict", "an edit of state.yaml by hand"} {
		if !strings.Contains(string(page), behaviour) {
			t.Errorf("the guide does not speak of %q", behaviour)
		}
	}
}

// The steps for contributors name files and folders that are there.
func TestContributingLeadsToPlacesThatExist(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../CONTRIBUTING.md")
	if err != nil {
		t.Fatal(err)
	}
	places := placed.FindAllStringSubmatch(string(page), -1)
	if len(places) < 15 {
		t.Errorf("the page names %d places; the test looks at nothing", len(places))
	}
	for _, p := range places {
		if _, err := os.Stat(filepath.Join("..", p[1])); err != nil {
			t.Errorf("CONTRIBUTING.md names %s, which is not there", p[1])
		}
	}
}

// declaredIn lists the functions, methods, types and variables of a file.
func declaredIn(file string) (map[string]bool, error) {
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	names := map[string]bool{}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			names[d.Name.Name] = true
		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.TypeSpec:
					names[s.Name.Name] = true
				case *ast.ValueSpec:
					for _, n := range s.Names {
						names[n.Name] = true
					}
				}
			}
		}
	}
	return names, nil
}
