package schedule

import (
	"slices"
	"strings"
	"testing"
	"time"

	"mcp-toolset/internal/testscale"
)

func mustParse(t *testing.T, expression, zone string) Cron {
	t.Helper()
	c, err := Parse(expression, zone)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// matcher is the slow and obvious form of a field.
type matcher func(int) bool

func set(values ...int) matcher { return func(n int) bool { return slices.Contains(values, n) } }

func every(n, from int) matcher { return func(v int) bool { return (v-from)%n == 0 } }

func always(int) bool { return true }

// rule is an expression in its slow and obvious form.
type rule struct {
	expression   string
	minute, hour matcher
	date         func(time.Time) bool
	count        [2]int // in the two zones, as a check of the oracle
}

// oracle returns the times from begin to end, minute by minute, at which each rule is due as
// documented.
func oracle(begin, end time.Time, rules []rule) [][]time.Time {
	due := make([][]time.Time, len(rules))
	latest := clock(begin.Add(-24 * time.Hour)) // what the clock has shown; it repeats nothing of a day ago
	is := make([]bool, len(rules))
	for t := begin.Add(-24 * time.Hour); t.Before(end); t = t.Add(time.Minute) {
		now := clock(t)
		clear(is)
		for latest.Before(now) { // more than once only if the clock skips minutes
			latest = latest.Add(time.Minute)
			minute, hour := latest.Minute(), latest.Hour()
			for i, r := range rules {
				is[i] = is[i] || r.minute(minute) && r.hour(hour) && r.date(latest)
			}
		}
		for i := range rules {
			if is[i] && !t.Before(begin) {
				due[i] = append(due[i], t)
			}
		}
	}
	return due
}

// changes reports whether the clock changes within a day of t.
func changes(t time.Time) bool {
	_, before := t.Add(-24 * time.Hour).Zone()
	_, after := t.Add(24 * time.Hour).Zone()
	return before != after
}

func TestYear(t *testing.T) {
	daily := func(time.Time) bool { return true }
	rules := []rule{
		{"30 2 * * *", set(30), set(2), daily, [2]int{366, 366}},
		{"0 0 29 2 *", set(0), set(0), func(d time.Time) bool { return d.Day() == 29 && d.Month() == 2 }, [2]int{1, 1}},
		// An hour of 9 times is skipped and is due once, which is a minute that is due anyway.
		{"*/7 * * * *", every(7, 0), always, daily, [2]int{366*24*9 - 9, 366*24*9 - 4}},
		{"*/20 1-3 * JAN,4-OCT fri-sun", every(20, 0), set(1, 2, 3), func(d time.Time) bool {
			return slices.Contains([]int{0, 5, 6}, int(d.Weekday())) && (d.Month() == 1 || d.Month() >= 4 && d.Month() <= 10)
		}, [2]int{}},
		{"0 12 13,1-10/4 * 7", set(0), set(12), func(d time.Time) bool {
			return slices.Contains([]int{13, 1, 5, 9}, d.Day()) || d.Weekday() == 0
		}, [2]int{}},
		{"0 12 */2 * 1", set(0), set(12), func(d time.Time) bool { return d.Day()%2 == 1 && d.Weekday() == 1 }, [2]int{}},
	}
	for i, zone := range []string{"America/New_York", "Australia/Lord_Howe"} {
		begin := time.Date(2028, 1, 1, 0, 0, 0, 0, mustParse(t, rules[0].expression, zone).zone)
		end := begin.AddDate(1, 0, 0)
		for r, want := range oracle(begin, end, rules) {
			c := rules[r]
			cron := mustParse(t, c.expression, zone)
			if c.count[i] != 0 && len(want) != c.count[i] {
				t.Errorf("%s in %s: the oracle has %d times, want %d", c.expression, zone, len(want), c.count[i])
			}
			at := begin.Add(-time.Second)
			for n, due := range want {
				// Of a frequent rule few days are checked at quick scale, and those on
				// which the clock changes.
				if len(want) > 10_000 && !testscale.Full() && due.YearDay()%10 != 0 && !changes(due) {
					at = due
					continue
				}
				next, err := cron.Next(at)
				if err != nil || !next.Equal(due) {
					t.Errorf("%s: firing %d after %v is at %v (%v), want %v", c.expression, n, at, next, err, due)
					break
				}
				at = next
			}
			if next, err := cron.Next(at); err != nil || next.Before(end) {
				t.Errorf("%s: there is one more at %v (%v)", c.expression, next, err)
			}
		}
	}
}

func TestNext(t *testing.T) {
	for _, c := range []struct{ expression, zone, after, want string }{
		{"30 2 * * *", "America/New_York", "2028-03-12T01:59:59-05:00", "2028-03-12T03:00:00-04:00"},
		{"30 2 * * *", "America/New_York", "2028-03-12T03:00:00-04:00", "2028-03-13T02:30:00-04:00"},
		{"30 1 * * *", "America/New_York", "2028-11-05T01:10:00-05:00", "2028-11-06T01:30:00-05:00"},
		{"15 2 * * *", "Australia/Lord_Howe", "2028-10-01T01:59:00+10:30", "2028-10-01T02:30:00+11:00"},
		{"0 12 30 12 *", "Pacific/Apia", "2011-12-29T12:00:00-10:00", "2011-12-31T00:00:00+14:00"}, // a day that Apia skipped
		{"0 0 29 2 *", "UTC", "2096-03-01T00:00:00Z", "2104-02-29T00:00:00Z"},
		{"0 0 29 2 1", "UTC", "2028-03-01T00:00:00Z", "2029-02-05T00:00:00Z"},
		{"* * * * *", "UTC", "2028-03-01T00:00:00.5Z", "2028-03-01T00:01:00Z"},
	} {
		after, err := time.Parse(time.RFC3339, c.after)
		if err != nil {
			t.Fatal(err)
		}
		next, err := mustParse(t, c.expression, c.zone).Next(after)
		if got := next.Format(time.RFC3339); err != nil || got != c.want {
			t.Errorf("%s after %s: %s (%v), want %s", c.expression, c.after, got, err, c.want)
		}
	}
}

func TestRefused(t *testing.T) {
	for expression, want := range map[string]string{
		"@daily":              `cron is "@daily": the number of its fields is 1. ` + example,
		"* * * * * *":         `cron is "* * * * * *": the number of its fields is 6. ` + example,
		"":                    `cron is "": the number of its fields is 0. ` + example,
		"60 * * * *":          `cron has "60" as the minute: "60" is not in 0-59. ` + example,
		"* 24 * * *":          `cron has "24" as the hour: "24" is not in 0-23. ` + example,
		"* * 0 * *":           `cron has "0" as the day of month: "0" is not in 1-31. ` + example,
		"* * L * *":           `cron has "L" as the day of month: "L" is not in 1-31. ` + example,
		"* * 15W * *":         `cron has "15W" as the day of month: "15W" is not in 1-31. ` + example,
		"* * ? * *":           `cron has "?" as the day of month: "?" is not in 1-31. ` + example,
		"* * * 13 *":          `cron has "13" as the month: "13" is not in 1-12 or JAN, FEB, .... ` + example,
		"* * * MON *":         `cron has "MON" as the month: "MON" is not in 1-12 or JAN, FEB, .... ` + example,
		"* * * * 5#2":         `cron has "5#2" as the day of week: "5#2" is not in 0-7 or SUN, MON, .... ` + example,
		"* * * * 8":           `cron has "8" as the day of week: "8" is not in 0-7 or SUN, MON, .... ` + example,
		"*/100 * * * *":       `cron has "*/100" as the minute: the step "100" is not in 1-59. ` + example,
		"*/0 * * * *":         `cron has "*/0" as the minute: the step "0" is not in 1-59. ` + example,
		"5/10 * * * *":        `cron has "5/10" as the minute: a step follows * or a range, such as */5 or 10-30/5. ` + example,
		"*,5 * * * *":         `cron has "*,5" as the minute: * cannot be part of a list. ` + example,
		"30-10 * * * *":       `cron has "30-10" as the minute: the range "30-10" ends before it begins. ` + example,
		"1,,2 * * * *":        `cron has "1,,2" as the minute: "" is not in 0-59. ` + example,
		"-1 * * * *":          `cron has "-1" as the minute: "" is not in 0-59. ` + example,
		"1-2-3 * * * *":       `cron has "1-2-3" as the minute: "2-3" is not in 0-59. ` + example,
		"+5 * * * *":          `cron has "+5" as the minute: "+5" is not in 0-59. ` + example,
		"0 0 30 2 *":          `cron is "0 0 30 2 *", and no date is like that. Change the day of month or the month.`,
		"0 0 31 2,4,6,9 *":    `cron is "0 0 31 2,4,6,9 *", and no date is like that. Change the day of month or the month.`,
		"* * * * " + "\u0661": "cron has \"\u0661\" as the day of week: \"\u0661\" is not in 0-7 or SUN, MON, .... " + example,
	} {
		if _, err := Parse(expression, "UTC"); err == nil || err.Error() != want {
			t.Errorf("%s:\n%v, want\n%s", expression, err, want)
		}
	}
	for _, zone := range []string{"CET/Berlin", "../UTC", "/etc/passwd", "x\ny", strings.Repeat("a", 500)} {
		if _, err := Parse("* * * * *", zone); err == nil || !strings.HasPrefix(err.Error(), "there is no time zone ") ||
			!strings.HasSuffix(err.Error(), ". Use a name such as Europe/Berlin or UTC, or leave timezone out for that of the machine.") {
			t.Error(err)
		}
	}
}
