package notebook

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	"mcp-toolset/internal/text/plain"
	"mcp-toolset/internal/text/terminal"
)

// mimeKeys lists the types of data that are shown, the best for a model first. Pictures come first,
// since the text with them only names them. text/html comes last, since it repeats text/plain at
// length. An SVG picture is text.
var mimeKeys = []string{
	"image/png", "image/jpeg", "image/gif", "image/webp",
	"image/svg+xml", "text/plain", "text/markdown", "text/latex", "application/json", "text/html",
}

// shortKeys lists the names of mimeKeys in nbformat 3.
var shortKeys = []string{"png", "jpeg", "gif", "webp", "svg", "text", "markdown", "latex", "json", "html"}

// pictures is the number of picture types at the start of mimeKeys.
const pictures = 4

// outputKeys lists the keys of an output that are read. Only nbformat 3 has stream.
var outputKeys = []string{"output_type", "name", "stream", "text", "data", "ename", "evalue", "traceback"}

// readOutputs reads the outputs of a cell.
func (n *Notebook) readOutputs(list value, at place) ([]Output, error) {
	if err := list.list("the outputs of " + at.String()); err != nil {
		return nil, err
	}
	var out []Output
	var s stream
	for item := range list.items() {
		at.output++
		if item.kind() != isObject {
			return nil, item.damaged(fmt.Sprintf("%s is %s, not an object", at, item.kind()))
		}
		f, err := item.fields(at, outputKeys)
		if err != nil {
			return nil, err
		}
		if f.of("output_type").is("stream") {
			text, err := f.of("text").text("text", at)
			if err != nil {
				return nil, err
			}
			name := f.of("name").unquoted() + f.of("stream").unquoted()
			if name != s.name {
				out = s.end(out)
				s.name = name
			}
			s.pieces = append(s.pieces, text)
			continue
		}
		o, err := n.readOutput(item, f, at)
		if err != nil {
			return nil, err
		}
		out = append(s.end(out), o)
	}
	return slices.DeleteFunc(s.end(out), func(o Output) bool { return o.Text == "" && o.Picture == nil }), nil
}

// stream collects the pieces of a stream. Kernels write many pieces, and a progress bar continues
// over several of them, so they are joined first.
type stream struct {
	name   string
	pieces []string
}

// end appends the stream to the outputs, if there is one.
func (s *stream) end(out []Output) []Output {
	if len(s.pieces) > 0 {
		out = append(out, Output{Text: terminal.Text(strings.Join(s.pieces, ""))})
	}
	*s = stream{}
	return out
}

// readOutput reads an output other than a stream.
func (n *Notebook) readOutput(v value, f fields, at place) (Output, error) {
	switch kind := f.of("output_type").unquoted(); kind {
	case "":
		return Output{}, v.damaged(at.String() + " has no output_type")
	case "error", "pyerr":
		return readError(f, at)
	case "display_data", "execute_result", "pyout":
		if n.Format == 3 {
			return readData(v, at, true)
		}
		return readData(f.of("data"), at, false)
	default:
		return unshown(kind), nil
	}
}

// readError reads an error: its name, value and traceback.
func readError(f fields, at place) (Output, error) {
	head := f.of("ename").unquoted() + ": " + f.of("evalue").unquoted()
	var b strings.Builder
	b.WriteString(head)
	trace := f.of("traceback")
	if trace.kind() == isString {
		b.WriteByte('\n')
		trace.unquote(&b)
	} else if trace.exists() && trace.kind() != isNull {
		if err := trace.list("the lines of the traceback in " + at.String()); err != nil {
			return Output{}, err
		}
		for line := range trace.items() {
			if line.kind() != isString {
				return Output{}, line.damaged(fmt.Sprintf("the traceback of %s has a line that is %s, not a string", at, line.kind()))
			}
			b.WriteByte('\n')
			line.unquote(&b)
		}
	}
	return Output{Text: terminal.Text(b.String())}, nil
}

// readData reads the representation of data that is shown.
func readData(data value, at place, short bool) (Output, error) {
	if data.exists() && data.kind() != isObject && data.kind() != isNull {
		return Output{}, data.damaged(fmt.Sprintf("the data of %s is %s, not an object", at, data.kind()))
	}
	keys := mimeKeys
	if short {
		keys = shortKeys
	}
	f, err := data.fields(at, keys)
	if err != nil {
		return Output{}, err
	}
	var named *Output // the name of an object, used if there is nothing better
	for i, v := range f.values {
		if !v.exists() {
			continue
		}
		mime := mimeKeys[i]
		if mime == "application/json" && v.kind() != isString {
			return Output{Text: compact(v)}, nil
		}
		text, err := v.text(keys[i], at)
		switch {
		case err != nil:
			return Output{}, err
		case i < pictures:
			return readPicture(mime, text), nil
		case mime == "text/plain":
			text = terminal.Text(text)
			if isName(text) {
				named = &Output{Text: text}
				continue
			}
		}
		return Output{Text: text}, nil
	}
	if named != nil {
		return *named, nil
	}
	for key := range data.entries() {
		if short && (key.is("output_type") || key.is("metadata") || key.is("prompt_number")) {
			continue
		}
		return unshown(key.unquoted()), nil
	}
	return Output{}, nil // no data: nothing was displayed
}

// isName reports whether text is only Python's name of an object that has better representations:
// <IPython.core.display.Markdown object>.
func isName(text string) bool {
	return strings.HasPrefix(text, "<") && strings.HasSuffix(text, ">") && !strings.Contains(text, "\n") &&
		(strings.HasSuffix(text, " object>") || strings.Contains(text, " at 0x"))
}

func unshown(kind string) Output {
	return Output{Text: "[an output of type " + plain.Line(kind) + " is not shown]"}
}

// readPicture decodes a picture. Its base64 may be divided into lines and is otherwise decoded
// strictly: errors are reported, not corrected.
func readPicture(mime, text string) Output {
	data, err := base64.StdEncoding.Strict().DecodeString(strings.Trim(text, " \t\r\n"))
	switch {
	case err != nil:
		return Output{Text: noPicture(mime, "it is damaged: its base64 is not valid")}
	case len(data) == 0:
		return Output{Text: noPicture(mime, "it is empty")}
	}
	return Output{Picture: data, PictureType: mime}
}

func noPicture(mime, why string) string {
	return fmt.Sprintf("[a picture of type %s cannot be shown: %s]", mime, why)
}

// compact returns a JSON value as in the file, without the white space between its parts.
func compact(v value) string {
	var b strings.Builder
	raw := v.bytes()
	for i := 0; i < len(raw); i++ {
		switch raw[i] {
		case ' ', '\t', '\n', '\r':
		case '"':
			s := scanner{raw, i}
			s.skipString()
			writeValid(&b, raw[i:s.pos])
			i = s.pos - 1
		default:
			b.WriteByte(raw[i])
		}
	}
	return b.String()
}
