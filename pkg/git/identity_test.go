package git

import "testing"

func TestThePersonOfTheConfiguration(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.git("config", "user.name", "Grace  Hopper")
	f.git("config", "user.email", "grace@example.com")
	if name, email, err := f.repo.Identity(t.Context()); name != "Grace  Hopper" || email != "grace@example.com" || err != nil {
		t.Errorf("got %q, %q, %v", name, email, err)
	}
	if got, err := f.repo.settings(t.Context(), `^user\.nothing$`); len(got) != 0 || err != nil {
		t.Errorf("a setting that is not there is %q, %v", got, err)
	}
}
