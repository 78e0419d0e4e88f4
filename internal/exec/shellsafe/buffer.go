package shellsafe

// buffer is a string builder that can be copied: it can be set aside and used
// again.
type buffer struct{ b []byte }

func (t *buffer) WriteString(s string) { t.b = append(t.b, s...) }
func (t *buffer) String() string       { return string(t.b) }
func (t *buffer) Len() int             { return len(t.b) }
