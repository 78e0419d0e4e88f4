package schedule

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // time zones on machines without a database of them

	"github.com/adhocore/gronx"

	"mcp-toolset/internal/text/fault"
	"mcp-toolset/internal/text/plain"
)

// Cron is a cron expression of five fields in a time zone.
//
// It names minutes as a clock on the wall shows them. A minute that the clock skips is due
// at the next minute that exists. Of a minute that the clock shows twice, the first is due.
type Cron struct {
	text string // the fields as numbers, for gronx
	zone *time.Location
}

// field describes a field of an expression.
type field struct {
	name       string
	least, top int
	names      []string // of the values, from least on; nil: none
}

var fields = []field{
	{"minute", 0, 59, nil},
	{"hour", 0, 23, nil},
	{"day of month", 1, 31, nil},
	{"month", 1, 12, []string{"JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"}},
	{"day of week", 0, 7, []string{"SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"}},
}

// example ends the errors about an expression.
const example = `Use five fields, minute hour day-of-month month day-of-week, such as "30 9 * * 1-5".`

// Parse parses an expression. It accepts *, numbers, ranges, lists, steps and English names
// of months and days, and refuses all other forms that the library knows. zone is a name of
// the time zone database, or "" for the time zone of the machine.
func Parse(expression, zone string) (Cron, error) {
	c := Cron{zone: time.Local}
	if zone != "" {
		var err error
		if c.zone, err = time.LoadLocation(zone); err != nil {
			return Cron{}, fault.New("there is no time zone "+plain.Key(zone), "Use a name such as Europe/Berlin or UTC, or leave timezone out for that of the machine.")
		}
	}
	words := strings.Fields(expression)
	if len(words) != len(fields) {
		return Cron{}, fault.New(fmt.Sprintf("cron is %s: the number of its fields is %d", quoted(expression), len(words)), example)
	}
	for i, word := range words {
		var err error
		if words[i], err = fields[i].parse(word); err != nil {
			return Cron{}, fault.New(fmt.Sprintf("cron has %s as the %s: %s", quoted(word), fields[i].name, err), example)
		}
	}
	c.text = strings.Join(words, " ")
	if _, err := c.wall(time.Now()); err != nil {
		return Cron{}, fault.New(fmt.Sprintf("cron is %s, and no date is like that", quoted(expression)), "Change the day of month or the month.")
	}
	return c, nil
}

// parse returns a field as numbers.
func (f field) parse(word string) (string, error) {
	list := strings.Split(word, ",")
	for i, part := range list {
		span, step, stepped := strings.Cut(part, "/")
		if stepped {
			if n, err := number(step); err != nil || n < 1 || n > f.top {
				return "", fmt.Errorf("the step %s is not in 1-%d", quoted(step), f.top)
			}
			step = "/" + step
		}
		first, last, ranged := strings.Cut(span, "-")
		switch {
		case span == "*" && len(list) == 1:
			list[i] = span + step
			continue
		case span == "*":
			return "", fmt.Errorf("* cannot be part of a list")
		case stepped && !ranged:
			return "", fmt.Errorf("a step follows * or a range, such as */5 or 10-30/5")
		}
		from, err := f.value(first)
		if err != nil {
			return "", err
		}
		list[i] = strconv.Itoa(from)
		if !ranged {
			continue
		}
		to, err := f.value(last)
		if err != nil {
			return "", err
		}
		if f.top == 7 && to == 0 {
			to = 7 // a range ends with Sunday
		}
		if from > to {
			return "", fmt.Errorf("the range %s ends before it begins", quoted(span))
		}
		list[i] = fmt.Sprintf("%d-%d%s", from, to, step)
	}
	return strings.Join(list, ","), nil
}

// value returns the number of a value of the field.
func (f field) value(word string) (int, error) {
	if i := slices.Index(f.names, strings.ToUpper(word)); i >= 0 {
		return f.least + i, nil
	}
	n, err := number(word)
	if err != nil || n < f.least || n > f.top {
		names := ""
		if f.names != nil {
			names = " or " + f.names[0] + ", " + f.names[1] + ", ..."
		}
		return 0, fmt.Errorf("%s is not in %d-%d%s", quoted(word), f.least, f.top, names)
	}
	return n, nil
}

// number parses one or two digits.
func number(s string) (int, error) {
	if len(s) > 2 || strings.Trim(s, "0123456789") != "" {
		return 0, strconv.ErrSyntax
	}
	return strconv.Atoi(s)
}

// Next returns the first time after t at which the expression is due. It fails if there is
// none.
func (c Cron) Next(t time.Time) (time.Time, error) {
	t = t.In(c.zone)
	shown := clock(t)
	for {
		var err error
		if shown, err = c.wall(shown); err != nil {
			return time.Time{}, err
		}
		// A minute that the clock shows again was due before t.
		if next := instant(shown, c.zone); next.After(t) {
			return next, nil
		}
	}
}

// wall returns the next minute after one of the clock that the expression names. The times
// are in UTC, where the clock skips and repeats nothing.
func (c Cron) wall(after time.Time) (time.Time, error) {
	next, err := gronx.NextTickAfter(c.text, clock(after), false)
	if err != nil {
		return time.Time{}, fmt.Errorf("finding the next time of %s: %w", c.text, err)
	}
	return next.Truncate(time.Minute), nil
}

// clock returns a time in UTC at which the clock shows what it shows at t.
func clock(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), 0, time.UTC)
}

// instant returns the first time at which a clock in a zone shows what a clock in UTC shows
// at t. If the zone skips that, instant returns the end of what it skips.
func instant(t time.Time, zone *time.Location) time.Time {
	got := time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), 0, 0, zone)
	start, end := got.ZoneBounds()
	switch shown := clock(got); {
	case shown.After(t): // Date used the offset from before the gap
		return start
	case shown.Before(t):
		return end
	}
	if !start.IsZero() {
		_, before := start.Add(-time.Second).Zone()
		_, now := got.Zone()
		if earlier := got.Add(time.Duration(now-before) * time.Second); earlier.Before(start) {
			return earlier
		}
	}
	return got
}

// Zone returns the name of the time zone, for texts.
func (c Cron) Zone() string {
	if c.zone == time.Local {
		return "the time zone of the machine"
	}
	return c.zone.String()
}

// Format returns a time for a text, in the time zone of the expression.
func (c Cron) Format(t time.Time) string { return t.In(c.zone).Format("2006-01-02 15:04 -0700") }

// quoted returns a text from outside between quotes.
func quoted(s string) string {
	if s = plain.Quote(s); strings.HasPrefix(s, `"`) {
		return s
	}
	return `"` + s + `"`
}
