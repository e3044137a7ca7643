package config

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// decoder puts the values of one file into a Config. What is wrong is collected;
// the key then keeps the value that it had.
type decoder struct {
	cfg      *Config
	file     string
	errs     []*ValueError
	warnings []Warning
}

type pair struct{ key, value *yaml.Node }

// pairs lists a map's entries; of a key that is there twice the later one.
func (d *decoder) pairs(n *yaml.Node, prefix string) []pair {
	var out []pair
	at := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		first, again := at[k.Value]
		if !again {
			at[k.Value] = len(out)
			out = append(out, pair{k, v})
			continue
		}
		d.errs = append(d.errs, &ValueError{
			Key: join(prefix, k.Value), File: d.file, Line: k.Line,
			Expected: "the key once", Found: fmt.Sprintf("it again (first in line %d)", out[first].key.Line), again: true,
		})
		out[first] = pair{k, v}
	}
	return out
}

// structure reads a map into a struct of settings.
func (d *decoder) structure(n *yaml.Node, v reflect.Value, key string) {
	n = deref(n)
	if n.Kind != yaml.MappingNode {
		d.wrong(key, n, "a map with the keys "+strings.Join(fieldNames(v.Type()), ", "))
		return
	}
	for _, p := range d.pairs(n, key) {
		name := join(key, p.key.Value)
		f, ok := fieldOf(v.Type(), p.key.Value)
		rest, open := fieldOf(v.Type(), "*")
		switch {
		case !ok && open:
			d.entry(p, v.FieldByIndex(rest.Index), kindOf(rest), name)
		case !ok:
			d.unknown(name, p.key, fieldNames(v.Type()))
		case deref(p.value).ShortTag() == "!!null":
			// The same as if the key were absent.
		default:
			d.field(p.value, v.FieldByIndex(f.Index), kindOf(f), name)
		}
	}
}

func (d *decoder) field(n *yaml.Node, v reflect.Value, k kind, key string) {
	switch {
	case k.typ.Kind() == reflect.Struct && k.typ != fallbackType:
		d.structure(n, v, key)
	case k.typ.Kind() == reflect.Map:
		d.table(n, v, k, key)
	default:
		d.leaf(n, v.Set, k, key)
	}
}

// table reads a map of named entries: they are added to those of the default.
func (d *decoder) table(n *yaml.Node, v reflect.Value, k kind, key string) {
	if n = deref(n); n.Kind != yaml.MappingNode {
		d.wrong(key, n, "a map")
		return
	}
	if v.IsNil() {
		v.Set(reflect.MakeMap(k.typ))
	}
	known := mapKeys(v)
	for _, p := range d.pairs(n, key) {
		name := join(key, p.key.Value)
		if k.closed && !slices.Contains(known, p.key.Value) {
			d.unknown(name, p.key, known)
			continue
		}
		d.entry(p, v, k, name)
	}
}

// entry reads one entry of a map of strings or structs.
func (d *decoder) entry(p pair, v reflect.Value, k kind, key string) {
	if deref(p.value).ShortTag() == "!!null" {
		return
	}
	name := reflect.ValueOf(p.key.Value)
	set := func(e reflect.Value) { v.SetMapIndex(name, e) }
	elem := k.of(k.typ.Elem())
	if elem.typ.Kind() != reflect.Struct {
		d.leaf(p.value, set, elem, key)
		return
	}
	e := reflect.New(elem.typ).Elem()
	if old := v.MapIndex(name); old.IsValid() {
		e.Set(old)
	}
	before := len(d.errs)
	d.structure(p.value, e, key)
	d.cfg.origins[key] = Origin{File: d.file, Line: p.key.Line}
	if agent, ok := e.Addr().Interface().(*CustomAgent); ok && !slices.Contains(builtinPrograms, p.key.Value) {
		if len(agent.Command) == 0 && len(d.errs) == before {
			d.wrong(key, p.value, "a map with the key command: a list with the program and its arguments")
		}
		if len(agent.Command) == 0 {
			delete(d.cfg.origins, key)
			return
		}
		agent.complete()
	}
	set(e)
}

// complete fills in what a project need not write.
func (a *CustomAgent) complete() {
	if a.Prompt == "" {
		a.Prompt = "stdin"
	}
	if a.Output == "" {
		a.Output = "text"
	}
}

func (d *decoder) leaf(n *yaml.Node, set func(reflect.Value), k kind, key string) {
	v, expected, at := value(n, k)
	if at != nil {
		d.errs = append(d.errs, &ValueError{Key: key, File: d.file, Line: at.Line, Expected: expected, Found: k.shown(at)})
		return
	}
	set(v)
	d.cfg.origins[key] = Origin{File: d.file, Line: n.Line}
}

func (d *decoder) wrong(key string, n *yaml.Node, expected string) {
	if key == "" {
		key = "the file"
	}
	d.errs = append(d.errs, &ValueError{Key: key, File: d.file, Line: n.Line, Expected: expected, Found: shown(n)})
}

func (d *decoder) unknown(key string, n *yaml.Node, siblings []string) {
	text := fmt.Sprintf("unknown key %s", key)
	if now := removed[key]; now != "" {
		text = fmt.Sprintf("%s is no longer a setting: %s", key, now)
	} else if here, known := ofBoard(n.Value); known {
		if here != "" {
			text += "; here it is " + here
		}
		text += "; on the board: liza config set " + n.Value + " VALUE"
	} else if near := nearest(n.Value, siblings); near != "" {
		text += "; nearest: " + join(parent(key), near)
	} else if near := elsewhere(n.Value); near != "" {
		text += "; nearest: " + near
	}
	d.warnings = append(d.warnings, Warning{Key: key, File: d.file, Line: n.Line, Text: text})
}

// removed are settings of older versions, and what holds now.
var removed = map[string]string{
	"limits.max_note_bytes": "a note has 65536 bytes at most",
	"notify.max_payload":    "a message has 1 MiB at most",
}
