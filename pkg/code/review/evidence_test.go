package review

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
)

func TestARuleAppliesToAChangeOfItsPaths(t *testing.T) {
	t.Parallel()
	rules := []Rule{{Paths: "web/**"}, {Paths: "*.html"}, {Paths: "docs"}}
	for file, want := range map[string]string{"web/a/b.css": "web/**", "index.html": "*.html", "sub/index.html": "", "docs/a.md": "docs", "main.go": ""} {
		got := ""
		for _, r := range Touched(rules, []Changed{{Path: file}}) {
			got += r.Paths
		}
		if got != want {
			t.Errorf("a change of %s: %q, want %q", file, got, want)
		}
	}
	if got := Touched(rules, []Changed{{Path: "x", OldPath: "web/x"}}); len(got) != 1 {
		t.Errorf("a file that has left web/: %v", got)
	}
	if got := (Rule{Command: []string{"npm", "run", "it's", "$HOME", ""}}).Shell(); got != `npm run 'it'\''s' '$HOME' ''` {
		t.Errorf("the line for sh is %s", got)
	}
}

func picture(w, h int, at func(x, y int) color.Color) []byte {
	img := image.NewNRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		for x := range w {
			img.Set(x, y, at(x, y))
		}
	}
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		panic(err)
	}
	return b.Bytes()
}

func grey(value uint8) func(x, y int) color.Color {
	return func(int, int) color.Color { return color.Gray{value} }
}

// huge says in its head that it has 60,000 × 60,000 pixels.
func huge(tail string) []byte {
	data := picture(1, 1, grey(0))
	binary.BigEndian.PutUint32(data[16:], 60000)
	binary.BigEndian.PutUint32(data[20:], 60000)
	binary.BigEndian.PutUint32(data[29:], crc32.ChecksumIEEE(data[12:29]))
	return append(data, tail...)
}

func TestPicturesAreComparedByPixels(t *testing.T) {
	t.Parallel()
	dot := picture(10, 10, func(x, y int) color.Color {
		if x == 3 && y == 4 {
			return color.Gray{200}
		}
		return color.Gray{100}
	})
	var photo bytes.Buffer
	img, _, _ := image.Decode(bytes.NewReader(picture(10, 10, grey(100))))
	if err := jpeg.Encode(&photo, img, nil); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		what       string
		ours, base []byte
		result     string
		says       string
	}{
		{"the same bytes", []byte("a"), []byte("a"), Identical, "proves nothing"},
		{"other texts", []byte("a"), []byte("b"), Differs, "differs from that of the base"},
		{"within the tolerance", picture(10, 10, grey(100)), picture(10, 10, grey(107)), Identical, "proves nothing"},
		{"beyond it", picture(10, 10, grey(100)), picture(10, 10, grey(110)), Differs, "in 100 % of its pixels"},
		{"one pixel of a hundred", dot, picture(10, 10, grey(100)), Differs, "in 1 % of its pixels"},
		{"another size", dot, picture(10, 20, grey(100)), Differs, "in size: 10 × 10, it was 10 × 20"},
		{"a photo of the same", photo.Bytes(), picture(10, 10, grey(100)), Identical, "proves nothing"},
		{"a broken one", dot[:60], dot, Differs, "differs from that of the base"},
		{"one that is too large to decode", huge("a"), huge("b"), Differs, "differs from that of the base"},
		{"no pixels at all", nil, dot, Differs, "differs"},
	} {
		if result, says := Compare(c.ours, c.base); result != c.result || !strings.Contains(says, c.says) {
			t.Errorf("%s: %s, %q; want %s, %q", c.what, result, says, c.result, c.says)
		}
	}
	list := Compared(map[string][]byte{"b": []byte("1"), "a": []byte("1")}, map[string][]byte{"b": []byte("1"), "c": dot})
	if len(list) != 3 || list[0].Result != Added || list[1].Result != Identical || list[2].Result != Gone || list[2].Kind != "image/png" {
		t.Errorf("compared: %+v", list)
	}
}

// Not parallel: the memory of other tests would count.
func TestAPictureWithTooManyPixelsIsNotDecoded(t *testing.T) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	Compare(huge("a"), huge("b"))
	runtime.ReadMemStats(&after)
	if took := (after.TotalAlloc - before.TotalAlloc) >> 20; took > 10 {
		t.Errorf("a picture that says that it has 60,000 × 60,000 pixels took %d MB", took)
	}
}

func TestOnlyPicturesAndVideosAreShownByABrowser(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"\x89PNG\r\n\x1a\n<script>": "image/png", "GIF89a": "image/gif", "\xff\xd8\xff": "image/jpeg", "RIFF\x00\x00\x00\x00WEBPVP": "image/webp", "\x1aE\xdf\xa3": "video/webm",
		"<html><script>alert(1)</script>": "", "<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>": "", "%PDF-1.7": "", "plain": "", "": "", "BM<script>": "",
	} {
		if got := MediaType([]byte(text)); got != want {
			t.Errorf("%q is shown as %q, want %q", text, got, want)
		}
	}
}

// gather is Gather with a command that changes the folder.
func gather(t *testing.T, dir string, made func(), files ...string) Gathered {
	t.Helper()
	g, err := Gather([]Rule{{Command: []string{"make"}, Files: files}}, dir, func(string) Ran { made(); return Ran{} })
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func write(t *testing.T, parts ...string) {
	t.Helper()
	file := filepath.Join(parts[:len(parts)-1]...)
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(parts[len(parts)-1]), 0o644)); err != nil {
		t.Fatal(err)
	}
}

func TestOnlyRegularFilesThatTheCommandMadeAreEvidence(t *testing.T) {
	t.Parallel()
	dir, outside := t.TempDir(), t.TempDir()
	write(t, outside, "secret.png", "secret")
	write(t, dir, "shots", "committed.png", "old")
	write(t, dir, "other", "a.png", "kept")
	g := gather(t, dir, func() {
		write(t, dir, "shots", "a.png", "a")
		write(t, dir, "shots", "deep", "b.html", "<script>")
		write(t, dir, "shots", ".git", "c.png", "c")
		err := errors.Join(os.Symlink(filepath.Join(outside, "secret.png"), filepath.Join(dir, "shots", "link.png")), os.Symlink(outside, filepath.Join(dir, "shots", "folder")),
			os.Symlink("a.png", filepath.Join(dir, "shots", "inner.png")), syscall.Mkfifo(filepath.Join(dir, "shots", "pipe.png"), 0o644), os.Mkdir(filepath.Join(dir, "shots", "closed"), 0))
		if err != nil {
			t.Fatal(err)
		}
	}, "shots/**")
	if names := slices.Sorted(maps.Keys(g.Files)); !slices.Equal(names, []string{"shots/a.png", "shots/deep/b.html"}) || g.Missing != "" {
		t.Errorf("the evidence is %v, missing %q", names, g.Missing)
	}
	if _, err := os.Stat(filepath.Join(dir, "other", "a.png")); err != nil {
		t.Error(err)
	}

	linked := t.TempDir()
	g = gather(t, linked, func() {
		if err := os.Symlink(outside, filepath.Join(linked, "shots")); err != nil {
			t.Fatal(err)
		}
	}, "shots/*.png", "log.txt")
	if g.Missing != "no file matches shots/*.png; no file matches log.txt" || len(g.Files) != 0 {
		t.Errorf("through a link to a folder: %v, %q", g.Files, g.Missing)
	}
}

func TestEvidenceIsBounded(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	g := gather(t, dir, func() {
		for i := range mostExhibits + 1 {
			write(t, dir, string(rune('A'+i))+".png", "a")
		}
	}, "*.png")
	if len(g.Files) != mostExhibits || !strings.Contains(g.Missing, "more than 50 files") {
		t.Errorf("%d files, %q", len(g.Files), g.Missing)
	}
	large := t.TempDir()
	g = gather(t, large, func() {
		write(t, large, "a.log", "a")
		if err := os.Truncate(filepath.Join(large, "a.log"), 1<<40); err != nil {
			t.Fatal(err)
		}
	}, "*.log")
	if len(g.Files) != 0 || !strings.Contains(g.Missing, "more than 50 MB") {
		t.Errorf("%d files, %q", len(g.Files), g.Missing)
	}
	for _, c := range []struct {
		ran  Ran
		want string
	}{{Ran{ExitCode: 3}, `"make" ended with exit code 3; no file matches x`}, {Ran{TimedOut: true}, `"make" did not end within its time limit; no file matches x`}} {
		g, err := Gather([]Rule{{Command: []string{"make"}, Files: []string{"x"}}}, t.TempDir(), func(string) Ran { return c.ran })
		if err != nil || g.Missing != c.want {
			t.Errorf("%q, %v; want %q", g.Missing, err, c.want)
		}
	}
}

func TestAFolderIsEnteredForPatternsThatItCanHold(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pattern, folder string
		want            bool
	}{
		{"shots/*.png", "shots", true}, {"shots/*.png", "shots/a", false}, {"shots/*.png", "node_modules", false}, {"**/*.png", "a/b", true}, {"a/**", "a/b/c", true}, {"a/**/x", "b", false},
		{"*/x", "a", true}, {"*/x", "a/b", false}, {"x", "x", false}, {"a/b/c", "a/b", true}, {"a/b/c", "a/c", false},
	} {
		if got := mayHold(c.pattern, c.folder); got != c.want {
			t.Errorf("%s in %s: %t", c.pattern, c.folder, got)
		}
	}
}
