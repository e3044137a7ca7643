package history

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
)

// A Link names an entry: "41-" and 32 hex digits. "" is not known.
type Link string

// logName is the journal's own file in what people read.
const logName = "log.yaml"

// Begins is the link before the first entry of a journal.
const Begins = Link("0-00000000000000000000000000000000")

func linkOf(number int, text string) Link {
	sum := sha256.Sum256([]byte(strings.TrimRight(text, " \r\n")))
	return Link(strconv.Itoa(number) + "-" + hex.EncodeToString(sum[:16]))
}

// number is that of the entry; entries before the chain have 0.
func (l Link) number() int {
	n, _, _ := strings.Cut(string(l), "-")
	number, _ := strconv.Atoi(n)
	return number
}

// Chained reports whether the link is of an entry that is chained.
func (l Link) Chained() bool { return l.number() > 0 }
