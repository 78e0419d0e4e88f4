package server

// The form that asks for an approval is made here, and its answer is
// interpreted. All text in it that comes from the call is made plain: it cannot
// hide, add lines or control a terminal.

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/mark3labs/mcp-go/mcp"

	asking "mcp-toolset/internal/consent/question"
	"mcp-toolset/internal/text/plain"
	"mcp-toolset/internal/text/strictjson"
	"mcp-toolset/pipeline"
)

// Limits of a form, in characters.
const (
	// maxShown limits the part of an input that is shown; users do not read
	// more. Of a longer input, the beginning and the end are shown. The end
	// gets a quarter of the limit.
	maxShown = 4000
	// maxAlways is the longest text that "always" can be offered for: a
	// permanent approval must be shown in full.
	maxAlways = 500
)

// The only field of a form and its values. An answer without it means once.
const (
	rememberField = "remember"
	rememberOnce  = "once"
	rememberAll   = "always"
)

// permissionKey is the key of the question whether a call may run.
const permissionKey = "permission"

// permission returns the question whether a call may run.
func permission(q pipeline.Question) question {
	return newQuestion(permissionKey, form(q), []byte(q.Tool), []byte(q.Title), []byte(q.Dir), q.Input, []byte(q.Preview.Text), []byte(q.Reason), []byte(q.Opens), []byte(q.Further), []byte(q.Always))
}

// form returns a question as clients accept it: text and a flat object without
// required properties, because some clients accept without filling anything in.
func form(q pipeline.Question) mcp.ElicitationParams {
	properties := map[string]any{}
	if offersAlways(q) {
		properties[rememberField] = map[string]any{
			"type": "string", "enum": []string{rememberOnce, rememberAll},
			"title":       "Remember",
			"description": `"once" allows what accepting allows, "always" also what the message names for it.`,
		}
	}
	return mcp.ElicitationParams{
		Message:         formText(q),
		RequestedSchema: map[string]any{"type": "object", "properties": properties},
	}
}

// offersAlways reports whether the user may choose "always".
func offersAlways(q pipeline.Question) bool {
	return q.Always != "" && utf8.RuneCountInString(plain.Text(q.Always)) <= maxAlways
}

// formText returns the text of a form. Its first three lines hold the thing itself, the reason and
// the effect, since clients may show only these (asking.Columns).
func formText(q pipeline.Question) string {
	reason, cutReason := headLine("asks because: ", cmp.Or(plain.Line(q.Reason), "it was not allowed before"))
	effect := "this call once"
	if q.Further != "" {
		effect = "this call and, in this session, " + plain.Text(q.Further)
	}
	if q.Opens != "" {
		effect = "opens the sandbox for " + plain.Line(q.Opens) + "; " + effect
	}
	effect, cutEffect := headLine("accepting: ", effect)
	var b strings.Builder
	b.WriteString(subjectLine(q) + "\n" + reason + "\n" + effect + "\n")
	if cutReason {
		fmt.Fprintf(&b, "The whole reason: %s\n", plain.Line(q.Reason))
	}
	if cutEffect && q.Further != "" {
		fmt.Fprintf(&b, "It allows, in this session, %s\n", plain.Text(q.Further))
	}
	if cutEffect && q.Opens != "" {
		fmt.Fprintf(&b, "It opens the sandbox for %s\n", plain.Line(q.Opens))
	}
	if q.Dir != "" {
		fmt.Fprintf(&b, "In: %s\n", plain.Line(q.Dir))
	}
	if q.Title != "" {
		fmt.Fprintf(&b, "Described as: %s\n", plain.Line(q.Title))
	}
	b.WriteString(formInput(q))
	if offersAlways(q) {
		fmt.Fprintf(&b, "\n%q also allows %s", rememberAll, plain.Text(q.Always))
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// headLine returns a line of at most asking.Columns characters, and reports whether it was cut. The
// middle of long words goes first, so that the end of a sentence is seen in a narrow window, too.
func headLine(label, text string) (line string, cut bool) {
	whole := label + text
	words := strings.Split(whole, " ")
	for line = whole; ; line = strings.Join(words, " ") {
		over, long := utf8.RuneCountInString(line)-asking.Narrow, 0
		for i, w := range words {
			if utf8.RuneCountInString(w) > utf8.RuneCountInString(words[long]) {
				long = i
			}
		}
		r := []rune(words[long])
		keep := max(24, len(r)-over)
		if over <= 0 || keep >= len(r) {
			break
		}
		words[long] = string(r[:keep/3]) + "…" + string(r[len(r)-(keep-keep/3-1):])
	}
	line = plain.Cut(line, asking.Columns)
	return line, line != whole
}

// subjectLine returns the tool and its subject. If that does not fit a narrow window, it begins with
// the part of the command that needs the approval, or with the name of the file. It ends with the
// number of characters that it leaves out.
func subjectLine(q pipeline.Question) string {
	label := plain.Line(q.Tool) + ": "
	all := cmp.Or(plain.Line(q.Subject), compact(q.Input))
	total := utf8.RuneCountInString(all)
	part := plain.Line(q.Part)
	line := label + all
	switch {
	case utf8.RuneCountInString(line) <= asking.Narrow:
		return line
	case part != "" && part != all:
		line = fmt.Sprintf("%s… %s … in %d characters: %s", label, part, total, all)
	case strings.HasPrefix(all, "/") && !strings.ContainsAny(all, " ;|&$<>(){}`"): // a path
		dir, name := path.Split(all)
		line = label + name + " in " + dir
	}
	const note = "… (+%d characters)"
	if short := plain.Cut(line, asking.Columns); short == line || part != "" {
		return short
	}
	shown := line[:offset(line, asking.Columns-len(note)-3)]
	return shown + fmt.Sprintf(note, utf8.RuneCountInString(line)-utf8.RuneCountInString(shown))
}

// compact returns an input in one line.
func compact(input json.RawMessage) string {
	var b bytes.Buffer
	if json.Compact(&b, unescapeHTML(input)) != nil {
		return plain.Line(string(input))
	}
	return plain.Line(b.String())
}

// formInput returns the part of a form that shows the preview of the changes,
// or the input.
func formInput(q pipeline.Question) string {
	sum := sha256.Sum256(q.Input)
	if q.Preview.Text != "" {
		caution := ""
		if q.Preview.Partial {
			caution = fmt.Sprintf("Caution: not all of the change is shown. The SHA-256 of the whole input is %x.\n", sum)
		}
		return fmt.Sprintf("%sChange:\n%s\n", caution, strings.TrimSuffix(plain.Lines(q.Preview.Text), "\n"))
	}
	shown, left := shownInput(q.Input)
	caution := ""
	if left > 0 {
		caution = fmt.Sprintf("Caution: the input is long, and %d characters from its middle are not shown. The SHA-256 of all of it is %x.\n", left, sum)
	}
	return fmt.Sprintf("%sInput:\n%s\n", caution, shown)
}

// shownInput returns an input as readable text, and the number of characters
// left out.
func shownInput(input json.RawMessage) (text string, left int) {
	var b bytes.Buffer
	if err := json.Indent(&b, unescapeHTML(input), "", "  "); err != nil {
		b.Reset()
		b.WriteString(plain.Text(string(input))) // cannot happen: an input is JSON
	}
	var safe strings.Builder
	for line := range strings.Lines(b.String()) {
		line, ended := strings.CutSuffix(line, "\n")
		safe.WriteString(plain.Text(line))
		if ended {
			safe.WriteByte('\n')
		}
	}
	text = safe.String()
	total := utf8.RuneCountInString(text)
	if total <= maxShown {
		return text, 0
	}
	const end = maxShown / 4
	left = total - maxShown
	return fmt.Sprintf("%s\n[%d characters not shown]\n%s", text[:offset(text, maxShown-end)], left, text[offset(text, total-end):]), left
}

// offset returns the byte offset of character n of a text, counted from 0.
func offset(text string, n int) int {
	for i := range text {
		if n == 0 {
			return i
		}
		n--
	}
	return len(text)
}

// unescapeHTML replaces the escapes that encoding/json writes for <, > and &.
// Commands that users have to read are full of them.
func unescapeHTML(input []byte) []byte {
	out := make([]byte, 0, len(input))
	for i := 0; i < len(input); i++ {
		if input[i] != '\\' || i+1 == len(input) {
			out = append(out, input[i])
			continue
		}
		if i+6 <= len(input) {
			switch strings.ToLower(string(input[i : i+6])) {
			case `\u003c`:
				out, i = append(out, '<'), i+5
				continue
			case `\u003e`:
				out, i = append(out, '>'), i+5
				continue
			case `\u0026`:
				out, i = append(out, '&'), i+5
				continue
			}
		}
		out = append(out, input[i], input[i+1])
		i++
	}
	return out
}

// reply converts the result of an elicitation. An unclear answer allows
// nothing, and an unclear "always" means once.
//
// An "accept" shows only what the client says. Most clients show the form to a
// user; some accept or decline by themselves.
func reply(q pipeline.Question, result json.RawMessage) pipeline.Reply {
	action, content := readAnswer(result)
	switch action {
	case mcp.ElicitationResponseActionAccept:
		return pipeline.Reply{Allow: true, Always: offersAlways(q) && choosesAlways(content), How: pipeline.Accepted}
	case mcp.ElicitationResponseActionDecline:
		return pipeline.Reply{How: pipeline.Declined}
	case mcp.ElicitationResponseActionCancel:
		return pipeline.Reply{How: pipeline.Cancelled}
	}
	return pipeline.Reply{How: pipeline.NoAnswer}
}

var (
	answerKeys  = strictjson.NewKeys("action", "content", "_meta")
	contentKeys = strictjson.NewKeys(rememberField)
)

// readAnswer splits the result of an elicitation. The action of an invalid
// answer is "".
func readAnswer(result json.RawMessage) (action mcp.ElicitationResponseAction, content json.RawMessage) {
	fields, err := answerKeys.Fields(result)
	if err != nil || json.Unmarshal(fields["action"], &action) != nil {
		return "", nil
	}
	return action, fields["content"]
}

func choosesAlways(content json.RawMessage) bool {
	fields, err := contentKeys.Fields(content)
	return err == nil && string(fields[rememberField]) == `"`+rememberAll+`"`
}
