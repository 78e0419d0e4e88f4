package toolsearch

import (
	"cmp"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"sync"

	"mcp-toolset/tools"
)

// Weights of a word by its place in a tool's definition. The weights of several places are
// added.
const (
	inName     = 6
	inServer   = 3
	inAlias    = 5
	inHint     = 4
	inTitle    = 3
	inSentence = 3 // first sentence of the description
	inRest     = 1 // rest of the description
	inInputs   = 1.5

	// half is the weight at which a word has half of the maximal score.
	half = 3
	// mostText is the limit of a description that is indexed, in bytes. Clients truncate
	// descriptions there.
	mostText = tools.MaxPrompt
)

// index is the search index of a catalogue's tools. It is immutable.
type index struct {
	of       []*tools.Tool // tools of the catalogue
	docs     []*tools.Tool // tools that can be found, sorted by name
	names    map[string]*tools.Tool
	terms    []term
	byStem   map[string]int // indices into terms
	surfaces []surface      // sorted by word
	alike    map[string][]int
}

// term represents all forms of a word, by their common stem.
type term struct {
	runes    []rune // characters of the stem
	letters  uint64 // set of its letters
	postings []posting
}

// posting is the occurrence of a term in a tool.
type posting struct {
	doc    int32
	named  bool    // the term is a part of the name
	share  float32 // share of the words in the name, without those of the server
	weight float32 // weight, from 0 to 1
}

// surface is a form of a word as it occurs in a tool.
type surface struct {
	word string
	term int
}

// cache holds the index of the latest catalogue.
type cache struct {
	mu   sync.Mutex
	last *index
}

// get returns the index of a catalogue's tools. It makes a new one if the list is not the
// slice of the last call.
func (c *cache) get(list []*tools.Tool) *index {
	c.mu.Lock()
	defer c.mu.Unlock()
	same := c.last != nil && len(list) == len(c.last.of) && (len(list) == 0 || &list[0] == &c.last.of[0])
	if !same {
		c.last = newIndex(list)
	}
	return c.last
}

// builder collects the words of tools.
type builder struct {
	ix      *index
	words   map[string]int // into ix.terms
	slots   []slot         // occurrences in the present tool, by term
	touched []int          // terms of the present tool
	places  int            // number of places seen so far
}

// slot is the occurrence of a term in the present tool.
type slot struct {
	posting
	present bool
	place   int // latest place with the term
}

func newIndex(list []*tools.Tool) *index {
	ix := &index{of: list, names: map[string]*tools.Tool{}, byStem: map[string]int{}}
	for _, t := range list {
		if !t.Finder {
			ix.docs = append(ix.docs, t)
			ix.names[t.Name] = t
		}
	}
	for _, t := range ix.docs {
		for _, alias := range t.Aliases {
			if ix.names[alias] == nil {
				ix.names[alias] = t
			}
		}
	}
	slices.SortFunc(ix.docs, func(a, b *tools.Tool) int { return cmp.Compare(a.Name, b.Name) })
	b := &builder{ix: ix, words: map[string]int{}}
	for i, t := range ix.docs {
		b.tool(int32(i), t)
	}
	for word, at := range b.words {
		ix.surfaces = append(ix.surfaces, surface{word, at})
	}
	ix.alike = ix.related()
	slices.SortFunc(ix.surfaces, func(a, b surface) int { return cmp.Compare(a.word, b.word) })
	return ix
}

// related returns the indices of synonyms, by stem.
func (ix *index) related() map[string][]int {
	out := map[string][]int{}
	for _, group := range alike {
		for _, word := range group {
			for _, other := range group {
				if at, ok := ix.byStem[stem(other)]; ok && other != word {
					out[stem(word)] = append(out[stem(word)], at)
				}
			}
		}
	}
	return out
}

// tool adds the words of a tool.
func (b *builder) tool(doc int32, t *tools.Tool) {
	server, name := nameParts(t)
	b.add(doc, inServer, server)
	for _, at := range b.touched {
		b.slots[at].named = true
	}
	words := nameWords(name)
	b.add(doc, inName, words)
	for _, word := range words {
		b.slots[b.words[word]].named = true
	}
	parts := slices.DeleteFunc(tools.NameWords(name), stop)
	for _, word := range parts {
		b.slots[b.words[word]].share += 1 / float32(len(parts))
	}
	for _, alias := range t.Aliases {
		b.add(doc, inAlias, nameWords(alias))
	}
	b.add(doc, inHint, prose(t.SearchHint))
	if t.Title != t.Name {
		b.add(doc, inTitle, prose(t.Title))
	}
	text := t.Prompt[:min(len(t.Prompt), mostText)]
	b.add(doc, inSentence, prose(firstSentence(text)))
	b.add(doc, inRest, prose(text))
	for _, input := range inputs(t) {
		b.add(doc, inInputs, nameWords(input))
	}
	for _, at := range b.touched {
		p := b.slots[at].posting
		p.weight /= p.weight + half
		b.ix.terms[at].postings = append(b.ix.terms[at].postings, p)
		b.slots[at] = slot{}
	}
	b.touched = b.touched[:0]
}

// add adds the words of one place. A term counts once per place.
func (b *builder) add(doc int32, weight float32, words []string) {
	b.places++
	for _, word := range words {
		if stop(word) && weight != inName {
			continue
		}
		at, known := b.words[word]
		if !known {
			at = b.ix.term(stem(word))
			b.words[word] = at
			b.slots = append(b.slots, make([]slot, len(b.ix.terms)-len(b.slots))...)
		}
		s := &b.slots[at]
		if s.place == b.places {
			continue
		}
		if !s.present {
			s.present, s.doc = true, doc
			b.touched = append(b.touched, at)
		}
		s.place = b.places
		s.weight += weight
	}
}

// term returns the index of the term with a stem, and adds the term if it is new.
func (ix *index) term(stem string) int {
	at, ok := ix.byStem[stem]
	if !ok {
		at = len(ix.terms)
		ix.byStem[stem] = at
		ix.terms = append(ix.terms, term{runes: []rune(stem), letters: letters(stem)})
	}
	return at
}

// nameParts returns the words of the name of a tool's server, and the name of the tool
// without it.
func nameParts(t *tools.Tool) (server []string, name string) {
	if t.Server == "" {
		return nil, t.Name
	}
	server, name = nameWords(t.Server), t.Name
	if parts := strings.SplitN(t.Name, "__", 3); len(parts) == 3 && parts[0] == "mcp" {
		server, name = append(server, nameWords(parts[1])...), parts[2]
	}
	return server, name
}

// inputs returns the names of a tool's input properties, sorted.
func inputs(t *tools.Tool) []string {
	raw, err := t.InputSchema()
	var schema struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if err != nil || json.Unmarshal(raw, &schema) != nil {
		return nil
	}
	names := make([]string, 0, len(schema.Properties))
	for name := range schema.Properties {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// rarity returns the weight of a word that n of the tools have: the inverse document
// frequency of BM25. It is small if all tools have the word.
func (ix *index) rarity(n int) float32 {
	all := float64(len(ix.docs))
	return float32(math.Log(1 + (all-float64(n)+0.5)/(float64(n)+0.5)))
}
