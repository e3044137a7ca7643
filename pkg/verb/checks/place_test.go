package checks

import "testing"

// A manifest names folders beside the project; those of the person are not shown to a check for that.
func TestWhatAManifestNamesIsNotPrivate(t *testing.T) {
	t.Parallel()
	for rel, want := range map[string]bool{"../lib": false, "../../shared/lib": false, "vendor": false, ".env": false, "../.ssh": true, "../../.config/gh": true, "../lib/.git": true,
		"..": true, "../..": true, "../p": true, "../../ada": true} {
		if got := isPrivate("/home/ada/p", rel); got != want {
			t.Errorf("%s: %t, want %t", rel, got, want)
		}
	}
}
