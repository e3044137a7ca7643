package cli

import (
	"fmt"
	"slices"
	"strings"

	urfave "github.com/urfave/cli/v3"
)

// wrap breaks a text into lines of at most width characters.
func wrap(text string, width int) string {
	var b strings.Builder
	length := 0
	for i, word := range strings.Fields(text) {
		n := len([]rune(word))
		switch {
		case i == 0:
		case length+1+n > width:
			b.WriteByte('\n')
			length = 0
		default:
			b.WriteByte(' ')
			length++
		}
		b.WriteString(word)
		length += n
	}
	return b.String()
}

// globals are the options that are before or behind every command.
func globals(app *urfave.Command) []urfave.Flag { return visible(app.Flags) }

func visible(flags []urfave.Flag) []urfave.Flag {
	return slices.DeleteFunc(slices.Clone(flags), func(f urfave.Flag) bool {
		v, ok := f.(urfave.VisibleFlag)
		return ok && !v.IsVisible()
	})
}

// optionsText describes options in two columns.
func optionsText(flags []urfave.Flag) string {
	var left, right []string
	width := 0
	for _, f := range flags {
		l, r := optionText(f)
		left, right = append(left, l), append(right, r)
		width = max(width, min(len(l), 30))
	}
	var b strings.Builder
	for i := range left {
		fmt.Fprintf(&b, "  %-*s  %s\n", width, left[i], right[i])
	}
	return b.String()
}

func optionText(f urfave.Flag) (left, right string) {
	doc, ok := f.(urfave.DocGenerationFlag)
	if !ok {
		return f.String(), ""
	}
	var names []string
	for _, n := range f.Names() {
		names = append(names, dashed(n))
	}
	left, right = strings.Join(names, ", "), doc.GetUsage()
	if _, isSwitch := f.(*urfave.GenericFlag); isSwitch {
		return left, right
	}
	if rest, cut := strings.CutPrefix(right, "`"); cut && doc.TakesValue() {
		word, usage, _ := strings.Cut(rest, "`")
		left, right = left+" "+word, strings.TrimLeft(usage, ": ")
	} else if doc.TakesValue() {
		left += " " + valueWord(f)
	}
	if m, ok := f.(urfave.DocGenerationMultiValueFlag); ok && m.IsMultiValueFlag() {
		right += " (may be repeated)"
	}
	if standard := standardOf(doc); standard != "" {
		right += " (default: " + standard + ")"
	}
	return left, right
}

// standardOf is the default of an option; none is said of what is empty or off.
func standardOf(f urfave.DocGenerationFlag) string {
	if t := f.GetDefaultText(); t != "" {
		return t
	}
	switch v := strings.Trim(f.GetValue(), `"`); v {
	case "false", "0", "0s", "[]":
		return ""
	default:
		return v
	}
}

func valueWord(f urfave.Flag) string {
	switch f.(type) {
	case *urfave.IntFlag:
		return "N"
	case *urfave.DurationFlag:
		return "TIME"
	}
	return "TEXT"
}
