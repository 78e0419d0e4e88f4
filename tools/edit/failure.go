package edit

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"

	"mcp-toolset/internal/fault"
	"mcp-toolset/internal/plain"
	"mcp-toolset/internal/textfile"
	"mcp-toolset/session"
	"mcp-toolset/tools"
	"mcp-toolset/tools/file"
)

const (
	// patience is how often the same edit of the same content may fail before
	// the answer changes: a model that sends it once more does not read it.
	patience = 2
	// fewLines is how much of a file is shown that has nothing like the text.
	fewLines = 10
)

// failure words why an edit could not be applied, and remembers it.
func failure(env *tools.Env, in Input, old file.Old, err error) error {
	key := fmt.Sprintf("Edit %x", sha256.Sum256(fmt.Appendf(nil, "%q %q %q %v %x",
		in.FilePath, in.OldString, in.NewString, in.ReplaceAll, sha256.Sum256(old.Data))))
	failed := env.Session.Failures(key)
	err = file.About(in.FilePath, err)
	if failed >= patience {
		err = fault.New(fmt.Sprintf("this edit of %s has failed %d times before, in the same way", plain.Line(in.FilePath), failed),
			"Stop repeating it. "+now(old, err))
	}
	return &tools.Recorded{Err: err, Effect: session.Effect{Failed: []string{key}}}
}

// now shows the file as it is where the edit was probably meant.
func now(old file.Old, err error) string {
	var miss *textfile.Miss
	if errors.As(err, &miss) && miss.Excerpt != "" {
		return "Make old_string from what is there now:\n" + miss.Excerpt
	}
	t, decodeErr := textfile.Decode(old.Data)
	if decodeErr != nil {
		return "Read the file, and make old_string from what is there."
	}
	text := t.String()
	var lines []string
	rest := strings.Count(text, "\n")
	for line := range strings.Lines(text) {
		if len(lines) == fewLines {
			break
		}
		lines = append(lines, strings.TrimSuffix(line, "\n"))
	}
	rest -= len(lines)
	var b strings.Builder
	b.WriteString("Read the file, and make old_string from what is there. It begins:\n")
	for i, l := range lines {
		fmt.Fprintf(&b, "%6d\t%s\n", i+1, plain.Line(l))
	}
	if rest > 0 {
		fmt.Fprintf(&b, "[%d more lines]", rest)
	}
	return strings.TrimSuffix(b.String(), "\n")
}
