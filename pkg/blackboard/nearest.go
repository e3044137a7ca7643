package blackboard

import "strings"

// Nearest returns the known word that is most like word, for "did you mean"; the
// first of several, and "" when none is near enough to be meant. Case, blanks and
// hyphens do not count.
func Nearest(word string, known []string) string {
	folded := foldWord(word)
	best, least := "", max(2, len([]rune(folded))/2)+1
	for _, candidate := range known {
		if d := distance(folded, foldWord(candidate)); d < least {
			best, least = candidate, d
		}
	}
	return best
}

var wordFolder = strings.NewReplacer("-", "_", " ", "_")

func foldWord(word string) string {
	return wordFolder.Replace(strings.ToLower(strings.TrimSpace(word)))
}

// distance is the Levenshtein distance in runes.
func distance(a, b string) int {
	x, y := []rune(a), []rune(b)
	row := make([]int, len(y)+1)
	for j := range row {
		row[j] = j
	}
	for i := range x {
		diagonal := row[0]
		row[0] = i + 1
		for j := range y {
			above := row[j+1]
			change := diagonal
			if x[i] != y[j] {
				change++
			}
			row[j+1] = min(above+1, row[j]+1, change)
			diagonal = above
		}
	}
	return row[len(y)]
}

// NearestHint is the end of a message: "; nearest: Y", or "".
func NearestHint(word string, known []string) string {
	if near := Nearest(word, known); near != "" {
		return "; nearest: " + near
	}
	return ""
}
