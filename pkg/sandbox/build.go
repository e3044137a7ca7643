package sandbox

import (
	"embed"
	"fmt"
	"hash/fnv"
	"io/fs"
	"runtime"
)

// BuildCommand has liza-spawn print its Build.
const BuildCommand = "build"

//go:embed *.go
var source embed.FS

// Build names what this program is made of, as far as it contains others: the launcher and the reaper are parts of their supervisor, and
// those of another build may not hold what it promises. Versions do not do for that: many builds have none.
func Build(more fs.FS) string {
	sum := fnv.New128a()
	for _, files := range []fs.FS{source, more} {
		names, _ := fs.Glob(files, "*.go")
		for _, name := range names {
			text, _ := fs.ReadFile(files, name)
			fmt.Fprintf(sum, "%s %d ", name, len(text))
			_, _ = sum.Write(text)
		}
	}
	return fmt.Sprintf("%s %x", runtime.Version(), sum.Sum(nil))
}
