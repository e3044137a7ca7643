package blackboard

import (
	"math"
	"strconv"
	"strings"
)

// Amount is a figure that may have a fraction: cents, above all. It is kept to four decimals,
// so that the sum of many runs is the same in every order.
type Amount float64

// AmountOf rounds to the decimals that are kept. What is above zero stays above zero.
func AmountOf(n float64) Amount {
	kept := math.Round(n*1e4) / 1e4
	switch {
	case kept == 0 && n > 0:
		kept = 1e-4
	case kept == 0:
		return 0 // never the negative zero
	}
	return Amount(kept)
}

// Plus is the sum without the dust that binary fractions leave.
func (a Amount) Plus(b Amount) Amount { return AmountOf(float64(a) + float64(b)) }

// String is the figure for people: one decimal, and more only where nothing would be left.
func (a Amount) String() string { return rounded(float64(a), 1, 4) }

// Dollars is an amount of cents for people: "$0.17".
func (a Amount) Dollars() string {
	text := rounded(float64(a)/100, 2, 6)
	whole, part, _ := strings.Cut(text, ".")
	if len(part) < 2 {
		part += "00"[len(part):]
	}
	return "$" + whole + "." + part
}

// rounded rounds to some decimals, or to most of them when zero would be shown for something else.
func rounded(n float64, decimals, most int) string {
	text := strconv.FormatFloat(n, 'f', decimals, 64)
	if n != 0 && strings.Trim(text, "-0.") == "" {
		text = strconv.FormatFloat(n, 'f', most, 64)
	}
	if strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return text
}

// Reaches reports whether a limit leaves no room: it is used up, or reserve would go beyond it.
// 0 means no limit.
func (a Amount) Reaches(limit int, reserve Amount) bool {
	return limit > 0 && (a >= Amount(limit) || a.Plus(reserve) > Amount(limit))
}

// Is reports whether the amount is that part of a whole.
func (a Amount) Is(percent, whole int) bool { return 100*a >= Amount(percent)*Amount(whole) }
