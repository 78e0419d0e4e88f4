package office

import (
	"encoding/xml"
	"strconv"
	"strings"
)

// field is a field of a paragraph: its instruction, and where its result begins.
type field struct {
	code string
	from int
}

// isOn reports whether a property that is on without a value is on.
func isOn(e xml.StartElement) bool { return attr(e, "val") == "" || isTrue(attr(e, "val")) }

// mark takes a mark of a field (ISO 29500-1, 17.16.18). A field HYPERLINK becomes a link.
func (p *paragraph) mark(kind string) {
	last := len(p.fields) - 1
	switch {
	case kind == "begin":
		p.fields = append(p.fields, field{from: -1})
	case last < 0:
	case kind == "separate":
		p.fields[last].from = p.text.Len()
	case kind == "end":
		f := p.fields[last]
		p.fields = p.fields[:last]
		if words := strings.Fields(f.code); f.from >= 0 && len(words) > 1 && words[0] == "HYPERLINK" && words[1][0] == '"' {
			p.link(f.from, relation{kind: "hyperlink", target: strings.Trim(words[1], `"`)})
		}
	}
}

// formField reads the mark of a field, and shows the state of a check box or list.
func (p *paragraph) formField(t *tokens) error {
	box, on, chosen := false, false, 0
	var entries []string
	err := t.each(func(e xml.StartElement) error {
		switch e.Name.Local {
		case "checkBox":
			box = true
		case "default", "result":
			chosen, _ = strconv.Atoi(attr(e, "val"))
			on = isOn(e)
		case "checked":
			on = isOn(e)
		case "listEntry":
			entries = append(entries, attr(e, "val"))
		}
		return nil
	})
	switch {
	case box && on:
		p.text.WriteString("☒")
	case box:
		p.text.WriteString("☐")
	case chosen >= 0 && chosen < len(entries):
		p.text.WriteString(entries[chosen])
	}
	return err
}

// symbol returns a character of a font of symbols. code is hexadecimal; F000 to F0FF are the codes
// of the font itself.
func symbol(font, code string) string {
	n, err := strconv.ParseUint(code, 16, 32)
	if err != nil {
		return ""
	}
	if n < 0xF000 || n > 0xF0FF {
		return string(rune(n))
	}
	n -= 0xF000
	set := wingdings
	if font == "Symbol" {
		set = greek
	}
	if s := set[byte(n)]; s != "" && (font == "Symbol" || font == "Wingdings") {
		return s
	}
	return "[symbol " + strconv.Itoa(int(n)) + " of " + firstOf(font, "no font") + "]"
}

// wingdings and greek are the usual symbols of the fonts Wingdings and Symbol (Unicode
// Consortium, mapping of Symbol; L2/12-368 for Wingdings).
var (
	wingdings = map[byte]string{
		0x4A: "☺", 0x4C: "☹", 0x6C: "●", 0x6E: "■", 0x6F: "□", 0x71: "❑", 0x76: "❖", 0x9F: "•", 0xA7: "▪", 0xA8: "◻",
		0xD8: "➢", 0xDF: "←", 0xE0: "→", 0xE1: "↑", 0xE2: "↓", 0xF0: "⇨", 0xFB: "✗", 0xFC: "✓", 0xFD: "☒", 0xFE: "☑",
	}
	greek = greekOf("ABGDEZHQIKLMNXOPRSTUFCYWabgdezhqiklmnxoprstufcyw", "ΑΒΓΔΕΖΗΘΙΚΛΜΝΞΟΠΡΣΤΥΦΧΨΩαβγδεζηθικλμνξοπρστυφχψω")
)

func greekOf(letters, meant string) map[byte]string {
	out := map[byte]string{0xA3: "≤", 0xA5: "∞", 0xAC: "←", 0xAD: "↑", 0xAE: "→", 0xAF: "↓", 0xB0: "°", 0xB1: "±", 0xB3: "≥",
		0xB4: "×", 0xB7: "•", 0xB8: "÷", 0xB9: "≠", 0xBB: "≈", 0xC5: "⊕", 0xCE: "∈", 0xD2: "®", 0xD3: "©", 0xD6: "√", 0xDE: "⇒", 0xE5: "∑"}
	for i, r := range []rune(meant) {
		out[letters[i]] = string(r)
	}
	return out
}
