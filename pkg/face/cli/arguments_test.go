package cli

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func TestTimesSinceWhen(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 19, 14, 0, 0, 0, time.UTC)
	tests := []struct {
		text string
		want time.Time
		ok   bool
	}{
		{"", time.Time{}, true},
		{"90m", now.Add(-90 * time.Minute), true},
		{"3d", now.Add(-72 * time.Hour), true},
		{"0.5d", now.Add(-12 * time.Hour), true},
		{"2026-01-19T10:00:00Z", now.Add(-4 * time.Hour), true},
		{"yesterday", time.Time{}, false},
		{"-1h", time.Time{}, false},
		{"d", time.Time{}, false},
	}
	for _, tt := range tests {
		got, err := sinceOf(tt.text, now)
		if (err == nil) != tt.ok || !got.Equal(tt.want) {
			t.Errorf("sinceOf(%q) = %v, %v; want %v", tt.text, got, err, tt.want)
		}
	}
}

func TestListsAndPairs(t *testing.T) {
	t.Parallel()
	if got := commaList(" a, b,,c "); !slices.Equal(got, []string{"a", "b", "c"}) {
		t.Errorf("commaList: %q", got)
	}
	if got := commaList(""); got == nil || len(got) != 0 {
		t.Errorf("commaList of nothing: %#v, want an empty list", got)
	}
	got, err := pairs("arg", []string{"a=1", "b=x=y", "c="})
	if err != nil || got["a"] != "1" || got["b"] != "x=y" || got["c"] != "" {
		t.Errorf("pairs: %v, %v", got, err)
	}
	for _, bad := range []string{"a", "=1", " =1"} {
		if _, err := pairs("arg", []string{bad}); err == nil {
			t.Errorf("pairs accepts %q", bad)
		}
	}
}

func TestBadValuesAreTakenApart(t *testing.T) {
	t.Parallel()
	value, name, ok := badValue(`invalid value "a \"b\" for flag -x" for flag -priority: strconv.ParseInt: parsing`)
	if !ok || value != `a "b" for flag -x` || name != "priority" {
		t.Errorf("badValue: %q, %q, %v", value, name, ok)
	}
	if _, _, ok := badValue("something else"); ok {
		t.Error("badValue reads any text")
	}
}

func TestTextIsWrapped(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("words and ", 30)
	for line := range strings.Lines(wrap(long+"\n"+long, 90)) {
		if n := len([]rune(strings.TrimSuffix(line, "\n"))); n > 90 || n == 0 {
			t.Errorf("a line of %d characters", n)
		}
	}
	if got := wrap("ä ö", 90); got != "ä ö" {
		t.Errorf("wrap: %q", got)
	}
}
