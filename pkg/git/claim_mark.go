package git

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
)

const attachedMark = "attached"

func claimReason(id, nonce string, attached bool) string {
	reason := "liza " + id + " " + nonce
	if attached {
		reason += " " + attachedMark
	}
	return reason
}

// claimOf is the nonce in a lock reason of id, or "".
func claimOf(reason, id string) string {
	words := strings.Fields(reason)
	if len(words) < 3 || words[0] != "liza" || words[1] != id {
		return ""
	}
	return words[2]
}

var noncePattern = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9._:-]{1,64}$`) })

func checkNonce(nonce string) error {
	if !noncePattern().MatchString(nonce) {
		return fmt.Errorf("nonce %q is not one word", nonce)
	}
	return nil
}
