//go:build unix

package e2e

import (
	"os"
	"path/filepath"
	"strings"
)

// addNames adds files with names that are hard to write, show or distinguish.
func addNames(c *corpus) {
	for _, name := range []string{
		"new\nline", "tab\tname", "esc\x1b[31mred", "carriage\rreturn", "bell\a", "del\x7f", " leading", "trailing ", " ", "-rf", "--", "*", "?", "[a]", "{a,b}", "$(touch PWNED)", "`id`", "a;b", "a|b", "a&b", "a>b",
		`"quoted"`, "it's", `\back`, "#hash", "!bang", "\u202egnp.exe", "\u200bhidden", "\ufeffmark", ".hidden", "...", "%00", "%2e%2e", "a:b", "C:", "nul", "é", "e\u0301", "日本語.txt", "👩‍👩‍👧.txt",
		strings.Repeat("x", 255), strings.Repeat("é", 127), strings.Repeat("d/", 100) + "deep",
	} {
		c.shows("names/"+name, "content\n", numbered("content"))
	}
	c.shows("~", "not home\n", numbered("not home")).path = "./~"
	// Errors show the names of missing files and folders with escapes.
	c.refused("names/new\nlime", `\$ROOT/names/new\\nlime does not exist\. Did you mean \$ROOT/names/new\\nline\?`)
	c.refused("names/esc\x1b[31mrad", `\$ROOT/names/esc\\x1b\[31mrad does not exist\. Did you mean \$ROOT/names/esc\\x1b\[31mred\?`)
	c.refused("names", `\$ROOT/names is a directory\. Use Glob to list its files, or read a file in it; it has .+ and more\.`)
	c.refused("", `property "file_path" is empty\. Give it a value\.`)
	c.refused("names/é/x", `.*\$ROOT/names/é/x.* not a directory\. .+`)
	c.refused("names/"+strings.Repeat("y", 256), `.*\$ROOT/names/y+.* name too long\. .+`)
	c.refused(strings.Repeat("z/", 3000)+"x", `.*\$ROOT/z/.{1,600} .+ too long\. .+`)
	c.refused("nul\x00byte", `.*nul\\x00byte.*`)
	addRawNames(c)
	addDeep(c)
}

// refused adds a read that fails after its arguments were accepted.
func (c *corpus) refused(path, fact string) *sample {
	s := c.read(path, `Read: (failed|refused by policy|invalid input): `+fact)
	s.failed = true
	return s
}

// addRawNames adds names that JSON cannot hold. They cannot be read; listings of their
// folder show them with escapes.
func addRawNames(c *corpus) {
	name := filepath.Join(c.root, "raw", "bad\xff\xfeutf8")
	c.write("raw/a", "content\n")
	if err := os.WriteFile(name, []byte("content\n"), 0o600); err != nil {
		c.t.Logf("%q is left out: %v", name, err) // the file system requires UTF-8
		return
	}
	c.refused("raw", `\$ROOT/raw is a directory\. Use Glob to list its files, or read a file in it; it has a, bad\\xff\\xfeutf8\.`)
	c.refused("raw/bad", `\$ROOT/raw/bad does not exist\. .+`)
	c.refused("raw/bad\ufffd\ufffdutf8", `\$ROOT/raw/bad��utf8 does not exist\. Did you mean \$ROOT/raw/bad\\xff\\xfeutf8\?`)
	c.refused(`raw/bad\xff\xfeutf8`, `\$ROOT/raw/bad\\xff\\xfeutf8 does not exist\. .+`)
}

// addDeep adds the longest path that the system accepts, and a longer one.
func addDeep(c *corpus) {
	const most = 4095 // limit of a path in bytes on Linux; on macOS it is lower
	dir := c.root
	for len(dir)+1+200 < most-1 {
		dir = filepath.Join(dir, strings.Repeat("p", 200))
	}
	longest := filepath.Join(dir, strings.Repeat("f", most-len(dir)-1))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		c.t.Logf("a path of %d bytes is left out: %v", most, err)
		return
	}
	if err := os.WriteFile(longest, []byte("deep\n"), 0o600); err != nil {
		c.t.Fatal(err)
	}
	c.read(longest, numbered("deep"))
	c.read(longest[:len(longest)-1], `Read: failed: \$ROOT/p.+f does not exist\. .+`).failed = true
	c.read(longest+"f", `Read: .+\$ROOT/p.+f.* name too long\. .+`).failed = true
}
