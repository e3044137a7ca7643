//go:build !linux

package assembly

func load() string { return "" } // the system does not tell without a process of its own
