package session

import (
	"crypto/sha256"
	"slices"
)

// maxParts is the maximum number of parts of one file to remember. A model that
// reads a file step by step reads adjacent parts, which are joined.
const maxParts = 64

// Seen describes what a session has seen of a file: one state of it, and parts
// of a later state. A model that has seen a part of a changed file has not seen
// the changes in the rest.
type Seen struct {
	Read                    // of the state that was seen; the first read counts, whatever part it covers
	Later [sha256.Size]byte // hash of a later state
	Parts []Part            // parts shown of the later state, in order and disjoint; must not be modified
}

// Part is a range of shown lines or cells, numbered from 1.
type Part struct{ First, Last int }

// with returns what the session has seen after a further read.
func (s Seen) with(r Read) Seen {
	none := [sha256.Size]byte{}
	if s.Path == "" || r.Last == 0 || r.Hash == none || r.Hash == s.Hash && !s.Moved {
		return Seen{Read: r}
	}
	if s.Later != r.Hash {
		s.Later, s.Parts = r.Hash, nil
	}
	if s.Parts = join(s.Parts, Part{r.First, r.Last}); len(s.Parts) == 1 && r.Total > 0 && s.Parts[0].First <= 1 && s.Parts[0].Last >= r.Total {
		return Seen{Read: r}
	}
	return s
}

// join adds a part to sorted parts and joins those that touch it. It returns at
// most maxParts parts, the last in the file.
func join(parts []Part, p Part) []Part {
	if p.Last < p.First {
		return parts
	}
	var out []Part
	for _, o := range parts {
		if o.Last+1 < p.First || p.Last+1 < o.First {
			out = append(out, o)
			continue
		}
		p = Part{min(o.First, p.First), max(o.Last, p.Last)}
	}
	at, _ := slices.BinarySearchFunc(out, p, func(a, b Part) int { return a.First - b.First })
	out = slices.Insert(out, at, p)
	return out[max(0, len(out)-maxParts):]
}
