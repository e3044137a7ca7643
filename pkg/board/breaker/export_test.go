package breaker

// Similar compares two texts as the patterns do (specs/protocol.md#11.3). A text that is empty after
// normalisation is similar to nothing, not even to itself.
func Similar(a, b string) bool {
	a, b = Normalise(a), Normalise(b)
	return a != "" && b != "" && newWord(a).similar(newWord(b))
}
