package session

import (
	"crypto/sha256"
	"slices"
)

// maxParts bounds the parts of one file that are remembered: a model that reads
// on and on reads neighbours, which are one part.
const maxParts = 64

// Seen is what a session has seen of a file: one state of it, and parts of a
// later one. Who sees a part of a file that has changed has not seen what
// changed in the rest of it.
type Seen struct {
	Read                    // of the state that was seen; the first read of a file counts, whatever part it was of
	Later [sha256.Size]byte // the hash of a later state
	Parts []Part            // what was shown of that, in order and apart from each other; must not be modified
}

// Part is lines or cells that were shown, numbered from 1.
type Part struct{ First, Last int }

// with is what has been seen after a further read.
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

// join adds a part to others.
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
