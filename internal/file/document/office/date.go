package office

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// time shows a number of days as a date or time.
func (s *section) time(v float64, epoch1904 bool) string {
	decimals := 0
	for i, it := range s.items {
		if it.kind == '.' && i+1 < len(s.items) && s.items[i+1].kind == '0' {
			decimals = min(len(s.items[i+1].text), 9)
		}
	}
	unit := math.Pow10(decimals)
	ticks := math.Round(v * 86400 * unit) // the smallest time that is shown
	seconds := ticks / unit
	days := math.Floor(seconds / 86400)
	epoch := time.Date(1899, 12, 30, 0, 0, 0, 0, time.UTC)
	switch {
	case epoch1904:
		epoch = time.Date(1904, 1, 1, 0, 0, 0, 0, time.UTC)
	case days < 60: // 1900 is taken for a leap year
		epoch = epoch.AddDate(0, 0, 1)
	}
	at := epoch.AddDate(0, 0, int(days)).Add(time.Duration((seconds - days*86400) * float64(time.Second)).Round(time.Microsecond))
	var b strings.Builder
	for i, it := range s.items {
		switch it.kind {
		case 'd':
			b.WriteString(s.field(i, at))
		case 'e':
			per := map[byte]float64{'h': 3600, 'm': 60, 's': 1}[it.text[0]]
			text := strconv.FormatFloat(math.Floor(seconds/per+1e-9), 'f', 0, 64)
			for len(text) < len(it.text) {
				text = "0" + text
			}
			b.WriteString(text)
		case 'a':
			half := "AM"
			if at.Hour() >= 12 {
				half = "PM"
			}
			if it.text == "A/P" {
				half = half[:1]
			}
			b.WriteString(half)
		case '0':
			if i > 0 && s.items[i-1].kind == '.' {
				text := strconv.FormatFloat(math.Mod(ticks, unit), 'f', 0, 64)
				for len(text) < decimals {
					text = "0" + text
				}
				b.WriteString(text)
			}
		default:
			b.WriteString(it.text)
		}
	}
	return b.String()
}

// field shows the field of a date or time with the letters of item i.
func (s *section) field(i int, at time.Time) string {
	letters := s.items[i].text
	two := func(n int) string {
		if len(letters) > 1 && n < 10 {
			return "0" + strconv.Itoa(n)
		}
		return strconv.Itoa(n)
	}
	switch letters[0] {
	case 'y', 'e':
		if len(letters) <= 2 && letters[0] == 'y' {
			return at.Format("06")
		}
		return at.Format("2006")
	case 'd':
		switch len(letters) {
		case 1, 2:
			return two(at.Day())
		case 3:
			return at.Format("Mon")
		}
		return at.Format("Monday")
	case 'h':
		hour := at.Hour()
		if s.noon {
			hour = (hour+11)%12 + 1
		}
		return two(hour)
	case 's':
		return two(at.Second())
	}
	if s.minutes(i) {
		return two(at.Minute())
	}
	switch len(letters) {
	case 1, 2:
		return two(int(at.Month()))
	case 3:
		return at.Format("Jan")
	case 5:
		return at.Format("Jan")[:1]
	}
	return at.Format("January")
}

// minutes reports whether the m of item i follows hours or precedes seconds.
func (s *section) minutes(i int) bool {
	if len(s.items[i].text) > 2 {
		return false
	}
	for j := i - 1; j >= 0; j-- {
		if k := s.items[j]; k.kind == 'd' || k.kind == 'e' {
			if k.text[0] == 'h' {
				return true
			}
			break
		}
	}
	for j := i + 1; j < len(s.items); j++ {
		if k := s.items[j]; k.kind == 'd' || k.kind == 'e' {
			return k.text[0] == 's'
		}
	}
	return false
}
