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
	f.git("config", "user.name", "Ada Lovelace")
	if name, _, err := f.repo.Identity(t.Context()); name != "Ada Lovelace" || err != nil {
		t.Errorf("after the configuration has changed, got %q, %v", name, err)
	}
}
