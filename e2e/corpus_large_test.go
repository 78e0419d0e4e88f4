//go:build unix

package e2e

import (
	"bufio"
	"fmt"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mcp-toolset/internal/testscale"
)

// large is a file too large to exist together with others.
type large struct {
	name  string
	write func(f *os.File) error
	reads func(c *corpus, name string)
}

// TestCorpusLarge reads large files one after the other, so that they take less than 400
// MB of the disk.
func TestCorpusLarge(t *testing.T) {
	testscale.NeedFull(t)
	c := newCorpus(t)
	s := startCorpus(t, c.root, "--read-dedup", "off")
	for _, l := range largeFiles {
		path := filepath.Join(c.root, l.name)
		f, err := os.Create(path)
		c.must(err)
		c.must(l.write(f))
		c.must(f.Close())
		c.samples = nil
		l.reads(c, l.name)
		for _, x := range c.samples {
			c.check(x, s.call(x.arguments()))
		}
		c.must(os.Remove(path))
		t.Logf("after %s the server has held %.0f MB", l.name, s.peakMB())
	}
	s.checkMemory("large files")
	s.stop()
}

// repeated returns a function that writes a text repeatedly, size bytes in total.
func repeated(text string, size int) func(*os.File) error {
	return func(f *os.File) error {
		w := bufio.NewWriter(f)
		block := strings.Repeat(text, 1<<16/len(text))
		for left := size; left > 0; left -= len(block) {
			if _, err := w.WriteString(block[:min(left, len(block))]); err != nil {
				return err
			}
		}
		return w.Flush()
	}
}

// extended returns a function that writes begin and extends the file to size without
// allocating the rest, which reads as NUL bytes.
func extended(begin string, size int64) func(*os.File) error {
	return func(f *os.File) error {
		if _, err := f.WriteString(begin); err != nil {
			return err
		}
		return f.Truncate(size)
	}
}

const (
	mib = 1 << 20
	mb  = 1_000_000
)

var largeFiles = []large{
	{"64MiB.txt", repeated("0123456\n", 64*mib), func(c *corpus, name string) {
		c.read(name, `1\t0123456\n.*\n\[lines 1 to \d+ of 8388608; go on with offset \d+\]`)
		c.read(name, `8388608\t0123456\n\[line 8388608 of 8388608\]`).with(`"offset":8388608`)
	}},
	{"64MiB_and_1.txt", repeated("0123456\n", 64*mib+1), func(c *corpus, name string) {
		c.read(name, `8388609\t0\n\[line 8388609 of 8388609\]`).with(`"offset":8388609,"limit":10`)
	}},
	{"newlines.txt", repeated("\n", 300*mb), func(c *corpus, name string) {
		c.read(name, `(\d+\t\n)+\[lines 1 to \d+ of (300000000|a file of 300000000 bytes); go on with offset \d+\]`)
		c.read(name, `299999999\t\n300000000\t\n\[lines 299999999 to 300000000 of 300000000\]`).with(`"offset":299999999,"limit":5`)
		c.refuse(name, "").wants(`Read: failed: offset 300000001 is past the end of \$ROOT/newlines\.txt, which has 300000000 lines\. .+`).with(`"offset":300000001`)
	}},
	{"one_line.txt", repeated("0123456789", 100*mb), func(c *corpus, name string) {
		c.read(name, inParts(1, 100*mb, 1177, ""))
	}},
	{"holes.txt", extended(strings.Repeat("text\n", 4000), 300*mb), func(c *corpus, name string) {
		c.read(name, `1\ttext\n.*text\n\[lines 1 to 4000 .+\]`).with(`"limit":4000`)
		c.read(name, `4001\t.+\[line 4001 has 299980000 bytes; the first \d+ are shown, and a command such as cut can show the rest\].*`).with(`"offset":4001`)
	}},
	{"picture.png", extended(pngMark+strings.Repeat("\x00", 99), 129*mib), func(c *corpus, name string) {
		c.refuse(name, `is a PNG image of 129 MiB, which is too large a file to decode\. Make a copy of it of at most 100 MiB\.`)
	}},
	{"smaller.png", extended(pngMark+strings.Repeat("\x00", 99), 101*mib), func(c *corpus, name string) {
		c.refuse(name, `is a PNG image of 101 MiB, which is too large a file to decode\. .+`)
	}},
	{"48_megapixels.png", func(f *os.File) error { return png.Encode(f, gradient(8000, 6000)) }, func(c *corpus, name string) {
		c.read(name, `\[\$ROOT/48_megapixels\.png: image/png, 8000 x 6000 pixels, \d+ bytes`+shownAs("image/(png|jpeg)", 2000, 1500)+`\]`).pictures = 1
	}},
	{"notebook.ipynb", extended(notebook()+strings.Repeat(" ", 9000), 65*mib), func(c *corpus, name string) {
		c.refuse(name, `is a notebook of 68157440 bytes, over the limit of 64 MiB\. .+`)
	}},
	{"outputs.ipynb", func(f *os.File) error {
		cell := codeCell("a", `"x"`, `,"outputs":[{"output_type":"stream","name":"stdout","text":"`+strings.Repeat("x", 6*mb)+`"}]`)
		_, err := f.WriteString(notebook(cell, cell, cell, cell, cell, cell, cell, cell, cell, cell))
		return err
	}, func(c *corpus, name string) {
		c.read(name, `<cell id="a" type="code">\nx\n</cell>\n<output cell="a">\nx+\n\[\d+ bytes left out here; .+`)
	}},
	{"tail.pdf", extended(pdfOf(textPage("Hello")), 200*mb), func(c *corpus, name string) {
		c.read(name, onePage("Hello")) // data after the end of the PDF file is ignored
	}},
	{"too_large.pdf", extended(pdfOf(textPage("Hello")), 1100*mib), func(c *corpus, name string) {
		c.refuse(name, `is a PDF file of 1153433600 bytes, over the limit of 1024 MiB\. .+`)
	}},
	{"scans.pdf", func(f *os.File) error {
		_, err := f.WriteString(pdfOf(strings.Split(strings.Repeat(scan+"\n", 20), "\n")[:20]...))
		return err
	}, func(c *corpus, name string) {
		c.read(name, strings.Repeat(`## Page \d+ of 20\n`+drawn+`\n?`, 20)).with(`"pages":"1-20"`).pictures = 20
	}},
	{"sparse.bin", extended("", 300*mb), func(c *corpus, name string) {
		c.refuse(name, fmt.Sprintf(`is a binary file \(.+\) of %d bytes\. .+`, 300*mb))
	}},
}
