package pattern

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"mcp-toolset/internal/text/nearest"
)

// scripts maps the four-letter names of the most used scripts (ISO 15924).
var scripts = map[string]string{
	"arab": "Arabic", "armn": "Armenian", "beng": "Bengali", "cyrl": "Cyrillic", "deva": "Devanagari", "ethi": "Ethiopic",
	"geor": "Georgian", "grek": "Greek", "hang": "Hangul", "hani": "Han", "hebr": "Hebrew", "hira": "Hiragana",
	"kana": "Katakana", "khmr": "Khmer", "latn": "Latin", "mong": "Mongolian", "mymr": "Myanmar", "sinh": "Sinhala",
	"taml": "Tamil", "telu": "Telugu", "thai": "Thai", "tibt": "Tibetan", "zinh": "Inherited", "zyyy": "Common",
}

// binary maps short and derived names of properties (PropertyAliases.txt).
var binary = map[string]func() set{
	"any":         func() set { return anyRune },
	"ascii":       func() set { return rangeSet(0, unicode.MaxASCII) },
	"assigned":    assigned,
	"alpha":       alphabetic,
	"alphabetic":  alphabetic,
	"lower":       lowercase,
	"lowercase":   lowercase,
	"upper":       uppercase,
	"uppercase":   uppercase,
	"space":       space,
	"wspace":      space,
	"whitespace":  space,
	"idstart":     idStart,
	"ids":         idStart,
	"xidstart":    idStart,
	"xids":        idStart,
	"idcontinue":  idContinue,
	"idc":         idContinue,
	"xidcontinue": idContinue,
	"xidc":        idContinue,
	"math":        func() set { return tables(unicode.Sm, unicode.Other_Math) },
	"hex":         func() set { return tables(unicode.Hex_Digit) },
	"ahex":        func() set { return tables(unicode.ASCII_Hex_Digit) },
	"ideo":        func() set { return tables(unicode.Ideographic) },
	"joinc":       func() set { return tables(unicode.Join_Control) },
	"epres":       emoji["emojipresentation"],
	"emod":        emoji["emojimodifier"],
	"ebase":       emoji["emojimodifierbase"],
	"ecomp":       emoji["emojicomponent"],
	"extpict":     emoji["extendedpictographic"],
}

func lowercase() set { return tables(unicode.Ll, unicode.Other_Lowercase) }
func uppercase() set { return tables(unicode.Lu, unicode.Other_Uppercase) }

// assigned returns the runes that have a category: all except Cn.
func assigned() set {
	return tables(unicode.L, unicode.M, unicode.N, unicode.P, unicode.S, unicode.Z, unicode.Cc, unicode.Cf, unicode.Co, unicode.Cs)
}

// idStart and idContinue return the runes of identifiers of UAX #31. They include the
// few runes that differ for XID.
func idStart() set {
	return tables(unicode.L, unicode.Nl, unicode.Other_ID_Start).minus(tables(unicode.Pattern_Syntax, unicode.Pattern_White_Space))
}

func idContinue() set {
	more := tables(unicode.Mn, unicode.Mc, unicode.Nd, unicode.Pc, unicode.Other_ID_Continue)
	return idStart().union(more.minus(tables(unicode.Pattern_Syntax, unicode.Pattern_White_Space)))
}

// bareName returns the form of a name for comparison (UAX #44, LM3).
func bareName(name string) string {
	return strings.ToLower(strings.NewReplacer(" ", "", "_", "", "-", "").Replace(name))
}

// property parses the part after \p or \P.
func (p *parser) property(start int, negated bool) set {
	if !p.more() {
		p.fail(start, "the property has no name: it is", `Write one in braces, as \p{Greek}; a backslash of the text is written \\.`)
	}
	if !p.accept("{") {
		p.next()
		return p.named(start, p.src[start+len(`\p`):p.pos], negated)
	}
	name, _, found := strings.Cut(p.src[p.pos:], "}")
	if !found {
		p.fail(start, "the property has no closing brace: it is", `Write it as \p{Greek}; a backslash of the text is written \\.`)
	}
	p.pos += len(name) + 1
	if rest, ok := strings.CutPrefix(name, "^"); ok {
		name, negated = rest, !negated
	}
	return p.named(start, name, negated)
}

// named returns the set of a property, given as a name or as a kind of names and a
// name.
func (p *parser) named(start int, name string, negated bool) set {
	key := fmt.Sprintf("%s %v %v", name, negated, p.flags.fold)
	if s := p.sets[key]; s != nil {
		return s
	}
	s := p.find(start, name, &negated)
	s = p.foldSet(s)
	if negated {
		s = s.negate()
	}
	if p.sets == nil {
		p.sets = map[string]set{}
	}
	p.sets[key] = s
	return s
}

// find looks up a name. A != in it inverts negated.
func (p *parser) find(start int, name string, negated *bool) set {
	var s set
	kind, value, paired := strings.Cut(strings.Replace(name, ":", "=", 1), "=")
	if k, ok := strings.CutSuffix(kind, "!"); ok && paired {
		kind, *negated = k, !*negated
	}
	switch bare := bareName(kind); {
	case !paired:
		s = lookup(name, true, true, true)
	case bare == "script" || bare == "sc":
		s = lookup(value, false, true, false)
	case bare == "generalcategory" || bare == "gc":
		s = lookup(value, true, false, false)
	default:
		p.fail(start, fmt.Sprintf("names of the kind %q are not known: it is", kind), `Known are Script and General_Category, as in \p{Script=Greek}.`)
	}
	if s == nil {
		last := name
		if paired {
			last = value
		}
		next := `Write a category as \p{Lu}, a script as \p{Greek} or a property as \p{Alphabetic}.`
		if near := nearest.Names(last, propertyNames(), 3); len(near) > 0 {
			next = "Near it: " + strings.Join(near, ", ") + "."
		}
		p.fail(start, fmt.Sprintf("the property %q is unknown: it is", last), next)
	}
	return s
}

// lookup finds a name among the allowed kinds. It returns nil if the name is unknown.
func lookup(name string, category, script, property bool) set {
	bare := bareName(name)
	find := func(in map[string]*unicode.RangeTable) *unicode.RangeTable {
		for n, t := range in {
			if bareName(n) == bare {
				return t
			}
		}
		return nil
	}
	for _, b := range []string{bare, strings.TrimPrefix(bare, "is")} {
		bare = b
		if category {
			if t := find(unicode.Categories); t != nil {
				return tables(t)
			}
			for long, short := range unicode.CategoryAliases {
				if bareName(long) == b {
					return tables(unicode.Categories[short])
				}
			}
		}
		if script {
			if long := scripts[b]; long != "" {
				return tables(unicode.Scripts[long])
			}
			if t := find(unicode.Scripts); t != nil {
				return tables(t)
			}
		}
		if property {
			if f := binary[b]; f != nil {
				return f()
			}
			if f := emoji[b]; f != nil {
				return f()
			}
			if t := find(unicode.Properties); t != nil {
				return tables(t)
			}
		}
	}
	return nil
}

// propertyNames returns the names for suggestions.
func propertyNames() []string {
	names := []string{"Alphabetic", "Uppercase", "Lowercase", "Emoji", "Emoji_Presentation", "Extended_Pictographic", "Letter", "Number", "Punctuation", "Symbol", "Separator"}
	for n := range unicode.Scripts {
		names = append(names, n)
	}
	for n := range unicode.Properties {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}
