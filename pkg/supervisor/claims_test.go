package supervisor

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestEachClaimThatFailsIsFollowedByALongerPause(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, failed := &Supervisor{}, errors.New("the state is not valid")
		for i, want := range []time.Duration{1, 2, 4, 8, 16, 32, 60, 60, 60} {
			began := time.Now()
			if err := s.claimRefused(t.Context(), t.Context(), failed); !errors.Is(err, failed) {
				t.Fatalf("claim %d: %v", i, err)
			}
			if paused := time.Since(began); paused != want*time.Second {
				t.Errorf("after claim %d the pause is %v, want %v", i, paused, want*time.Second)
			}
		}
	})
}
