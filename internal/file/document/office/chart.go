package office

import (
	"encoding/xml"
	"strconv"
	"strings"
)

// chart returns the lines of a chart: its title, and a table of its series with the values
// that were last computed (ISO 29500, 21.2).
func (a *archive) chart(part string) (lines []string, err error) {
	t, err := a.open(part)
	if err != nil {
		return nil, err
	}
	defer t.close()
	var title strings.Builder
	rows := [][]string{{""}}
	set := func(row, col int, value string) {
		for len(rows) <= row {
			rows = append(rows, nil)
		}
		for len(rows[row]) <= col {
			rows[row] = append(rows[row], "")
		}
		rows[row][col] = value
	}
	series, epoch1904 := 0, false
	err = t.each(func(e xml.StartElement) error {
		switch e.Name.Local {
		case "date1904":
			epoch1904 = attr(e, "val") != "0" && attr(e, "val") != "false"
		case "t":
			s, err := t.content()
			title.WriteString(s)
			return err
		case "ser":
			series++
			if series >= maxColumns {
				return t.skip()
			}
			place, code := "", ""
			return t.each(func(e xml.StartElement) (err error) {
				switch name := e.Name.Local; name {
				case "tx", "cat", "xVal", "val", "yVal", "bubbleSize":
					place, code = name, ""
				case "formatCode":
					code, err = t.content()
					return err
				case "pt":
					at, err := strconv.Atoi(attr(e, "idx"))
					if err != nil || at < 0 || at > maxPoints {
						return t.skip()
					}
					own := firstOf(attr(e, "formatCode"), code)
					value, err := t.content()
					if err == nil {
						err = a.hold(len(value) + 16)
					}
					if v, err := strconv.ParseFloat(strings.TrimSpace(value), 64); err == nil {
						value = general(v) // a format may hide digits
						if own == "m/d/yyyy" {
							own = builtin[14] // in the order of one language
						}
						if f := parseFormat(own); len(own) < 1000 && f.sections[0].date {
							value = f.number(v, epoch1904)
						}
					}
					switch value = clean(value); place {
					case "tx":
						set(0, series, value)
					case "cat", "xVal":
						set(at+1, 0, value)
					case "val", "yVal":
						set(at+1, series, value)
					}
					return err
				}
				return nil
			})
		}
		return nil
	})
	name := strings.Join(strings.Fields(clean(title.String())), " ")
	if name != "" {
		name = ": " + name
	}
	lines = []string{"", "[chart" + name + "]"}
	if series > 0 {
		lines = append(append(append(lines, ""), table(rows)...), "")
	}
	return lines, err
}

// maxPoints is the limit of points of a series. More would not help to read a document.
const maxPoints = 1000
