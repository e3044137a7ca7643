package verbs

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"liza/pkg/verb/board"
)

// A Field is one field of a verb's input.
type Field struct {
	Name     string // name in JSON
	Arg      string // word of a positional argument; "" for an option
	Option   string // name of the option, without dashes
	Word     string // word for its value
	Help     string
	Unset    string   // effect of leaving it out
	Default  string   // default value
	Values   []string // the possible values
	Required bool
	Comma    bool   // one option has all elements of a list
	File     string // option that names a file with the text

	Type  reflect.Type
	index []int
	faces []string // the faces that have it; none: all
}

// A Kind is the form of a field's value on the command line.
type Kind int

const (
	Words  Kind = iota // one text
	Switch             // given or not
	Number
	Many // an option that may be repeated
)

// Kind returns the form of f on the command line.
func (f Field) Kind() Kind {
	t := f.Type
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case t.Kind() == reflect.Bool:
		return Switch
	case t.Kind() == reflect.Int:
		return Number
	case (t.Kind() == reflect.Slice || t.Kind() == reflect.Map) && !f.Comma:
		return Many
	}
	return Words
}

// Fields returns the fields of the input for a face.
func (v *Verb) Fields(face Face) []Field {
	return slices.DeleteFunc(slices.Clone(fieldsOf(v.input)), func(f Field) bool {
		return len(f.faces) > 0 && !slices.Contains(f.faces, string(face)) || slices.Contains(v.Without, f.Name)
	})
}

// fieldsOf returns the fields of an input. Its tags are read once.
func fieldsOf(input reflect.Type) []Field {
	if known, ok := fieldsKnown.Load(input); ok {
		return known.([]Field)
	}
	var list []Field
	for _, f := range reflect.VisibleFields(input) {
		name, more, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" || name == "-" {
			continue
		}
		x := Field{Name: name, Arg: f.Tag.Get("arg"), Option: f.Tag.Get("option"), Word: f.Tag.Get("word"), Help: f.Tag.Get("help"), Unset: f.Tag.Get("unset"), Default: f.Tag.Get("default"),
			Comma: f.Tag.Get("list") == "comma", File: f.Tag.Get("file"), Required: more == "", Type: f.Type, index: f.Index}
		if x.Option == "" {
			x.Option = strings.ReplaceAll(name, "_", "-")
		}
		if x.Unset == "" {
			x.Unset = x.Default
		}
		if x.Word == "" {
			x.Word = wordOf(f.Type, x.Comma)
		}
		if values := f.Tag.Get("values"); values != "" {
			x.Values = strings.Split(values, ",")
		}
		if faces := f.Tag.Get("faces"); faces != "" {
			x.faces = strings.Split(faces, ",")
		}
		list = append(list, x)
	}
	fieldsKnown.Store(input, list)
	return list
}

var fieldsKnown sync.Map // []Field by reflect.Type

func wordOf(t reflect.Type, comma bool) string {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case comma:
		return "a,b"
	case t.Kind() == reflect.Int:
		return "N"
	case t.Kind() == reflect.Map:
		return "k=v"
	}
	return "T"
}

// Decode makes the input from a JSON object; path has further fields. A key that face does not have is an error.
func (v *Verb) Decode(face Face, data []byte, path map[string]string) (any, error) {
	in := reflect.New(v.input)
	if data = bytes.TrimSpace(data); len(data) > 0 {
		if err := v.knows(face, data); err != nil {
			return nil, err
		}
		if err := json.Unmarshal(data, in.Interface()); err != nil {
			return nil, err
		}
	}
	v.defaults(in.Elem())
	for _, f := range v.Fields(face) {
		if text, ok := path[f.Name]; ok {
			in.Elem().FieldByIndex(f.index).SetString(text)
		}
	}
	if page, ok := in.Elem().Interface().(pageInput); ok && face == HTTP {
		return page.fromPage(), nil
	}
	return in.Elem().Interface(), nil
}

// knows returns an error unless data is one JSON object with fields of face.
func (v *Verb) knows(face Face, data []byte) error {
	var keys map[string]json.RawMessage
	dec := json.NewDecoder(bytes.NewReader(data))
	if err := dec.Decode(&keys); err != nil {
		return err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("it has to be one object")
	}
	fields := v.Fields(face)
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		if !slices.ContainsFunc(fields, func(f Field) bool { return strings.EqualFold(f.Name, key) }) {
			return errors.New("unknown field " + strconv.Quote(key))
		}
	}
	return nil
}

func (v *Verb) defaults(in reflect.Value) {
	for _, f := range v.Fields(CLI) {
		if to := in.FieldByIndex(f.index); f.Default != "" && to.IsZero() {
			_ = f.set(to, []string{f.Default}, "") // the tests set each of them
		}
	}
}

// ArgsUsage returns the words of the positional arguments.
func (v *Verb) ArgsUsage() string {
	var words []string
	for _, f := range v.arguments() {
		words = append(words, f.Arg)
	}
	return strings.Join(words, " ")
}

func (v *Verb) arguments() []Field {
	return slices.DeleteFunc(v.Fields(CLI), func(f Field) bool { return f.Arg == "" })
}

// Argument returns the field of the positional argument at index at, if the verb takes n arguments at most.
func (v *Verb) Argument(at int) (Field, bool) {
	fields := v.arguments()
	if n := len(fields); n > 0 && at >= n && strings.HasSuffix(fields[n-1].Arg, "…") {
		at = n - 1
	}
	if at >= len(fields) {
		return Field{}, false
	}
	return fields[at], true
}

// Parse makes the input from a command line: its positional arguments, whose number fits ArgsUsage, and the given options by
// name.
func (v *Verb) Parse(args []string, options map[string][]string) (any, error) {
	in := reflect.New(v.input).Elem()
	fields := v.arguments()
	optional := len(args)
	for _, f := range fields {
		if !strings.HasPrefix(f.Arg, "[") {
			optional--
		}
	}
	for _, f := range fields {
		n := 1
		switch {
		case strings.HasSuffix(strings.TrimSuffix(f.Arg, "]"), "…"):
			n = len(args)
		case strings.HasPrefix(f.Arg, "[") && optional <= 0:
			n = 0
		case strings.HasPrefix(f.Arg, "["):
			optional--
		}
		if n > 0 && len(args) > 0 {
			if err := f.set(in.FieldByIndex(f.index), args[:n], v.Name); err != nil {
				return nil, err
			}
			args = args[n:]
		}
	}
	for _, f := range v.Fields(CLI) {
		if given, ok := options[f.Option]; ok && f.Arg == "" {
			if err := f.set(in.FieldByIndex(f.index), given, v.Name); err != nil {
				return nil, err
			}
		}
	}
	v.defaults(in)
	return in.Interface(), nil
}

// set gives a field the values of the command line. Options whose list has other elements than texts parse themselves.
func (f Field) set(to reflect.Value, given []string, name string) error {
	if to.Kind() == reflect.Pointer {
		to.Set(reflect.New(to.Type().Elem()))
		to = to.Elem()
	}
	help := "liza help " + name
	switch to.Kind() {
	case reflect.String:
		to.SetString(given[len(given)-1])
	case reflect.Bool:
		to.SetBool(given[len(given)-1] == "true")
	case reflect.Int:
		n, err := strconv.Atoi(given[len(given)-1])
		if err != nil {
			return board.WrongUsage(help, "--%s '%s' must be a whole number", f.Option, given[len(given)-1])
		}
		to.SetInt(int64(n))
	case reflect.Map:
		return f.setPairs(to, given, help)
	case reflect.Slice:
		if f.Comma {
			given = strings.FieldsFunc(given[len(given)-1], func(r rune) bool { return r == ',' })
		}
		list := reflect.MakeSlice(to.Type(), 0, len(given))
		for _, text := range given {
			element := reflect.New(to.Type().Elem())
			if p, ok := element.Interface().(parser); ok {
				if err := p.parse(text); err != nil {
					return err
				}
			} else if f.Comma {
				if text = strings.TrimSpace(text); text == "" {
					continue
				}
				element.Elem().SetString(text)
			} else {
				element.Elem().SetString(text)
			}
			list = reflect.Append(list, element.Elem())
		}
		to.Set(list)
	}
	return nil
}

// A parser is an element of a list that reads itself from the text of an option.
type parser interface{ parse(text string) error }

// setPairs reads "k=v" texts.
func (f Field) setPairs(to reflect.Value, given []string, help string) error {
	pairs := reflect.MakeMap(to.Type())
	for _, text := range given {
		k, val, ok := strings.Cut(text, "=")
		if k = strings.TrimSpace(k); !ok || k == "" {
			return board.WrongUsage(help, "--%s '%s' must have the form key=value", f.Option, text)
		}
		value := reflect.New(to.Type().Elem()).Elem()
		if value.Kind() == reflect.Int {
			n, err := strconv.Atoi(strings.TrimSpace(val))
			if err != nil || n < 0 {
				return board.WrongUsage(help, "--%s %s=%s must be a whole number of 0 or more", f.Option, k, val)
			}
			value.SetInt(int64(n))
		} else {
			value.SetString(val)
		}
		pairs.SetMapIndex(reflect.ValueOf(k), value)
	}
	to.Set(pairs)
	return nil
}
