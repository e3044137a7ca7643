//go:build race

package norace

// Raced reports whether this program has the race detector.
const Raced = true
