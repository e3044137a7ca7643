package git

import (
	"errors"
	"path/filepath"
	"slices"
	"testing"
)

// A file that its filter would have changed is found before it is merged; one without a filter, or that its filter leaves as
// it is, is not.
func TestAFileThatItsFilterWouldHaveChanged(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, attributes, file, text string
		allowed                      bool
		off, raw                     bool
	}{
		{name: "nobody allowed the filter", attributes: "*.conf filter=mask\n", file: "a.conf", text: "key=secret\n", off: true},
		{name: "nobody allowed the filter of a folder", attributes: "", file: "deep/in/a.conf", text: "key=secret\n", off: true},
		{name: "another file", attributes: "*.conf filter=mask\n", file: "a.txt", text: "secret\n"},
		{name: "a file that is stored raw", attributes: "*.conf filter=mask\n", file: "a.conf", text: "key=secret\n", allowed: true, raw: true},
		{name: "a file that is stored filtered", attributes: "*.conf filter=mask\n", file: "a.conf", text: "key=SAFE\n", allowed: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			home := filepath.Join(realTemp(t), "gitconfig")
			writeFile(t, home, "[filter \"mask\"]\n\tclean = sed s/secret/SAFE/\n\tsmudge = sed s/SAFE/secret/\n")
			f.env = append(f.env, "GIT_CONFIG_GLOBAL="+home)
			f.repo = f.open(f.dir)
			if c.allowed {
				f.repo.Filters = []string{"mask"}
			}
			f.write(".gitattributes", c.attributes)
			f.write("deep/.gitattributes", "*.conf filter=mask\n")
			f.git("add", "-A")
			f.git("commit", "-q", "-m", "attributes")
			base := f.git("rev-parse", "HEAD")
			f.write(c.file, c.text)
			f.git("-c", "filter.mask.clean=cat", "add", "-A")
			f.git("commit", "-q", "-m", "work")
			tip := f.git("rev-parse", "HEAD")
			err := f.repo.Unfiltered(t.Context(), base, tip)
			unfiltered, found := errors.AsType[*UnfilteredError](err)
			if err != nil && !found || found != (c.off || c.raw) {
				t.Fatalf("it says %v", err)
			}
			if found && (unfiltered.Off != c.off || unfiltered.Filter != "mask" || !slices.Equal(unfiltered.Files, []string{c.file})) {
				t.Errorf("it says %+v", unfiltered)
			}
			off, err := f.repo.FiltersOff(t.Context(), tip)
			if want := !c.allowed && c.attributes != ""; err != nil || slices.Contains(off, "mask") != want {
				t.Errorf("the filters that are off: %q, %v", off, err)
			}
		})
	}
}
