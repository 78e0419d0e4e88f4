package shellsafe

// buffer is a strings.Builder that may be put aside and taken up again.
type buffer struct{ b []byte }

func (t *buffer) WriteString(s string) { t.b = append(t.b, s...) }
func (t *buffer) String() string       { return string(t.b) }
func (t *buffer) Len() int             { return len(t.b) }
