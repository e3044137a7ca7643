package verb

import (
	"sync"
)

// HeldSecrets are the values of secrets that are in no file: those of the environment
// (LIZA_SECRET_NAME), and those of plans with secrets.store: memory.
type HeldSecrets struct {
	Memory bool // this process lives as long as a plan needs its secrets

	mu     sync.Mutex
	values map[string]string
}

// Hold keeps a value.
func (h *HeldSecrets) Hold(name, value string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.values == nil {
		h.values = map[string]string{}
	}
	h.values[name] = value
}

func (h *HeldSecrets) value(name string) (string, bool) {
	if h == nil {
		return "", false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	value, ok := h.values[name]
	return value, ok
}

func (h *HeldSecrets) drop(name string) {
	if h != nil {
		h.mu.Lock()
		delete(h.values, name)
		h.mu.Unlock()
	}
}
