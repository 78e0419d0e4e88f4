package agent

import (
	"context"
	"slices"
	"strings"

	"github.com/coder/acp-go-sdk"
)

// RequestPermission decides on a call that a program wants to make by itself, as on a call of the tool
// that does the same. It refuses calls that are like no tool.
func (h *host) RequestPermission(ctx context.Context, p acp.RequestPermissionRequest) (out acp.RequestPermissionResponse, err error) {
	ctx, done, err := h.enter(ctx)
	if err != nil {
		return out, err
	}
	defer done(&err)
	allowed := true
	calls := callsOf(p.ToolCall)
	for _, c := range calls {
		if _, err := h.call(ctx, c.tool, c.input, true); err != nil {
			allowed = false
			break
		}
	}
	if len(calls) == 0 {
		allowed = false
		h.r.step("refused: the program asked for a permission that is like no tool")
	}
	if ctx.Err() != nil {
		return acp.RequestPermissionResponse{Outcome: acp.NewRequestPermissionOutcomeCancelled()}, nil
	}
	kinds := []acp.PermissionOptionKind{acp.PermissionOptionKindAllowOnce} // each call is decided by itself
	if !allowed {
		kinds = []acp.PermissionOptionKind{acp.PermissionOptionKindRejectOnce, acp.PermissionOptionKindRejectAlways}
	}
	for _, kind := range kinds {
		if i := slices.IndexFunc(p.Options, func(o acp.PermissionOption) bool { return o.Kind == kind }); i >= 0 {
			return acp.RequestPermissionResponse{Outcome: acp.NewRequestPermissionOutcomeSelected(p.Options[i].OptionId)}, nil
		}
	}
	return acp.RequestPermissionResponse{Outcome: acp.NewRequestPermissionOutcomeCancelled()}, nil
}

// alike is a call that is like one of a program.
type alike struct {
	tool  string
	input any
}

// callsOf returns the calls of tools that together are like a call of a program. It returns none for a
// call that is not understood as a whole: what is not judged could be what the program means.
func callsOf(c acp.ToolCallUpdate) []alike {
	if c.Kind == nil {
		return nil
	}
	in, ok := membersOf(*c.Kind, c.RawInput)
	if !ok {
		return nil
	}
	paths, ok := slices.Clone(in.paths), true
	for _, l := range c.Locations {
		path, fine := pathOf(l.Path)
		paths, ok = append(paths, path), ok && fine
	}
	var diffs []*acp.ToolCallContentDiff
	for _, content := range c.Content {
		if d := content.Diff; d != nil {
			path, fine := pathOf(d.Path)
			diffs, paths, ok = append(diffs, d), append(paths, path), ok && fine
		}
	}
	if !ok || len(diffs) > 0 && *c.Kind != acp.ToolKindEdit && *c.Kind != acp.ToolKindDelete && *c.Kind != acp.ToolKindMove {
		return nil
	}
	slices.Sort(paths)
	paths = slices.Compact(paths)
	switch *c.Kind {
	case acp.ToolKindExecute:
		return in.execute()
	case acp.ToolKindFetch:
		if len(c.Locations) > 0 {
			return nil // it writes a file
		}
		return each("WebFetch", "url", in.urls)
	case acp.ToolKindRead:
		return each("Read", "file_path", paths)
	case acp.ToolKindSearch:
		if len(paths) == 0 {
			paths = []string{"."}
		}
		return shell("grep", "-r", "-e", "x", "--", paths)
	case acp.ToolKindDelete:
		if len(paths) > 0 {
			return shell("rm", "-r", "--", paths)
		}
	case acp.ToolKindMove:
		paths = slices.DeleteFunc(paths, func(path string) bool { return slices.Contains(in.targets, path) })
		if paths = append(paths, in.targets...); len(paths) > 1 {
			return shell("mv", "--", paths)
		}
	case acp.ToolKindEdit:
		return edits(diffs, paths, in.content)
	}
	return nil
}

// shell returns a call of Bash with the given words and lists of words.
func shell(words ...any) []alike {
	var line []string
	for _, w := range words {
		switch w := w.(type) {
		case string:
			line = append(line, w)
		case []string:
			for _, word := range w {
				line = append(line, quoteWord(word))
			}
		}
	}
	return []alike{{"Bash", map[string]string{"command": strings.Join(line, " ")}}}
}

func each(tool, key string, values []string) (calls []alike) {
	for _, v := range values {
		calls = append(calls, alike{tool, map[string]string{key: v}})
	}
	return calls
}

// edits returns the calls for diffs, and for paths that are in none of them.
func edits(diffs []*acp.ToolCallContentDiff, paths []string, content string) (calls []alike) {
	for _, d := range diffs {
		path, _ := pathOf(d.Path)
		paths = slices.DeleteFunc(paths, func(other string) bool { return other == path })
		if d.OldText != nil && *d.OldText != "" {
			calls = append(calls, alike{"Edit", map[string]string{"file_path": path, "old_string": *d.OldText, "new_string": d.NewText}})
		} else {
			calls = append(calls, alike{"Write", map[string]string{"file_path": path, "content": d.NewText}})
		}
	}
	for _, path := range paths {
		calls = append(calls, alike{"Write", map[string]string{"file_path": path, "content": content}})
	}
	return calls
}

// quoteWords returns a command line of words for the shell; "" if some are no texts.
func quoteWords(words []any) string {
	var quoted []string
	for _, w := range words {
		s, ok := w.(string)
		if !ok {
			return ""
		}
		quoted = append(quoted, quoteWord(s))
	}
	return strings.Join(quoted, " ")
}

// quoteWord returns a word for the shell.
func quoteWord(s string) string {
	if s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:,@+", r))
	}) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
