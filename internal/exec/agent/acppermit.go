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

// callsOf returns the calls of tools that together are like a call of a program.
func callsOf(c acp.ToolCallUpdate) (calls []alike) {
	input, _ := c.RawInput.(map[string]any)
	text := func(keys ...string) string {
		for _, key := range keys {
			if s, ok := input[key].(string); ok && s != "" {
				return s
			}
		}
		return ""
	}
	var kind acp.ToolKind
	if c.Kind != nil {
		kind = *c.Kind
	}
	paths := []string{}
	for _, l := range c.Locations {
		paths = append(paths, l.Path)
	}
	if path := text("file_path", "path", "abs_path", "filePath"); path != "" {
		paths = append(paths, path)
	}
	slices.Sort(paths)
	paths = slices.Compact(paths)
	switch kind {
	case acp.ToolKindExecute:
		command := text("command", "cmd")
		if words, ok := input["command"].([]any); ok {
			command = quoteWords(words)
		}
		if dir := text("cwd", "workdir", "directory"); command != "" && dir != "" {
			command = "cd " + quoteWord(dir) + " && " + command
		}
		if command != "" {
			calls = append(calls, alike{"Bash", map[string]string{"command": command}})
		}
	case acp.ToolKindFetch:
		if url := text("url"); url != "" {
			calls = append(calls, alike{"WebFetch", map[string]string{"url": url}})
		}
	case acp.ToolKindRead, acp.ToolKindSearch:
		for _, path := range paths {
			calls = append(calls, alike{"Read", map[string]string{"file_path": path}})
		}
	case acp.ToolKindEdit, acp.ToolKindDelete, acp.ToolKindMove:
		for _, content := range c.Content {
			d := content.Diff
			if d == nil {
				continue
			}
			paths = slices.DeleteFunc(paths, func(path string) bool { return path == d.Path })
			if d.OldText != nil && *d.OldText != "" && kind == acp.ToolKindEdit {
				calls = append(calls, alike{"Edit", map[string]string{"file_path": d.Path, "old_string": *d.OldText, "new_string": d.NewText}})
			} else {
				calls = append(calls, alike{"Write", map[string]string{"file_path": d.Path, "content": d.NewText}})
			}
		}
		for _, path := range paths {
			calls = append(calls, alike{"Write", map[string]string{"file_path": path, "content": text("content")}})
		}
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
