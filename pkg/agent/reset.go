package agent

import (
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Programs tell the end of a quota window in words at best (agents 5): as a clock time, with a
// zone or in the local one ("resets 7pm (UTC)", "try again at 4:16 AM"), with a date ("resets
// Nov 24, 5pm"), or as Unix seconds ("limit reached|1760000400").
var (
	resetClock = regexp.MustCompile(`(?i)(?:resets?|try again)(?: at)? (?:([a-z]{3}) (\d{1,2})(?:,| at|, at)? )?(\d{1,2})(?::(\d{2}))? ?([ap])m(?: \(([A-Za-z_/+-]+)\))?`)
	resetUnix  = regexp.MustCompile(`limit reached\|(\d{10})\b`)
)

// justPassed is how long after a clock time a message that names it still means today.
const justPassed = 10 * time.Minute

// parseReset finds the time at which a quota window ends. A clock time without a date is the
// next one, or one that has just passed.
func parseReset(text string, now time.Time) (time.Time, bool) {
	if m := resetUnix.FindStringSubmatch(text); m != nil {
		seconds, err := strconv.ParseInt(m[1], 10, 64)
		return time.Unix(seconds, 0), err == nil
	}
	m := resetClock.FindStringSubmatch(text)
	if m == nil {
		return time.Time{}, false
	}
	hour, _ := strconv.Atoi(m[3])
	minute, _ := strconv.Atoi(m[4])
	if hour < 1 || hour > 12 || minute > 59 {
		return time.Time{}, false
	}
	hour %= 12
	if strings.EqualFold(m[5], "p") {
		hour += 12
	}
	zone := now.Location()
	if m[6] != "" {
		var err error
		if zone, err = time.LoadLocation(m[6]); err != nil {
			return time.Time{}, false
		}
	}
	here := now.In(zone)
	if m[1] == "" {
		at := time.Date(here.Year(), here.Month(), here.Day(), hour, minute, 0, 0, zone)
		if now.Sub(at) > justPassed {
			at = at.AddDate(0, 0, 1)
		}
		return at, true
	}
	month, err := time.Parse("Jan", strings.ToUpper(m[1][:1])+strings.ToLower(m[1][1:]))
	if err != nil {
		return time.Time{}, false
	}
	day, _ := strconv.Atoi(m[2])
	at := time.Date(here.Year(), month.Month(), day, hour, minute, 0, 0, zone)
	if at.Before(now.AddDate(0, -1, 0)) { // in December a window may end in January
		at = at.AddDate(1, 0, 0)
	}
	return at, true
}
