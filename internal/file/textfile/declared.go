package textfile

import (
	"bytes"
	"path/filepath"
	"regexp"
	"strings"
)

// Hint is what is known of a file apart from its content.
type Hint struct {
	Path    string // its extension tells what declarations it may have
	Charset string // of .editorconfig; "" if there is none
}

const (
	// declaredIn is the part of a file in which a declaration is searched, in bytes: at its beginning
	// and at its end. HTML requires the first 1024 bytes, and Emacs the last 3000.
	declaredIn = 4096
	// modeLines is the number of lines at both ends in which Vim searches (options.txt, modelines).
	modeLines = 5
)

// Declarations of encodings in the text of a file.
var (
	// XML 1.0, 4.3.3
	inXML = regexp.MustCompile(`^<\?xml\s[^>]*?encoding\s*=\s*["']([^"']+)["']`)
	// HTML, 13.2.3.2, of which this accepts more
	inHTML = regexp.MustCompile(`(?i)<meta\s[^>]*?charset\s*=\s*["']?\s*([\w.:-]+)`)
	// CSS Syntax Module Level 3, 3.2
	inCSS = regexp.MustCompile(`^@charset "([^"]+)";`)
	// PEP 263, and Ruby's magic comments
	inPython = regexp.MustCompile(`^[ \t\f]*#.*?coding[:=][ \t]*([-_.a-zA-Z0-9]+)`)
	// Emacs Manual, Specifying File Variables
	inEmacs = regexp.MustCompile(`-\*-(?:.*;)?[ \t]*coding[ \t]*:[ \t]*([\w.-]+)[ \t]*(?:;.*)?-\*-`)
	atEnd   = regexp.MustCompile(`(?s)Local Variables:.*\n.*?[ \t]coding[ \t]*:[ \t]*([\w.-]+)|(?s)Local Variables:.*\ncoding[ \t]*:[ \t]*([\w.-]+)`)
	// Vim, options.txt, modeline
	inVim = regexp.MustCompile(`(?:^|\s)(?:vim?|Vim|ex)\d*[<=>]?\d*:(?:.*[\s:])?(?:fileencoding|fenc|encoding|enc)=([\w.-]+)`)
	// gettext, the header of a PO file
	inPO = regexp.MustCompile(`(?m)^"Content-Type: text/plain; charset=([\w.-]+)\\n"`)
	// LaTeX, the package inputenc, and the magic comment of TeX editors
	inTeX = regexp.MustCompile(`(?mi)^(?:[^%\n]*\\usepackage\[([\w-]+)\]\{inputenc\}|%[ \t]*!TeX[ \t]+encoding[ \t]*=[ \t]*([\w.-]+))`)
)

// texNames are the options of inputenc that are no names of encodings elsewhere.
var texNames = map[string]string{"ansinew": "windows-1252", "applemac": "macintosh", "latin9": "iso-8859-15", "latin10": "iso-8859-16"}

// comments are the extensions of files in whose comments "coding:" declares the encoding.
var comments = map[string]bool{".py": true, ".pyw": true, ".pyi": true, ".pyx": true, ".rb": true, ".rake": true, ".gemspec": true, ".ru": true}

// declared returns the label of the encoding that a file declares, "" if none. html reports that
// it means what it means to browsers.
func declared(data []byte, h Hint) (label string, html bool) {
	head := data[:min(len(data), declaredIn)]
	if m := inXML.FindSubmatch(head); m != nil {
		return string(m[1]), false
	}
	if m := inCSS.FindSubmatch(head); m != nil {
		return string(m[1]), true
	}
	extension := strings.ToLower(filepath.Ext(h.Path))
	script := comments[extension] || bytes.HasPrefix(head, []byte("#!"))
	lines := bytes.SplitN(head, []byte{'\n'}, modeLines+1)
	for i, line := range lines[:min(2, len(lines))] {
		m := inEmacs.FindSubmatch(line)
		if m == nil && script && (i == 0 || isComment(lines[0])) {
			m = inPython.FindSubmatch(line)
		}
		if m != nil {
			return string(m[1]), false
		}
	}
	tail := data[max(0, len(data)-declaredIn):]
	last := bytes.Split(bytes.TrimSuffix(tail, []byte{'\n'}), []byte{'\n'})
	last = last[max(0, len(last)-modeLines):]
	for _, line := range append(lines[:min(modeLines, len(lines)):min(modeLines, len(lines))], last...) {
		if m := inVim.FindSubmatch(line); m != nil {
			return string(m[1]), false
		}
	}
	if m := atEnd.FindSubmatch(tail); m != nil {
		return string(append(m[1], m[2]...)), false
	}
	if bytes.HasPrefix(bytes.TrimLeft(head, " \t\r\n\f"), []byte{'<'}) {
		if m := inHTML.FindSubmatch(head); m != nil {
			return string(m[1]), true
		}
	}
	if extension == ".po" || extension == ".pot" {
		if m := inPO.FindSubmatch(head); m != nil && string(m[1]) != "CHARSET" {
			return string(m[1]), false
		}
	}
	if extension == ".tex" || extension == ".ltx" || extension == ".sty" || extension == ".cls" {
		if m := inTeX.FindSubmatch(head); m != nil {
			name := strings.ToLower(string(append(m[1], m[2]...)))
			if meant := texNames[name]; meant != "" {
				name = meant
			}
			return name, false
		}
	}
	return h.Charset, false
}

// isComment reports whether a line may stand before the declaration of PEP 263.
func isComment(line []byte) bool {
	line = bytes.TrimSpace(line)
	return len(line) == 0 || line[0] == '#'
}
