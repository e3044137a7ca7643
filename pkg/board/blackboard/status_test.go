package blackboard

import (
	"slices"
	"testing"
)

// A new status is entered in one place, and every view knows it.
func TestEachStatusIsInTheTableOnce(t *testing.T) {
	t.Parallel()
	if len(StatusTable) != len(Statuses) {
		t.Errorf("the table has %d statuses of %d", len(StatusTable), len(Statuses))
	}
	glyphs := map[string]Status{}
	for _, s := range Statuses {
		i := s.Info()
		if s.Rank() == len(StatusTable) {
			t.Errorf("%s is not in the table", s)
			continue
		}
		if i.Terminal != s.Terminal() || !slices.Contains(Lanes, i.Lane) || len([]rune(i.Glyph)) != 1 {
			t.Errorf("%s: %+v", s, i)
		}
		if other, taken := glyphs[i.Glyph]; taken {
			t.Errorf("%s and %s have the same glyph", s, other)
		}
		glyphs[i.Glyph] = s
		for what, text := range map[string]string{"title": i.Title, "words": i.Words, "tone": string(i.Tone), "fill": i.Fill, "state in the history": i.Job} {
			if text == "" {
				t.Errorf("%s has no %s", s, what)
			}
		}
	}
	if i := Status("ON_THE_MOON").Info(); i.Words != "on the moon" || i.Terminal {
		t.Errorf("a status that people invented is %+v", i)
	}
}
