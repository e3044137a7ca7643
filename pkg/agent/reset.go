package agent

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Programs tell the end of a quota window in words at best (specs/agents.md#exit-codes-and-failures): as a clock time, with a
// zone or in the local one ("resets 7pm (UTC)", "try again at 4:16 AM", "resets at 19:30"), with a date ("resets
// Nov 24, 5pm", "try again at Nov 24th, 2026 5:00 PM"), as a time of RFC 3339, or as Unix
// seconds ("limit reached|1760000400").
var (
	resetClock = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)(?:resets?|try again)(?: (?:at|on))? (?:([a-z]{3})[a-z]* (\d{1,2})(?:st|nd|rd|th)?(?:,? (\d{4}))?(?:,| at|, at)? )?(\d{1,2})(?::(\d{2}))? ?([ap])m(?: \(([A-Za-z_/+-]+)\)| (utc|gmt)\b)?`)
	})
	resetHours = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)(?:resets?|try again)(?: at)? (\d{1,2}):(\d{2})(?::\d{2})?(?: \(([A-Za-z_/+-]+)\)| (utc|gmt)\b)?`)
	})
	resetDay = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)(?:resets?|try again) on (jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]* (\d{1,2})(?:st|nd|rd|th)?(?:,? (\d{4}))?\b`)
	})
	resetUnix  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`limit reached\|(\d{10})\b`) })
	resetStamp = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)(?:resets?|try again|retry|until|available)[a-z ]{0,12}[ :=]{1,3}(\d{4}-\d\d-\d\dt\d\d:\d\d:\d\d(?:\.\d+)?(?:z|[+-]\d\d:\d\d))`)
	})
)

// resetDate is a day and a time of UTC: "You will regain access on 2026-12-01 at 00:00 UTC".
var resetDate = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)(?:resets?|try again|access|available|until)[a-z ]{0,8} (\d{4}-\d\d-\d\d)(?: at)? (\d\d:\d\d)(?::\d\d)? ?(?:utc|gmt|z)\b`)
})

// justPassed is how long after a clock time a message that names it still means today.
const justPassed = 10 * time.Minute

// parseReset finds the time at which a quota window ends. A clock time without a date is the
// next one, or one that has just passed.
func parseReset(text string, now time.Time) (time.Time, bool) {
	if m := resetUnix().FindStringSubmatch(text); m != nil {
		seconds, err := strconv.ParseInt(m[1], 10, 64)
		return time.Unix(seconds, 0), err == nil
	}
	if m := resetStamp().FindStringSubmatch(text); m != nil {
		at, err := time.Parse(time.RFC3339, strings.ToUpper(m[1]))
		return at, err == nil
	}
	if m := resetDate().FindStringSubmatch(text); m != nil {
		at, err := time.Parse("2006-01-02 15:04", m[1]+" "+m[2])
		return at, err == nil
	}
	c, ok := findClock(text)
	if !ok || c.hour > 23 || c.minute > 59 {
		return time.Time{}, false
	}
	zone := now.Location()
	if c.zone != "" {
		var err error
		if zone, err = time.LoadLocation(c.zone); err != nil {
			return time.Time{}, false
		}
	}
	here := now.In(zone)
	if c.month == "" {
		at := time.Date(here.Year(), here.Month(), here.Day(), c.hour, c.minute, 0, 0, zone)
		if now.Sub(at) > justPassed {
			at = at.AddDate(0, 0, 1)
		}
		return at, true
	}
	month, err := time.Parse("Jan", strings.ToUpper(c.month[:1])+strings.ToLower(c.month[1:]))
	if err != nil {
		return time.Time{}, false
	}
	day, _ := strconv.Atoi(c.day)
	if year, err := strconv.Atoi(c.year); err == nil {
		return time.Date(year, month.Month(), day, c.hour, c.minute, 0, 0, zone), true
	}
	at := time.Date(here.Year(), month.Month(), day, c.hour, c.minute, 0, 0, zone)
	if at.Before(now.AddDate(0, -1, 0)) { // in December a window may end in January
		at = at.AddDate(1, 0, 0)
	}
	return at, true
}

// clock is a time as people write it; month is empty when no day is named.
type clock struct {
	month, day, year string
	hour, minute     int
	zone             string // "" = the local one
}

// findClock reads a clock time of 12 hours, one of 24, or a day alone, which begins at midnight.
func findClock(text string) (c clock, ok bool) {
	if m := resetClock().FindStringSubmatch(text); m != nil {
		c = clock{month: m[1], day: m[2], year: m[3], zone: m[7] + strings.ToUpper(m[8])}
		c.hour, _ = strconv.Atoi(m[4])
		c.minute, _ = strconv.Atoi(m[5])
		if c.hour < 1 || c.hour > 12 {
			return clock{}, false
		}
		if c.hour %= 12; strings.EqualFold(m[6], "p") {
			c.hour += 12
		}
		return c, true
	}
	if m := resetHours().FindStringSubmatch(text); m != nil {
		c = clock{zone: m[3] + strings.ToUpper(m[4])}
		c.hour, _ = strconv.Atoi(m[1])
		c.minute, _ = strconv.Atoi(m[2])
		return c, true
	}
	if m := resetDay().FindStringSubmatch(text); m != nil {
		return clock{month: m[1], day: m[2], year: m[3]}, true
	}
	return clock{}, false
}

// Providers tell how long to wait as "retry after 30s", "try again in 1 hour 5 minutes",
// "Please retry in 35.5s", "resets in 2h 10m", or as a header with seconds.
var (
	delayWords = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)(?:retry[ -]?after|(?:try again|retry|resets?|available)(?: \w+)? (?:in|after))\W{0,3}((?:\d+(?:\.\d+)?\s*(?:days?|d|hours?|hrs?|h|milliseconds?|ms|minutes?|mins?|m|seconds?|secs?|s)[ ,]*(?:and )?)+\b|\d+(?:\.\d+)?\b)`)
	})
	delayFields = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)retry_?(?:delay|after)_?(ms)?"?\s*[:=]\s*"?(\d+(?:\.\d+)?)(m?s)?\b`)
	})
	delayPart = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)(\d+(?:\.\d+)?)\s*([a-z]*)`) })
)

// longestDelay is the longest wait that is believed; a longer one is taken for another number.
const longestDelay = 32 * 24 * time.Hour

// parseDelay finds how long a provider asks to wait.
func parseDelay(text string) (time.Duration, bool) {
	var total time.Duration
	if m := delayWords().FindStringSubmatch(text); m != nil {
		for _, part := range delayPart().FindAllStringSubmatch(m[1], -1) {
			total += duration(part[1], part[2])
		}
	} else if m := delayFields().FindStringSubmatch(text); m != nil {
		unit := m[3]
		if m[1] != "" {
			unit = "ms"
		}
		total = duration(m[2], unit)
	}
	if total <= 0 || total > longestDelay {
		return 0, false
	}
	return total, true
}

// Programs that try again by themselves say so on stderr as "Retrying after 5552ms..." or "retrying in 8s".
var waitWords = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)\bretrying (?:after|in) (\d+(?:\.\d+)?)\s*(m?s|seconds?|m|minutes?)?\b`)
})

// waits reads a line of stderr that says that the program waits for its provider, and for how long.
func waits(line []byte) (Event, bool) {
	if len(line) > maxMessage || !bytes.Contains(line, []byte("etrying ")) {
		return Event{}, false
	}
	m := waitWords().FindSubmatch(line)
	if m == nil {
		return Event{}, false
	}
	d := duration(string(m[1]), string(m[2]))
	return Event{Kind: EventError, Retry: true, Text: clean(string(line)), RetryAfter: d}, d > 0 && d <= longestDelay
}

// duration reads a number with a unit; without one it is seconds.
func duration(number, unit string) time.Duration {
	n, err := strconv.ParseFloat(number, 64)
	if err != nil || n > 1e9 {
		return 0
	}
	unit = strings.ToLower(unit)
	per := time.Second
	switch {
	case unit == "ms" || strings.HasPrefix(unit, "milli"):
		per = time.Millisecond
	case strings.HasPrefix(unit, "m"):
		per = time.Minute
	case strings.HasPrefix(unit, "h"):
		per = time.Hour
	case strings.HasPrefix(unit, "d"):
		per = 24 * time.Hour
	}
	d := n * float64(per)
	if d > float64(2*longestDelay) {
		return 2 * longestDelay
	}
	return time.Duration(d)
}
