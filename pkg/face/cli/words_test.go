package cli

import (
	"strings"
	"testing"

	"liza/pkg/board/config"
)

// A column is as wide as its longest word.
func TestNoGroupOfSettingsTouchesItsText(t *testing.T) {
	t.Parallel()
	text := settingGroups(3)
	for _, g := range config.Groups {
		if !strings.Contains(text, "  "+g.Name+"  ") {
			t.Errorf("%s is not apart from its text in\n%s", g.Name, text)
		}
	}
}
