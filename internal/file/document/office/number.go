package office

import (
	"math"
	"strconv"
	"strings"
)

// number shows a number. With epoch1904 days count from 1904.
func (f *numberFormat) number(v float64, epoch1904 bool) string {
	if f == nil || len(f.sections) == 0 || math.IsNaN(v) || math.IsInf(v, 0) {
		return general(v)
	}
	s, signed := f.choose(v)
	switch {
	case s.date:
		if v < 0 || v >= 2958466 { // years 1900 to 9999
			return general(v)
		}
		return s.time(v, epoch1904)
	case s.digits:
		if !signed {
			v = math.Abs(v)
		}
		return s.digitsOf(v)
	}
	var b strings.Builder
	for _, i := range s.items {
		switch i.kind {
		case 'g', '@':
			if signed {
				b.WriteString(general(v))
			} else {
				b.WriteString(general(math.Abs(v)))
			}
		default:
			b.WriteString(i.text)
		}
	}
	return b.String()
}

// choose returns the section for a number, and whether its minus sign is to be shown.
func (f *numberFormat) choose(v float64) (s *section, signed bool) {
	n := min(len(f.sections), 3)
	for i := range n {
		if c := f.sections[i].condition; c != nil && c(v) {
			return &f.sections[i], i == 0
		}
	}
	if f.sections[0].condition != nil {
		return &f.sections[n-1], true
	}
	switch {
	case n == 3 && v == 0:
		return &f.sections[2], false
	case n >= 2 && v < 0:
		return &f.sections[1], false
	}
	return &f.sections[0], true
}

// text shows a text, for which a format may have a section.
func (f *numberFormat) text(text string) string {
	if f == nil || len(f.sections) < 4 {
		return text
	}
	var b strings.Builder
	for _, i := range f.sections[3].items {
		if i.kind == '@' {
			b.WriteString(text)
		} else if i.kind == 'l' {
			b.WriteString(i.text)
		}
	}
	return b.String()
}

// general shows a number without a format: up to 15 digits, which a spreadsheet keeps, and
// all of a longer whole number, which may be an identifier.
func general(v float64) string {
	abs := math.Abs(v)
	switch {
	case v == 0:
		return "0"
	case abs >= 1e15 && abs < 1e17:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case abs >= 1e17 || abs < 1e-5 || math.IsNaN(v):
		return strings.Replace(strconv.FormatFloat(v, 'G', 6, 64), "E+0", "E+", 1)
	}
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 15, 64), 64)
	if err != nil {
		rounded = v
	}
	return strconv.FormatFloat(rounded, 'f', -1, 64)
}

// digitsOf shows a number in the places for digits.
func (s *section) digitsOf(v float64) string {
	for range s.percent {
		v *= 100
	}
	for range s.scale {
		v /= 1000
	}
	if s.fraction {
		return s.fractionOf(v)
	}
	whole, decimals, power := "", "", ""
	place := &whole
	for _, i := range s.items {
		switch i.kind {
		case '.':
			place = &decimals
		case 'E':
			place = &power
		case '0':
			*place += i.text
		}
	}
	exponent := 0
	if s.exponent && v != 0 {
		step := max(len(whole), 1)
		exponent = int(math.Floor(math.Log10(math.Abs(v))))
		exponent -= ((exponent % step) + step) % step
		v /= math.Pow10(exponent)
	}
	digits := strconv.FormatFloat(math.Abs(round(v, len(decimals))), 'f', min(len(decimals), 30), 64)
	intPart, fracPart, _ := strings.Cut(digits, ".")
	if intPart == "0" && !strings.ContainsAny(whole, "0") {
		intPart = ""
	}
	for len(intPart) < strings.Count(whole, "0") {
		intPart = "0" + intPart
	}
	least := strings.LastIndexByte(decimals, '0') + 1
	for len(fracPart) > least && fracPart[len(fracPart)-1] == '0' {
		fracPart = fracPart[:len(fracPart)-1]
	}
	if s.thousands {
		intPart = grouped(intPart)
	}
	var b strings.Builder
	if v < 0 && strings.Trim(intPart+fracPart, "0") != "" {
		b.WriteString("-")
	}
	pieces, after := s.pieces(intPart), false
	for _, i := range s.items {
		switch i.kind {
		case '0':
			if !after && len(pieces) > 0 {
				b.WriteString(pieces[0])
				pieces = pieces[1:]
			}
		case '.':
			b.WriteString(strings.Join(pieces, ""))
			pieces = nil
			if fracPart != "" || least > 0 {
				b.WriteString("." + fracPart)
			}
			after = true
		case 'E':
			sign := "+"
			if exponent < 0 {
				sign = "-"
			} else if i.text[1] == '-' {
				sign = ""
			}
			digits := strconv.Itoa(max(exponent, -exponent))
			for len(digits) < len(power) {
				digits = "0" + digits
			}
			b.WriteString("E" + sign + digits)
			after = true
		default:
			b.WriteString(i.text)
		}
	}
	return b.String()
}

// pieces divides the digits before the point among their places, from the end: literals
// may be between them, as in telephone numbers.
func (s *section) pieces(digits string) []string {
	var out []string
	for _, i := range s.items {
		if i.kind == '.' || i.kind == 'E' {
			break
		}
		if i.kind == '0' {
			out = append(out, i.text)
		}
	}
	if len(out) == 0 || s.thousands {
		return []string{digits}
	}
	for n := len(out) - 1; n > 0; n-- {
		cut := max(len(digits)-len(out[n]), 0)
		out[n], digits = digits[cut:], digits[:cut]
	}
	out[0] = digits
	return out
}

// round rounds half away from zero, as spreadsheets do, with the digits that are shown.
func round(v float64, decimals int) float64 {
	scale := math.Pow10(min(decimals, 15))
	if scaled := v * scale; math.Abs(scaled) < 1e15 {
		rounded, _ := strconv.ParseFloat(strconv.FormatFloat(scaled, 'g', 15, 64), 64)
		return math.Round(rounded) / scale
	}
	return v
}

func grouped(s string) string {
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// fractionOf shows a number as a fraction whose denominator has as many digits as its
// place.
func (s *section) fractionOf(v float64) string {
	places, denominator := 1, 0
	for i, it := range s.items {
		if it.kind == '/' && i+1 < len(s.items) {
			places = len(s.items[i+1].text)
			denominator, _ = strconv.Atoi(s.items[i+1].text)
		}
	}
	most := int(math.Pow10(min(places, 4))) - 1
	whole, part := math.Modf(math.Abs(v))
	bestN, bestD, least := 0, 1, part
	for d := 1; d <= most; d++ {
		if denominator > 0 {
			d = denominator
		}
		n := math.Round(part * float64(d))
		if e := math.Abs(part - n/float64(d)); e < least-1e-12 {
			bestN, bestD, least = int(n), d, e
		}
		if denominator > 0 {
			break
		}
	}
	if bestN == bestD {
		whole, bestN = whole+1, 0
	}
	out := ""
	if v < 0 {
		out = "-"
	}
	switch {
	case bestN == 0:
		return out + general(whole)
	case whole == 0:
		return out + strconv.Itoa(bestN) + "/" + strconv.Itoa(bestD)
	}
	return out + general(whole) + " " + strconv.Itoa(bestN) + "/" + strconv.Itoa(bestD)
}
