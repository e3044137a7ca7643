package config

import (
	"reflect"
	"slices"
	"strings"
)

// Hold keeps in c each setting that gates or limits a team and that before has stronger, unless a person has changed it by
// hand: its value differs from that in committed, the file as git has it. It returns the keys that it kept.
func (c *Config) Hold(before, committed *Config) []string {
	now, inGit := byKey(c), byKey(committed)
	for _, was := range leaves(before) {
		is, there := now[was.key]
		if !there || is.set == nil || !was.kind.weaker(was.get(), is.get()) {
			continue
		}
		if known, ok := inGit[was.key]; ok && !reflect.DeepEqual(known.get().Interface(), is.get().Interface()) {
			continue
		}
		is.set(was.get())
		c.origins[was.key] = before.origins[was.key]
		c.held = append(c.held, was.key)
	}
	c.keepSettings()
	return c.held
}

// HoldAll says that c is in force although the file that it came from is gone.
func (c *Config) HoldAll() { c.held = []string{""} }

// Held returns the keys that Hold kept; a single "" says that the whole file is gone.
func (c *Config) Held() []string { return c.held }

func byKey(c *Config) map[string]leaf {
	all := map[string]leaf{}
	for _, l := range allOf(c) {
		all[l.key] = l
	}
	return all
}

// weaker reports whether a value gates or limits less than another one, as the tag gate of its field says: limit (a number, 0
// means none), more or fewer (entries of a list), same (any other value), or the values from the strongest to the weakest.
func (k kind) weaker(was, is reflect.Value) bool {
	switch k.gate {
	case "":
		return false
	case "limit":
		return was.Int() > 0 && (is.Int() == 0 || is.Int() > was.Int())
	case "more":
		return lacksOne(was, is)
	case "fewer":
		return lacksOne(is, was)
	case "same":
		return !was.IsZero() && !reflect.DeepEqual(was.Interface(), is.Interface())
	case "true", "false":
		return was.Bool() != is.Bool() && is.Bool() == (k.gate == "false")
	}
	order := strings.Split(k.gate, "|")
	before, now := slices.Index(order, was.String()), slices.Index(order, is.String())
	return before >= 0 && now > before
}

// lacksOne reports whether an entry of a list is not in another one.
func lacksOne(list, other reflect.Value) bool {
	for i := range list.Len() {
		found := false
		for j := range other.Len() {
			found = found || reflect.DeepEqual(list.Index(i).Interface(), other.Index(j).Interface())
		}
		if !found {
			return true
		}
	}
	return false
}
