package filetype

import (
	"fmt"
	"slices"
	"strings"

	"mcp-toolset/internal/fault"
	"mcp-toolset/internal/nearest"
)

const (
	// maxHints is how many types are named to somebody who was wrong. No
	// extension has more.
	maxHints = 5
	// maxShown is how much of a wrong name is repeated, in bytes.
	maxShown = 40
)

// said is what people call types that ripgrep calls otherwise, where neither an
// extension nor a similar name leads there.
var said = map[string]string{
	"bash script": "sh",
	"c#":          "csharp",
	"c++":         "cpp",
	"f#":          "fsharp",
	"golang":      "go",
	"h++":         "cpp",
	"javascript":  "js",
	"objective-c": "objc",
	"objectivec":  "objc",
	"shell":       "sh",
	"terraform":   "tf",
	"text":        "txt",
}

// unknown is the error for the name of no type.
func unknown(name string) error {
	if name == "" {
		return fault.New("the name of the file type is empty", `Name one, such as "go", or leave it out.`)
	}
	shown := name
	if len(shown) > maxShown {
		shown = strings.ToValidUTF8(shown[:maxShown], "") + "..."
	}
	if len(name) > maxShown { // no type has a name like that
		return fault.New(fmt.Sprintf("there is no file type %q", shown), "Use a glob instead.")
	}
	bare := strings.ToLower(strings.TrimLeft(name, "*."))
	if _, ok := types()[bare]; ok || bare == everything {
		return fault.New(fmt.Sprintf("there is no file type %q", shown), fmt.Sprintf("Use %q.", bare))
	}
	if meant, ok := said[bare]; ok {
		return fault.New(fmt.Sprintf("there is no file type %q", shown), fmt.Sprintf("Use %q.", meant))
	}
	for _, file := range []string{"x." + strings.TrimLeft(name, "*."), "x." + bare, name} {
		if having := having(file); len(having) > 0 {
			return fault.New(fmt.Sprintf("%q is no file type but part of a file name", shown), fmt.Sprintf("Files like that have type %s.", list(having)))
		}
	}
	if near := nearest.Names(bare, Names(), maxHints); len(near) > 0 {
		return fault.New(fmt.Sprintf("there is no file type %q", shown), fmt.Sprintf("Did you mean %s?", list(near)))
	}
	return fault.New(fmt.Sprintf("there is no file type %q", shown), "Use a glob instead.")
}

// having returns the types that a file of the name has, those with the fewest
// globs first: they say most.
func having(base string) (names []string) {
	for name, globs := range types() {
		if compile(globs).match(base) {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b string) int {
		if n := len(types()[a]) - len(types()[b]); n != 0 {
			return n
		}
		return strings.Compare(a, b)
	})
	return names[:min(len(names), maxHints)]
}

// list writes names for a sentence.
func list(names []string) string {
	var b strings.Builder
	for i, name := range names {
		switch {
		case i == 0:
		case i == len(names)-1:
			b.WriteString(" or ")
		default:
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%q", name)
	}
	return b.String()
}
