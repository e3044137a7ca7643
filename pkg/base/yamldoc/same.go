package yamldoc

import (
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// Same reports whether two Go values have the same text in a file. A nil list or map equals an
// empty one.
func Same(a, b any) bool { return same(reflect.ValueOf(a), reflect.ValueOf(b), false) }

// Alike is Same, but compares values of type any by the text of their scalars: a time and its
// text, or 5 and "5", are alike.
func Alike(a, b any) bool { return same(reflect.ValueOf(a), reflect.ValueOf(b), true) }

// same compares two values whose types may differ.
func same(a, b reflect.Value, loose bool) bool {
	if !a.IsValid() || !b.IsValid() {
		return a.IsValid() == b.IsValid()
	}
	if a.Type() != b.Type() {
		return sameOpen(a, b, loose)
	}
	return sameType(a, b, loose)
}

// sameType compares two values of one type. All entries of a state go through it at each
// write, so it does no more than it must.
func sameType(a, b reflect.Value, loose bool) bool {
	switch a.Kind() {
	case reflect.String:
		return a.String() == b.String()
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return a.Int() == b.Int()
	case reflect.Bool:
		return a.Bool() == b.Bool()
	case reflect.Pointer:
		if a.IsNil() || b.IsNil() || a.Pointer() == b.Pointer() {
			return a.IsNil() == b.IsNil()
		}
		return sameType(a.Elem(), b.Elem(), loose)
	case reflect.Interface:
		if a.IsNil() || b.IsNil() {
			return a.IsNil() == b.IsNil()
		}
		return sameOpen(a.Elem(), b.Elem(), loose)
	case reflect.Slice, reflect.Array:
		if a.Len() != b.Len() {
			return false
		}
		for i := range a.Len() {
			if !sameType(a.Index(i), b.Index(i), loose) {
				return false
			}
		}
		return true
	case reflect.Map:
		return sameMap(a, b, loose)
	case reflect.Struct:
		if a.Type() == timeType {
			return a.Interface().(time.Time).Equal(b.Interface().(time.Time))
		}
		for i := range a.NumField() {
			if !sameType(a.Field(i), b.Field(i), loose) {
				return false
			}
		}
		return true
	}
	return a.Equal(b)
}

var timeType = reflect.TypeFor[time.Time]()

func sameList(a, b reflect.Value, loose bool) bool {
	if a.Len() != b.Len() {
		return false
	}
	for i := range a.Len() {
		if !same(a.Index(i), b.Index(i), loose) {
			return false
		}
	}
	return true
}

func sameMap(a, b reflect.Value, loose bool) bool {
	if a.Len() != b.Len() {
		return false
	}
	keys := a.MapRange()
	for keys.Next() {
		other := mapValue(b, keys.Key())
		if !other.IsValid() || !same(keys.Value(), other, loose) {
			return false
		}
	}
	return true
}

// mapValue looks key up in a map whose keys may be of another type.
func mapValue(m, key reflect.Value) reflect.Value {
	if key.Kind() == reflect.Interface && m.Type().Key().Kind() != reflect.Interface {
		key = key.Elem()
	}
	if key.IsValid() && key.Type() != m.Type().Key() && key.CanConvert(m.Type().Key()) {
		key = key.Convert(m.Type().Key())
	}
	if !key.IsValid() || key.Type() != m.Type().Key() {
		return reflect.Value{}
	}
	return m.MapIndex(key)
}

// sameOpen compares values of different types, as they stand in a map of any.
func sameOpen(a, b reflect.Value, loose bool) bool {
	for a.Kind() == reflect.Pointer || a.Kind() == reflect.Interface {
		a = a.Elem()
	}
	for b.Kind() == reflect.Pointer || b.Kind() == reflect.Interface {
		b = b.Elem()
	}
	if !a.IsValid() || !b.IsValid() {
		return a.IsValid() == b.IsValid()
	}
	kindA, textA := scalarText(a)
	kindB, textB := scalarText(b)
	switch {
	case kindA != "" || kindB != "":
		return kindA != "" && kindB != "" && textA == textB && (loose || kindA == kindB)
	case a.Kind() == reflect.Slice && b.Kind() == reflect.Slice:
		return sameList(a, b, loose)
	case a.Kind() == reflect.Map && b.Kind() == reflect.Map:
		return sameMap(a, b, loose)
	case a.Type() == b.Type():
		return same(a, b, loose)
	}
	return false
}

// scalarText is the kind of a scalar and its text in a file; the kind of others is "".
func scalarText(v reflect.Value) (kind, text string) {
	if v.Type() == timeType {
		return "time", timeText(v.Interface().(time.Time))
	}
	switch v.Kind() {
	case reflect.String:
		if _, plain := v.Interface().(plainer); plain {
			return "plain", v.String()
		}
		return "string", v.String()
	case reflect.Bool:
		return "bool", strconv.FormatBool(v.Bool())
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return "number", strconv.FormatInt(v.Int(), 10)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return "number", strconv.FormatUint(v.Uint(), 10)
	case reflect.Float32, reflect.Float64:
		return "number", floatText(v.Float())
	}
	return "", ""
}

func timeText(t time.Time) string { return t.Format(time.RFC3339Nano) }

func floatText(f float64) string {
	form := byte('f') // as people write it; 'g' would make 1e+06 of a million
	if size := math.Abs(f); size != 0 && (size < 1e-6 || size >= 1e15) {
		form = 'g'
	}
	switch s := strconv.FormatFloat(f, form, -1, 64); s {
	case "+Inf":
		return ".inf"
	case "-Inf":
		return "-.inf"
	case "NaN":
		return ".nan"
	default:
		return s
	}
}

// align finds for each element of a list as it shall be the one that it was before, or
// -1 for a new one: one that is the same, or a changed one that is in the same gap
// between equal ones and has the same id, or no id at all.
func align(before, after reflect.Value) []int {
	from := matches(after.Len(), before.Len(), func(j, i int) bool { return same(after.Index(j), before.Index(i), false) })
	pair(from, before.Len(), func(j, i int) bool { return identity(after.Index(j)) == identity(before.Index(i)) })
	return from
}

// identity returns the value that distinguishes elements of a list: their id, n or seq.
func identity(v reflect.Value) string {
	for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	switch v.Kind() {
	case reflect.Struct:
		for _, f := range fieldsOf(v.Type()) {
			if f.name == "id" || f.name == "n" || f.name == "seq" {
				return f.name + "=" + fmt.Sprint(v.Field(f.index))
			}
		}
	case reflect.Map:
		for _, name := range []string{"id", "n", "seq"} {
			if id := mapValue(v, reflect.ValueOf(name)); id.IsValid() {
				return name + "=" + fmt.Sprint(id)
			}
		}
	}
	return ""
}

// plainer is implemented by texts that are written without quotes, such as times.
type plainer interface{ Plain() string }

// A field of a struct, as its yaml tag describes it.
type field struct {
	index     int
	name      string
	omitEmpty bool
	inline    bool // a map whose keys are beside the fields
}

func fieldsOf(t reflect.Type) []field {
	fields := make([]field, 0, t.NumField())
	for i := range t.NumField() {
		sf := t.Field(i)
		name, options, _ := strings.Cut(sf.Tag.Get("yaml"), ",")
		if !sf.IsExported() || name == "-" {
			continue
		}
		if name == "" {
			name = strings.ToLower(sf.Name)
		}
		fields = append(fields, field{
			index:     i,
			name:      name,
			omitEmpty: strings.Contains(options, "omitempty"),
			inline:    strings.Contains(options, "inline"),
		})
	}
	return fields
}
