package cli

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"mcp-toolset/internal/text/plain"
	"mcp-toolset/tools"
	"mcp-toolset/upstream/pin"
)

// noUpstreams explains that the settings name no servers.
const noUpstreams = "no settings that hold here have mcpServers"

// listUpstreams prints the declared servers with what is known of them.
func listUpstreams(c screen, declared []declaredUpstream, known []tools.Server, store *pin.Store) error {
	var b bytes.Buffer
	list := table{cut: []int{4}}
	if len(declared) > 0 {
		list.row("SERVER", "STATE", "TOOLS", "CHANGED", "STARTED WITH")
	}
	var notes []string
	changed := 0
	for _, d := range declared {
		s := d.in(known)
		n := 0
		for _, t := range s.Tools {
			if t.Notice != "" {
				n++
			}
		}
		changed += n
		count, differ := fmt.Sprint(len(s.Tools)), fmt.Sprint(n)
		if len(s.Tools) == 0 && s.State != tools.Ready {
			count, differ = "-", "-" // unknown
		}
		list.row(plain.Line(d.Name), s.State.String(), count, differ, d.how())
		if s.Note != "" {
			notes = append(notes, fmt.Sprintf("%s: %s", plain.Line(d.Name), plain.Line(s.Note)))
		}
	}
	list.write(&b, c)
	if len(declared) == 0 {
		fmt.Fprintf(&b, "There are no other servers: %s.\n", noUpstreams)
	}
	if changed > 0 {
		notes = append(notes, "`mcp-toolset upstream diff` shows what changed.")
	}
	notes = append(notes, remembered(declared, store)...)
	if len(notes) > 0 {
		b.WriteString("\n" + strings.Join(notes, "\n") + "\n")
	}
	_, err := b.WriteTo(c.out)
	return err
}

// in returns the known state of a server, or one with its name alone.
func (d declaredUpstream) in(known []tools.Server) tools.Server {
	if at := slices.IndexFunc(known, func(s tools.Server) bool { return s.Name == d.Name }); at >= 0 {
		return known[at]
	}
	return tools.Server{Name: d.Name}
}

// remembered lists the pinned servers that are not declared, and the error of reading the pins.
func remembered(declared []declaredUpstream, store *pin.Store) (notes []string) {
	names, err := store.Servers()
	names = slices.DeleteFunc(names, func(name string) bool {
		return slices.ContainsFunc(declared, func(d declaredUpstream) bool { return d.Name == name })
	})
	if len(names) > 0 {
		notes = append(notes, fmt.Sprintf("Remembered, and not in these settings: %s. `mcp-toolset upstream forget SERVER` drops one.", plain.Text(strings.Join(names, ", "))))
	}
	if err != nil {
		notes = append(notes, "Problem: "+plain.Text(err.Error()))
	}
	return notes
}

// how returns the command or URL of a server on one line, without the credentials in URLs.
func (d declaredUpstream) how() string {
	if d.Command == nil {
		return plain.Line(publicURL(d.URL))
	}
	words := make([]string, len(d.Command))
	for i, word := range d.Command {
		if words[i] = plain.Text(word); word == "" || strings.ContainsAny(word, " \t\r\n\"'") {
			words[i] = fmt.Sprintf("%q", word)
		}
	}
	return plain.Line(strings.Join(words, " "))
}

// publicURL returns a URL, which may contain variables, with its user, query and fragment replaced
// by dots.
func publicURL(url string) string {
	url, fragment, _ := strings.Cut(url, "#")
	url, query, asks := strings.Cut(url, "?")
	if scheme, rest, ok := strings.Cut(url, "://"); ok {
		authority, path, slash := strings.Cut(rest, "/")
		if at := strings.LastIndexByte(authority, '@'); at >= 0 {
			authority = "..." + authority[at:]
		}
		if url = scheme + "://" + authority; slash {
			url += "/" + path
		}
	}
	if asks && query != "" {
		url += "?..."
	}
	if fragment != "" {
		url += "#..."
	}
	return url
}
