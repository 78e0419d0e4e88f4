package filetype

import (
	"fmt"
	"slices"
	"strings"

	"mcp-toolset/internal/text/fault"
	"mcp-toolset/internal/text/nearest"
)

const (
	// maxHints is the limit of types that an error suggests. No extension has more.
	maxHints = 5
	// maxShown is the limit of a wrong name that an error quotes, in bytes.
	maxShown = 40
)

// said maps common names of types to those of ripgrep, if neither an extension nor a
// similar name leads there.
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

// unknown returns the error for a name that is not a type.
func unknown(name string) error {
	if name == "" {
		return fault.New("the name of the file type is empty", `Name one, such as "go", or leave it out.`)
	}
	shown := name
	if len(shown) > maxShown {
		shown = strings.ToValidUTF8(shown[:maxShown], "") + "..."
	}
	if len(name) > maxShown { // no type has a name of that length
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
		if having := typesOf(file); len(having) > 0 {
			return fault.New(fmt.Sprintf("%q is no file type but part of a file name", shown), fmt.Sprintf("Files like that have type %s.", list(having)))
		}
	}
	if near := nearest.Names(bare, Names(), maxHints); len(near) > 0 {
		return fault.New(fmt.Sprintf("there is no file type %q", shown), fmt.Sprintf("Did you mean %s?", list(near)))
	}
	return fault.New(fmt.Sprintf("there is no file type %q", shown), "Use a glob instead.")
}

// typesOf returns the types of a file with the given name, those with the fewest globs
// first because they are the most specific.
func typesOf(base string) (names []string) {
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

// list formats names for a sentence.
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
