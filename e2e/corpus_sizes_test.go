//go:build unix

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Sizes at which Read changes its ways.
const (
	paged  = 256 << 10 // bytes of a file that is shown page by page
	budget = 100_000   // bytes of numbered output of an answer: 25,000 tokens
)

// addSizes adds files as long as buffers and budgets, one less and one more.
func addSizes(c *corpus) {
	c.shows("empty.txt", "", `\[the file is empty\]`)
	c.refuse("empty.txt", `is empty\. Leave out offset and limit\.`).with(`"offset":2`)
	c.refuse("empty.txt", `is not a PDF file, so it has no pages\. Leave out pages\.`).with(`"pages":"1"`)
	c.shows("size_1.txt", "x", numbered("x"))
	for _, n := range []int{4095, 4096, 4097, 8191, 8192, 8193, 65535, 65536, 65537} {
		c.shows(fmt.Sprintf("size_%d.txt", n), lined(n), `1\t.*\t[a-z]+`)
	}
	// As the whole of an answer, or one byte too many for it.
	const number = len("1\t") + len("\n")
	for _, n := range []int{budget - number - 1, budget - number} {
		c.shows(fmt.Sprintf("one_line_%d.txt", n), strings.Repeat("y", n), `1\ty+`)
	}
	c.shows("one_line_over.txt", strings.Repeat("y", budget-number+1), inParts(1, budget-number+1, 2, ""))
	lines, numbered := 0, 0 // of 99 bytes each, with their numbers
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
			c.t.Logf("%s.txt is left out: %v", name, err) // a file system with smaller files
			continue
		}
		c.refuse(name+".txt", fmt.Sprintf(`is a binary file \(.+\) of %d bytes\. .+`, size))
	}
}

// lined is text of n bytes in lines of 99, the last with a newline as well.
func lined(n int) string {
	text := strings.Repeat(strings.Repeat("abcdefghijklmnopqrstuvwxyz", 4)[:98]+"\n", n/99+1)
	return text[:n-1] + "\n"
}
