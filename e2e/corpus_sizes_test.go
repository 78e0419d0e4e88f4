//go:build unix

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Sizes at which the behaviour of Read changes.
const (
	paged  = 256 << 10 // size from which a file is shown in pages, in bytes
	budget = 100_000   // limit of numbered text in an answer, in bytes: 25,000 tokens
)

// addSizes adds files of the sizes of buffers and limits, and of one byte less and more.
func addSizes(c *corpus) {
	c.shows("empty.txt", "", `\[the file is empty\]`)
	c.refuse("empty.txt", `is empty\. Leave out offset and limit\.`).with(`"offset":2`)
	c.refuse("empty.txt", `is not a PDF file, so it has no pages\. Leave out pages\.`).with(`"pages":"1"`)
	c.shows("size_1.txt", "x", numbered("x"))
	for _, n := range []int{4095, 4096, 4097, 8191, 8192, 8193, 65535, 65536, 65537} {
		c.shows(fmt.Sprintf("size_%d.txt", n), lined(n), `1\t.*\t[a-z]+`)
	}
	// A line that fills an answer exactly, or exceeds it by one byte.
	const number = len("1\t") + len("\n")
	for _, n := range []int{budget - number - 1, budget - number} {
		c.shows(fmt.Sprintf("one_line_%d.txt", n), strings.Repeat("y", n), `1\ty+`)
	}
	c.shows("one_line_over.txt", strings.Repeat("y", budget-number+1), inParts(1, budget-number+1, 2, ""))
	lines, numbered := 0, 0 // lines of 99 bytes each, and their bytes including numbers
	for next := 99 + len("1\t"); numbered+next <= budget; next = 99 + len(fmt.Sprintf("%d\t", lines+1)) {
		lines, numbered = lines+1, numbered+next
	}
	c.shows("near_budget.txt", lined(99*lines), fmt.Sprintf(`1\t.*\n%d\t[a-z]+`, lines))
	c.shows("over_budget.txt", lined(99*(lines+1)), fmt.Sprintf(`1\t.*\n\[lines 1 to \d+ of %d; go on with offset \d+\]`, lines+1))
	for _, n := range []int{paged - 1, paged, paged + 1} {
		c.shows(fmt.Sprintf("size_%d.txt", n), lined(n), fmt.Sprintf(`1\t.*\n\[lines 1 to \d+ of %d; go on with offset \d+\]`, strings.Count(lined(n), "\n")))
		c.read(fmt.Sprintf("size_%d.txt", n), `2\t[a-z]{98}\n\[line 2 of \d+\]`).with(`"offset":2,"limit":1`)
	}
	for name, size := range map[string]int64{"sparse_300MB": 300 << 20, "sparse_1GB": 1 << 30, "sparse_10GB": 10 << 30, "sparse_1TB": 1 << 40} {
		c.write(name+".txt", "head\n")
		if err := os.Truncate(filepath.Join(c.root, name+".txt"), size); err != nil {
			c.t.Logf("%s.txt is left out: %v", name, err) // the file system has a lower limit
			continue
		}
		c.refuse(name+".txt", fmt.Sprintf(`is a binary file \(.+\) of %d bytes\. .+`, size))
	}
}

// lined returns a text of n bytes in lines of 99, ending with a newline.
func lined(n int) string {
	text := strings.Repeat(strings.Repeat("abcdefghijklmnopqrstuvwxyz", 4)[:98]+"\n", n/99+1)
	return text[:n-1] + "\n"
}
