// A web page of 1 MB as Markdown, beside pandoc and turndown.

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

const (
	pageSize   = 1_000_000 // bytes
	pageRounds = 9
	pageTime   = 2 * time.Minute
)

// turndown is a program for Node that converts its input.
const turndown = `const T = require("turndown"), t = new T({codeBlockStyle: "fenced", headingStyle: "atx"});
t.use(require("turndown-plugin-gfm").gfm);
process.stdout.write(t.turndown(require("fs").readFileSync(0, "utf8")));`

// makePage returns the HTML of a page of documentation.
func makePage() []byte {
	b := []byte("<!DOCTYPE html><html><head><meta charset=utf-8><title>Reference</title></head><body><main><h1>Reference</h1>\n")
	for n := 0; len(b) < pageSize; n++ {
		b = fmt.Appendf(b, `<h2 id="f%d">function_%d</h2>
<p>Returns the <a href="types.html#t%d">value</a> of <code>item_%d</code>, or an <em>error</em> if there is none. See also <a href="other.html">the other functions</a>.</p>
<pre><code class="language-c">int function_%d(const char *name) {
    return lookup(name, %d);
}</code></pre>
<table><thead><tr><th>Parameter</th><th>Meaning</th></tr></thead><tbody><tr><td>name</td><td>the name of the item, <b>not</b> empty</td></tr><tr><td>flags</td><td>%d or more</td></tr></tbody></table>
<ul><li>first, for all</li><li>second, for some</li></ul>
`, n, n, n, n, n, n, n)
	}
	return append(b, "</main></body></html>\n"...)
}

// pageWay is a program that converts the page on its standard input.
func pageWay(name, path, dir string, argv ...string) *shellWay {
	return &shellWay{name: name, run: func(ctx context.Context) (float64, error) {
		in, err := os.Open(path)
		if err != nil {
			return 0, err
		}
		defer in.Close()
		begin := time.Now()
		cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
		cmd.Stdin, cmd.Dir = in, dir
		out, err := cmd.Output()
		took := millis(time.Since(begin))
		if err == nil && (len(out) < pageSize/4 || !strings.Contains(string(out), "## function")) {
			err = fmt.Errorf("an answer of %d bytes: %.300s", len(out), out)
		}
		return took, err
	}}
}

// measurePage converts a page with each program that there is, in turns. The product's
// is the process that reads documents, as the server starts it.
func measurePage(ctx context.Context, ours *side, tmp string) (ways []*shellWay, err error) {
	ctx, cancel := context.WithTimeout(ctx, pageTime)
	defer cancel()
	data, path := makePage(), filepath.Join(tmp, "page.html")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		return nil, fmt.Errorf("writing the page: %w", err)
	}
	request, err := json.Marshal(map[string]any{
		"Kind": "page", "Size": len(data), "Memory": 100_000_000, "Deadline": pageTime, "Parent": os.Getpid(),
		"Page": map[string]any{"URL": "https://example.org/docs/", "HTML": true},
	})
	if err != nil {
		return nil, err
	}
	ways = []*shellWay{pageWay(ours.name, path, tmp, ours.argv[0], "read-document", string(request))}
	if pandoc, err := exec.LookPath("pandoc"); err == nil {
		ways = append(ways, pageWay("pandoc", path, tmp, pandoc, "-f", "html", "-t", "gfm"))
	}
	if node, dir, err := peerFolder(ctx); err == nil {
		ways = append(ways, pageWay("turndown", path, dir, node, "-e", turndown))
	}
	if err := turns(ctx, ways, pageRounds); err != nil {
		return nil, fmt.Errorf("converting a page: %w", err)
	}
	return ways, nil
}

// printPage prints the medians, and the product in relation to the others.
func printPage(w io.Writer, ways []*shellWay) error {
	rows := make([]turnsOf, len(ways))
	for i, way := range ways {
		rows[i] = turnsOf{way.name, way.ms}
	}
	return printRows(w, "A PAGE OF 1 MB AS MARKDOWN", rows,
		fmt.Sprintf("%d conversions of each, in turns, each by a new process; programs that are not installed are left out.", pageRounds))
}
