package office

import (
	"strconv"
	"strings"
)

// numeral writes a number of a list in a format of ST_NumberFormat. A format it does not
// know gives decimal digits.
func numeral(n int, format string) string {
	decimal := strconv.Itoa(n)
	if n < 1 || n > 9999 {
		return decimal
	}
	switch format {
	case "none", "bullet":
		return ""
	case "upperRoman":
		return roman(n)
	case "lowerRoman":
		return strings.ToLower(roman(n))
	case "upperLetter":
		return letters(n)
	case "lowerLetter":
		return strings.ToLower(letters(n))
	case "decimalZero":
		if n < 10 {
			return "0" + decimal
		}
	case "ordinal":
		return decimal + ordinal(n)
	case "numberInDash":
		return "- " + decimal + " -"
	case "decimalEnclosedCircle", "decimalEnclosedCircleChinese":
		if n <= 20 {
			return string(rune('①' + n - 1))
		}
	case "decimalFullWidth", "decimalFullWidth2":
		return strings.Map(func(r rune) rune { return r - '0' + '０' }, decimal)
	case "chineseCounting", "chineseCountingThousand", "japaneseCounting", "taiwaneseCounting", "taiwaneseCountingThousand", "ideographTraditional":
		return chinese(n, strings.HasPrefix(format, "japanese"))
	}
	return decimal
}

func roman(n int) string {
	var b strings.Builder
	for _, r := range []struct {
		value int
		sign  string
	}{
		{1000, "M"}, {900, "CM"}, {500, "D"}, {400, "CD"}, {100, "C"}, {90, "XC"}, {50, "L"}, {40, "XL"}, {10, "X"}, {9, "IX"}, {5, "V"}, {4, "IV"}, {1, "I"},
	} {
		for ; n >= r.value; n -= r.value {
			b.WriteString(r.sign)
		}
	}
	return b.String()
}

// letters counts as Word does: A to Z, AA, BB to ZZ, AAA.
func letters(n int) string {
	return strings.Repeat(string(rune('A'+(n-1)%26)), (n-1)/26+1)
}

func ordinal(n int) string {
	if n/10%10 != 1 {
		switch n % 10 {
		case 1:
			return "st"
		case 2:
			return "nd"
		case 3:
			return "rd"
		}
	}
	return "th"
}

// chinese writes a number up to 9999 with the digits and units of Chinese. Japanese has
// no zero between them, and no one before them.
func chinese(n int, japanese bool) string {
	digits, units := []rune("零一二三四五六七八九"), []string{"千", "百", "十", ""}
	out, zero := "", false
	for i, unit := range units {
		value := []int{1000, 100, 10, 1}[i]
		d := n / value % 10
		if d == 0 {
			zero = zero || out != ""
			continue
		}
		if zero && !japanese {
			out += "零"
		}
		zero = false
		if d > 1 || unit == "" || !japanese && (out != "" || unit != "十") {
			out += string(digits[d])
		}
		out += unit
	}
	return out
}
