package pdf

import (
	"bytes"
	"compress/zlib"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"sync"
)

// Patterns of the text of objects, made when they are first used.
var (
	objectStart = pattern(`(?:^|[\r\n\x00\t\f ])(\d{1,7})[\r\n\t ]+\d{1,5}[\r\n\t ]+obj\b`)
	reference   = pattern(`(\d{1,7})\s+\d{1,5}\s+R\b`)
	isPage      = pattern(`/Type\s*/Page\b`)
	isCatalog   = pattern(`/Type\s*/Catalog\b`)
	isBundle    = pattern(`/Type\s*/ObjStm\b`)
	streamStart = pattern(`\bstream\r?\n`)
)

func pattern(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}

// maxPagesLeft is the limit of pages of a file that is rebuilt.
const maxPagesLeft = 10_000

// remains holds the objects that are left of a file that ends early.
type remains struct {
	data  []byte         // the file, and behind it the objects that were in streams
	at    map[int]int    // the offset of each object
	texts map[int][]byte // the text of each object, without its stream
	pages []int          // the objects that are pages, as they follow each other in the file

	catalog int // the last object that is a catalog, or 0
}

// rebuild returns a file that ends early with a new list of the pages that are whole, and a
// table of objects. It returns the number of these pages, and the number that the file had, 0
// if that is unknown. Nothing is rebuilt of an encrypted file.
func rebuild(file io.ReaderAt, size int64) (whole []byte, left, had int) {
	data := inMemory(file, size)
	if data == nil || bytes.Contains(data, []byte("/Encrypt")) {
		return nil, 0, 0
	}
	r := &remains{at: map[int]int{}, texts: map[int][]byte{}}
	r.data = append(data, "\nendstream\nendobj\n"...) // the end of an object that is cut
	r.scan(len(data))
	pages, catalog := r.pages, r.texts[r.catalog]
	root := number(part(catalog, "/Pages"))
	had = max(atoi(part(r.texts[root], "/Count")), 0)
	if ordered := r.walk(root, map[int]bool{}); len(ordered) >= len(r.pages) {
		pages = ordered
	}
	pages = slices.DeleteFunc(slices.Clone(pages), func(n int) bool { return !r.complete(n) })
	if len(pages) == 0 || len(pages) > maxPagesLeft {
		return nil, 0, had
	}
	return r.file(pages, part(catalog, "/AcroForm")), len(pages), had
}

// scan finds the objects in the first size bytes.
func (r *remains) scan(size int) {
	end := 0 // of an object
	for from := 0; from < size && len(r.pages) <= maxPagesLeft; {
		m := objectStart().FindSubmatchIndex(r.data[from:size])
		if m == nil {
			return
		}
		start, body := from+m[2], from+m[1]
		number := atoi(r.data[from+m[2] : from+m[3]])
		if end < body {
			end = body + bytes.Index(r.data[body:], []byte("endobj")) // there is always one behind size
		}
		text := r.data[body:end]
		from = end
		if s := streamStart().FindIndex(text); s != nil {
			content := text[s[1]:] // as far as a stream that has these words in it
			if n := bytes.Index(r.data[body+s[1]:], []byte("endstream")); n >= 0 {
				content = r.data[body+s[1] : body+s[1]+n]
				from = body + s[1] + n
			}
			text = text[:s[0]]
			if isBundle().Match(text) {
				r.unbundle(text, content)
				continue
			}
		} else if from >= size {
			return // cut in the middle
		}
		r.add(number, start, text)
	}
}

// add records an object. A later one replaces an earlier one.
func (r *remains) add(number, at int, text []byte) {
	if isPage().Match(r.texts[number]) {
		r.pages = slices.DeleteFunc(r.pages, func(n int) bool { return n == number })
	}
	if isPage().Match(text) {
		r.pages = append(r.pages, number)
	}
	if isCatalog().Match(text) {
		r.catalog = number
	}
	r.at[number], r.texts[number] = at, text
}

// unbundle appends the objects of a stream of objects to the file.
func (r *remains) unbundle(dict, content []byte) {
	start := atoi(part(dict, "/First"))
	z, err := zlib.NewReader(bytes.NewReader(content))
	if err != nil || len(r.data) > 2*maxChecked {
		return
	}
	text, _ := io.ReadAll(io.LimitReader(z, maxDecoded)) // what is left of it
	if start < 0 || start > len(text) {
		return
	}
	numbers := bytes.Fields(text[:start])
	for i := 0; i+1 < len(numbers); i += 2 {
		from, to := start+atoi(numbers[i+1]), len(text)
		if i+3 < len(numbers) {
			to = start + atoi(numbers[i+3])
		}
		if from < start || to < from || to > len(text) {
			return
		}
		at := len(r.data)
		r.data = fmt.Appendf(r.data, "%s 0 obj\n%s\nendobj\n", numbers[i], text[from:to])
		r.add(atoi(numbers[i]), at, text[from:to])
	}
}

// walk returns the pages of a list of pages that are left, in their order.
func (r *remains) walk(node int, seen map[int]bool) (pages []int) {
	if seen[node] {
		return nil
	}
	seen[node] = true
	if isPage().Match(r.texts[node]) {
		return []int{node}
	}
	for _, m := range reference().FindAllSubmatch(part(r.texts[node], "/Kids"), -1) {
		pages = append(pages, r.walk(atoi(m[1]), seen)...)
	}
	return pages
}

// complete reports whether the content of a page and its fonts are there. Without its fonts,
// a text may be read as another.
func (r *remains) complete(page int) bool {
	text := r.texts[page]
	if !r.has(part(text, "/Contents")) {
		return false
	}
	resources := part(text, "/Resources")
	for depth := 0; resources == nil; depth++ {
		text = r.texts[number(part(text, "/Parent"))]
		if text == nil || depth > 50 {
			return false
		}
		resources = part(text, "/Resources")
	}
	resources = r.follow(resources)
	fonts := r.follow(part(resources, "/Font"))
	for _, m := range reference().FindAllSubmatch(fonts, -1) {
		font := r.texts[atoi(m[1])]
		if font == nil {
			return false
		}
		for _, key := range []string{"/DescendantFonts", "/ToUnicode", "/Encoding"} {
			if !r.has(part(font, key)) {
				return false
			}
		}
	}
	return resources != nil
}

// part returns the text of the value of an entry: a reference, an array, a dictionary, or a
// number. It returns nil if there is none.
func part(text []byte, key string) []byte {
	for {
		_, after, found := bytes.Cut(text, []byte(key))
		if !found {
			return nil
		}
		text = after
		value := bytes.TrimLeft(after, "\r\n\t\f ")
		switch {
		case bytes.HasPrefix(value, []byte("<<")):
			return nested(value)
		case bytes.HasPrefix(value, []byte("[")):
			return value[:bytes.IndexByte(value, ']')+1]
		}
		if m := partValue().Find(value); m != nil {
			return m
		}
	}
}

var partValue = pattern(`^\d+(?:\s+\d+\s+R\b)?`)

// nested returns the dictionary with which a text begins.
func nested(text []byte) []byte {
	depth := 0
	for i := 0; i+1 < len(text); i++ {
		switch string(text[i : i+2]) {
		case "<<":
			depth++
			i++
		case ">>":
			depth--
			i++
		}
		if depth == 0 {
			return text[:i+1]
		}
	}
	return nil
}

// number returns the number of the object to which a value refers, or 0.
func number(value []byte) int {
	m := reference().FindSubmatch(value)
	if m == nil || !bytes.HasPrefix(value, m[0]) {
		return 0
	}
	return atoi(m[1])
}

// follow returns the object to which a value refers, or the value itself.
func (r *remains) follow(value []byte) []byte {
	if n := number(value); n > 0 {
		return r.texts[n]
	}
	return value
}

// has reports whether all objects are there to which a value refers.
func (r *remains) has(value []byte) bool {
	for _, m := range reference().FindAllSubmatch(value, -1) {
		if r.texts[atoi(m[1])] == nil {
			return false
		}
	}
	return true
}

// file returns the file with a list of pages and a table of objects.
func (r *remains) file(pages []int, forms []byte) []byte {
	list := slices.Max(slices.Collect(maps.Keys(r.at))) + 1
	refs := ""
	for _, n := range pages {
		refs += strconv.Itoa(n) + " 0 R "
	}
	r.at[list] = len(r.data)
	r.data = fmt.Appendf(r.data, "%d 0 obj\n<</Type/Pages/Count %d/Kids[%s]>>\nendobj\n", list, len(pages), refs)
	r.at[list+1] = len(r.data)
	catalog := fmt.Sprintf("/Type/Catalog/Pages %d 0 R", list)
	if r.has(forms) && forms != nil {
		catalog += "/AcroForm " + string(forms)
	}
	r.data = fmt.Appendf(r.data, "%d 0 obj\n<<%s>>\nendobj\n", list+1, catalog)
	table := len(r.data)
	r.data = append(r.data, "xref\n0 1\n0000000000 65535 f \n"...)
	for _, n := range slices.Sorted(maps.Keys(r.at)) {
		r.data = fmt.Appendf(r.data, "%d 1\n%010d 00000 n \n", n, r.at[n])
	}
	return fmt.Appendf(r.data, "trailer\n<</Size %d/Root %d 0 R>>\nstartxref\n%d\n%%%%EOF\n", list+2, list+1, table)
}
