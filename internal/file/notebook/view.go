package notebook

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"mcp-toolset/internal/file/document/picture"
	"mcp-toolset/internal/text/fault"
)

// Limits of what one answer shows.
const (
	// longestOutput is the limit of an output's text shown together with other cells, in bytes:
	// some 2,500 tokens, more than a usual table or traceback.
	longestOutput = 10_000
	// longestAlone is the limit of a text of a cell that is read alone, in bytes. The server holds
	// several copies of it while storing it.
	longestAlone = 4 << 20
	// mostPictures is the limit of pictures in an answer. Each takes up to a second to decode, and
	// models process more than 20 only at a lower resolution.
	mostPictures = 20
	// The size of the text that an answer adds around a cell and an output, in place of what is
	// truncated, and with or instead of a picture, in bytes. The actual tags and notices are
	// somewhat shorter.
	cellWords    = 120
	outputWords  = 60
	cutWords     = 100
	pictureWords = 250
)

// Request selects what to show. The zero Request shows everything.
type Request struct {
	First        int // number of the first cell, from 1; 0 means 1, -n the nth from the end
	Count        int // number of cells; 0 means all that follow. The outputs of a single cell are shown whole
	Budget       int // limit of the text in bytes, including that around the cells; 0 means none. The first cell is always shown
	PictureBytes int // limit of all pictures as shown, in bytes; 0 means none. The first picture is always shown
}

// View holds what one answer shows.
type View struct {
	Language string
	Total    int // number of cells of the notebook
	First    int // number of the first cell shown, from 1
	Cells    []Shown
	Next     int // number of the first requested cell that is left out; 0 if there is none
}

// Shown is a cell as shown in an answer.
type Shown struct {
	Number  int // from 1
	ID      string
	Type    string
	Source  string
	Count   int // execution count; 0 if not run
	Outputs []ShownOutput
}

// ShownOutput is a text or a picture.
type ShownOutput struct {
	Text    string
	Picture *picture.Picture // nil for a text
}

// View selects what one answer shows. A first cell beyond the last is a *fault.Fault whose fact
// continues the file's name. A notebook without cells has a View without cells.
func (n *Notebook) View(r Request) (*View, error) {
	if r.First < 0 {
		r.First += len(n.Cells) + 1
	}
	r.First = max(r.First, 1)
	v := &View{Language: n.Language, Total: len(n.Cells), First: r.First}
	if v.Total == 0 {
		return v, nil
	}
	if r.First > v.Total {
		return nil, beyond(r.First, v.Total)
	}
	end := v.Total
	if r.Count > 0 && r.Count < end-r.First+1 {
		end = r.First + r.Count - 1
	}
	g := pictureState{limit: r.PictureBytes}
	used := 0
	for number := r.First; number <= end; number++ {
		c := n.Cells[number-1]
		used += c.words(r.Count == 1)
		if r.Budget > 0 && used > r.Budget && number > r.First {
			v.Next = number
			break
		}
		v.Cells = append(v.Cells, c.shown(number, r.Count == 1, &g))
	}
	return v, nil
}

func beyond(first, total int) error {
	fact, next := fmt.Sprintf("has %d cells, so there is no cell %d", total, first), fmt.Sprintf("Use an offset from 1 to %d.", total)
	if total == 1 {
		fact, next = fmt.Sprintf("has 1 cell, so there is no cell %d", first), "Use offset 1."
	}
	return &fault.Fault{Fact: fact, Next: next}
}

// words estimates the bytes of text that a cell takes in an answer. The estimate is rather too high
// than too low.
func (c Cell) words(alone bool) int {
	n := cellWords + len(c.ID) + len(c.Type) + len(c.Source)
	for _, o := range c.Outputs {
		n += outputWords + len(c.ID)
		switch {
		case o.Picture != nil:
			n += pictureWords
		case alone:
			n += min(len(o.Text), longestAlone+cutWords)
		default:
			n += min(len(o.Text), longestOutput+cutWords)
		}
	}
	return n
}

func (c Cell) shown(number int, alone bool, g *pictureState) Shown {
	s := Shown{Number: number, ID: c.ID, Type: c.Type, Source: cut(c.Source, longestAlone, tooLong), Count: c.Count}
	limit, where := longestOutput, fmt.Sprintf("read this cell alone to see them: offset %d, limit 1", number)
	if alone {
		limit, where = longestAlone, tooLong
	}
	for _, o := range c.Outputs {
		if o.Picture != nil {
			s.Outputs = append(s.Outputs, g.show(o, number, alone))
		} else {
			s.Outputs = append(s.Outputs, ShownOutput{Text: cut(o.Text, limit, where)})
		}
	}
	return s
}

// tooLong describes where to find the rest of a text that no answer shows.
const tooLong = "other tools can take them out of the file"

// pictureState holds the state of the pictures of one answer.
type pictureState struct {
	limit int // in bytes; 0 means none
	tried int
	used  int
	full  bool
}

// show returns a picture that fits the answer, or a text that explains why it is missing. After one
// picture is left out all others are too, so that a model knows which ones it has.
func (g *pictureState) show(o Output, number int, alone bool) ShownOutput {
	if g.full || g.tried == mostPictures {
		return ShownOutput{Text: omittedNote(number, alone)}
	}
	g.tried++
	p, err := picture.Fit(o.Picture)
	if err != nil {
		why := "it is damaged"
		var f *fault.Fault
		if errors.As(err, &f) {
			why = "it " + f.Fact
		}
		return ShownOutput{Text: noPicture(o.PictureType, why)}
	}
	if g.limit > 0 && g.used > 0 && g.used+len(p.Data) > g.limit {
		g.full = true
		return ShownOutput{Text: omittedNote(number, alone)}
	}
	g.used += len(p.Data)
	return ShownOutput{Picture: p}
}

func omittedNote(number int, alone bool) string {
	if alone {
		return "[a picture is left out: the cell has more than one answer holds]"
	}
	return fmt.Sprintf("[a picture is left out; read this cell alone: offset %d, limit 1]", number)
}

// cut removes the middle of a text that exceeds limit and names the place where it can be read. It
// cuts between lines unless they are too long.
func cut(text string, limit int, where string) string {
	if len(text) <= limit {
		return text
	}
	half := limit / 2
	from := len(text) - half
	head, tail := text[:half], text[from:]
	if i := strings.LastIndexByte(head, '\n'); i >= half/2 {
		head = head[:i+1]
	} else {
		head = strings.TrimSuffix(head, partOfRune(text, half))
	}
	if i := strings.IndexByte(text[from-1:], '\n'); i >= 0 && i < half/2 {
		tail = text[from+i:]
	} else {
		for !utf8.RuneStart(tail[0]) {
			tail = tail[1:]
		}
	}
	left := len(text) - len(head) - len(tail)
	return fmt.Sprintf("%s\n[%d bytes left out here; %s]\n%s", strings.TrimSuffix(head, "\n"), left, where, tail)
}

// partOfRune returns the start of a character that a cut at n would divide.
func partOfRune(text string, n int) string {
	from := n
	for from > 0 && !utf8.RuneStart(text[from]) {
		from--
	}
	return text[from:n]
}
