package assembly

import (
	"fmt"
	"runtime"

	"golang.org/x/sys/unix"
)

// load is how many processes want to run, per processor, over the last minute.
func load() string {
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) != nil {
		return ""
	}
	const one = 1 << 16 // of the kernel's fixed point
	return fmt.Sprintf("%.1f", float64(info.Loads[0])/one/float64(runtime.NumCPU()))
}
