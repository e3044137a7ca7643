package blackboard

import (
	"testing"
	"time"
)

func TestMedianAndPercentileOfFewNumbers(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		of          []int
		median, p90 int
	}{{[]int{7}, 7, 7}, {[]int{1, 4}, 2, 4}, {[]int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, 5, 9}, {[]int{1, 2, 30}, 2, 30}} {
		if m, p := median(x.of), percentile(x.of, 90); *m != x.median || *p != x.p90 {
			t.Errorf("of %v: %d and %d, want %d and %d", x.of, *m, *p, x.median, x.p90)
		}
	}
	if median(nil) != nil || percentile(nil, 90) != nil {
		t.Error("nothing has a median")
	}
	for d, w := range map[time.Duration]string{30 * time.Second: "30s", 3 * time.Hour: "3h", 48 * time.Hour: "2d", 200 * time.Minute: "3h 20m"} {
		if got := shortDuration(d); got != w {
			t.Errorf("%s is %s, want %s", d, got, w)
		}
	}
}
