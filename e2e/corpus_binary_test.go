//go:build unix

package e2e

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"fmt"
	"strings"
)

// addBinaries adds files that Read does not show, under true and false extensions.
func addBinaries(c *corpus) {
	zeros := strings.Repeat("\x00", 200)
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	slip := zipOf(c, map[string]string{"a": strings.Repeat("\x00", 1<<22), "../../evil": "x", "/abs": "x"})
	for _, b := range []struct{ name, data, kind string }{
		{"all_bytes.bin", strings.Repeat(string(all), 4), `.+`},
		{"zeros.txt", zeros, `.+`},
		{"is_elf.txt", "\x7fELF\x02\x01\x01" + zeros, `application/x-(elf|executable|object|sharedlib).*`},
		{"is_elf.png", "\x7fELF\x02\x01\x01" + zeros, `application/x-(elf|executable|object|sharedlib).*`},
		{"is_elf.ipynb", "\x7fELF\x02\x01\x01" + zeros, `application/x-(elf|executable|object|sharedlib).*`},
		{"is_elf.pdf", "\x7fELF\x02\x01\x01" + zeros, `application/x-(elf|executable|object|sharedlib).*`},
		{"program.exe", "MZ\x90\x00\x03\x00" + zeros, `application/vnd\.microsoft\.portable-executable`},
		{"Main.class", "\xca\xfe\xba\xbe\x00\x00\x00\x41" + zeros, `application/x-java-applet`},
		{"module.wasm", "\x00asm\x01\x00\x00\x00" + zeros, `application/wasm`},
		{"data.sqlite", "SQLite format 3\x00\x10\x00" + zeros, `application/vnd\.sqlite3`},
		{"a.gz", gzipOf(c, strings.Repeat("\x00", 1<<24)), `application/gzip`},
		{"a.zip", slip, `application/zip`},
		{"cut.zip", slip[:100], `application/zip`},
		{"a.tar", tarOf(c), `application/x-tar`},
		{"a.xz", "\xfd7zXZ\x00\x00\x04" + zeros, `application/x-xz`},
		{"a.zst", "\x28\xb5\x2f\xfd\x04\x00" + zeros, `application/zstd`},
		{"a.7z", "7z\xbc\xaf\x27\x1c\x00\x04" + zeros, `application/x-7z-compressed`},
		{"a.mp3", "ID3\x04\x00\x00" + zeros, `audio/mpeg|of no known type`},
		{"a.wav", "RIFF\x24\x00\x00\x00WAVEfmt " + zeros, `audio/wav`},
		{"a.ogg", "OggS\x00\x02" + zeros, `application/ogg`},
		{"a.mp4", "\x00\x00\x00\x20ftypisom" + zeros, `video/mp4`},
		{"a.avif", "\x00\x00\x00\x1cftypavif\x00\x00\x00\x00avifmif1miaf" + zeros, `image/avif`},
		{"a.heic", "\x00\x00\x00\x18ftypheic\x00\x00\x00\x00mif1heic" + zeros, `image/heic`},
		{"a.psd", "8BPS\x00\x01" + zeros, `image/vnd\.adobe\.photoshop`},
		{"a.ico", "\x00\x00\x01\x00\x01\x00\x10\x10" + zeros, `image/x-icon`},
		{"bad.ico", "\x00\x00\x01\x00\xff\xff", `image/x-icon`},
		{"a.woff2", "wOF2\x00\x01\x00\x00" + zeros, `font/woff2`},
		{"half_text.bin", "plain text\n" + zeros, `.+`},
	} {
		c.refuses(b.name, b.data, fmt.Sprintf(`is a binary file \((%s)\) of %d bytes\. Read shows text, pictures, notebooks, PDF and office files; other tools can take it apart\.`, b.kind, len(b.data)))
	}
}

func gzipOf(c *corpus, data string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write([]byte(data))
	c.must(err)
	c.must(w.Close())
	return b.String()
}

func zipOf(c *corpus, files map[string]string) string {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for name, data := range files {
		f, err := w.Create(name)
		c.must(err)
		_, err = f.Write([]byte(data))
		c.must(err)
	}
	c.must(w.Close())
	return b.String()
}

func tarOf(c *corpus) string {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	c.must(w.WriteHeader(&tar.Header{Name: "a", Size: 1, Mode: 0o600}))
	_, err := w.Write([]byte("a"))
	c.must(err)
	c.must(w.Close())
	return b.String()
}

func (c *corpus) must(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
}
