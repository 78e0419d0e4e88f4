package office

import (
	"encoding/xml"
	"strconv"
	"strings"
)

// maxLevels is the number of levels of a list, of Word and of OpenDocument.
const maxLevels = 10

// listLevel describes the labels of one level of a list. Its format is a name of
// ST_NumberFormat (ISO 29500, 17.18.59); "bullet", "none" and "" have no number.
type listLevel struct {
	format string
	text   string // with %1 for the number of the first level
	start  int
	style  string // id of the paragraph style of the level
	legal  bool   // all numbers are decimal
	keep   bool   // the numbers go on after an item of a higher level
}

// listStyle is the definition of a list, with the numbers its items have now.
type listStyle struct {
	levels  [maxLevels]listLevel
	numbers [maxLevels]int
	used    [maxLevels]bool // numbers holds a number
}

// label counts an item and returns its label: a number, "-", or "".
func (l *listStyle) label(level int) string {
	level = min(max(level, 0), maxLevels-1)
	for n := range level {
		if !l.used[n] {
			l.set(n, l.levels[n].start)
		}
	}
	if at := l.levels[level]; l.used[level] {
		l.set(level, l.numbers[level]+1)
	} else {
		l.set(level, at.start)
	}
	for n := level + 1; n < maxLevels; n++ {
		l.used[n] = l.used[n] && l.levels[n].keep
	}
	return l.show(level)
}

func (l *listStyle) set(level, n int) { l.numbers[level], l.used[level] = n, true }

// show returns the label of a level with its present number.
func (l *listStyle) show(level int) string {
	at := l.levels[level]
	switch at.format {
	case "", "none":
		return strings.TrimSpace(strings.NewReplacer(placeholders(func(int) string { return "" })...).Replace(at.text))
	case "bullet":
		if strings.TrimSpace(at.text) == "" {
			return ""
		}
		return "-"
	}
	return strings.TrimSpace(clean(strings.NewReplacer(placeholders(func(n int) string {
		format := l.levels[n].format
		if at.legal {
			format = "decimal"
		}
		return numeral(l.numbers[n], format)
	})...).Replace(at.text)))
}

// placeholders returns the pairs of a replacement of %1 to %9.
func placeholders(value func(level int) string) (pairs []string) {
	for n := range 9 {
		pairs = append(pairs, "%"+strconv.Itoa(n+1), value(n))
	}
	return pairs
}

// numbering is what a Word file says of its lists.
type numbering struct {
	abstract map[string]*listStyle
	numbers  map[string]*listNumber
}

// listNumber is an instance of a list, which shares the numbers of its definition.
type listNumber struct {
	*listStyle
	starts map[int]int // numbers that the first item of a level takes
}

// label counts a paragraph and returns its label.
func (n *numbering) label(ref listRef) string {
	num := n.numbers[ref.num]
	switch {
	case ref.num == "" || ref.num == "0":
		return ""
	case num == nil:
		return "-"
	}
	for level, start := range num.starts {
		switch {
		case level == ref.level:
			num.set(level, start-1)
		case level < ref.level && !num.used[level]:
			num.set(level, start)
		default:
			continue
		}
		delete(num.starts, level)
	}
	return num.listStyle.label(ref.level)
}

// level returns the level that a list has for a paragraph style.
func (n *numbering) level(ref listRef, style string) listRef {
	if num := n.numbers[ref.num]; num != nil {
		for level, l := range num.levels {
			if l.style == style {
				ref.level = level
			}
		}
	}
	return ref
}

// readNumbering reads the lists of a Word file.
func (a *archive) readNumbering(part string) (*numbering, error) {
	n := &numbering{map[string]*listStyle{}, map[string]*listNumber{}}
	t, err := a.open(part)
	if err != nil {
		return nil, err
	}
	defer t.close()
	linked, defined := map[string]string{}, map[string]*listStyle{} // by style
	var num *listNumber
	err = t.each(func(e xml.StartElement) error {
		switch e.Name.Local {
		case "abstractNum":
			id, list := attr(e, "abstractNumId"), &listStyle{}
			n.abstract[id] = list
			return t.each(func(e xml.StartElement) error {
				switch e.Name.Local {
				case "numStyleLink":
					linked[id] = attr(e, "val")
				case "styleLink":
					defined[attr(e, "val")] = list
				case "lvl":
					return readLevel(t, e, list)
				}
				return nil
			})
		case "num":
			num = &listNumber{listStyle: &listStyle{}, starts: map[int]int{}}
			n.numbers[attr(e, "numId")] = num
			return t.each(func(e xml.StartElement) error {
				switch e.Name.Local {
				case "abstractNumId":
					list := n.abstract[attr(e, "val")]
					if other := defined[linked[attr(e, "val")]]; other != nil {
						list = other
					}
					if list != nil {
						num.listStyle = list
					}
				case "lvlOverride":
					level, err := strconv.Atoi(attr(e, "ilvl"))
					if err != nil || level < 0 || level >= maxLevels {
						return t.skip()
					}
					return t.each(func(e xml.StartElement) error {
						switch e.Name.Local {
						case "startOverride":
							num.starts[level], _ = strconv.Atoi(attr(e, "val"))
						case "lvl":
							own := *num.listStyle
							num.listStyle = &own
							return readLevel(t, e, num.listStyle)
						}
						return nil
					})
				}
				return nil
			})
		}
		return nil
	})
	return n, err
}

// readLevel reads the level whose start is e.
func readLevel(t *tokens, e xml.StartElement, list *listStyle) error {
	level, _ := strconv.Atoi(attr(e, "ilvl"))
	if level < 0 || level >= maxLevels {
		return t.skip()
	}
	l := &list.levels[level]
	*l = listLevel{format: "decimal", start: 1, text: "%" + strconv.Itoa(level+1) + "."}
	return t.each(func(e xml.StartElement) error {
		v := attr(e, "val")
		switch e.Name.Local {
		case "start":
			l.start, _ = strconv.Atoi(v)
		case "numFmt":
			l.format = v
		case "lvlText":
			l.text = v
		case "lvlRestart":
			l.keep = v == "0"
		case "pStyle":
			l.style = v
		case "isLgl":
			l.legal = v == "" || isTrue(v)
		}
		return nil
	})
}
