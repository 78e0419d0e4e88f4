package upstream

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"mcp-toolset/internal/text/fault"
	"mcp-toolset/internal/text/plain"
	"mcp-toolset/tools"
)

// reserved reports whether a key in _meta is not passed on: programs expect it from this
// server only, or the protocol reserves its prefix, in which a label is modelcontextprotocol
// or mcp (https://modelcontextprotocol.io/specification/2025-11-25/basic#_meta).
func reserved(key string) bool {
	prefix, _, ok := strings.Cut(strings.ToLower(strings.TrimSpace(key)), "/")
	labels := strings.Split(prefix, ".")
	return ok && (prefix == "mcp-toolset" || len(labels) > 1 && (slices.Contains(labels, "modelcontextprotocol") || slices.Contains(labels, "mcp")))
}

// response converts the raw result of a call.
func (s *server) response(raw json.RawMessage) (*tools.Response, error) {
	var r struct {
		Content    []json.RawMessage
		Structured json.RawMessage `json:"structuredContent"`
		IsError    bool
		Meta       map[string]json.RawMessage `json:"_meta"`
	}
	if err := json.Unmarshal(raw, &r); err != nil {
		return nil, s.protocolFault("call")
	}
	if r.Content == nil && isNull(r.Structured) {
		return nil, s.protocolFault("call")
	}
	out := &tools.Response{Failed: r.IsError, Meta: meta(r.Meta)}
	for _, item := range r.Content {
		out.Content = append(out.Content, block(item))
	}
	out.Content = s.safe(out.Content)
	if !isNull(r.Structured) {
		if !r.IsError { // structured output belongs to success only
			out.Structured = func() (json.RawMessage, error) { return r.Structured, nil }
		}
		if len(out.Content) == 0 {
			out.Content = s.safe([]tools.Content{tools.Text{Text: string(r.Structured)}})
		}
	}
	return out, nil
}

// safe returns content of the server in which no text controls a terminal or
// looks like a line of ours.
func (s *server) safe(list []tools.Content) []tools.Content {
	any := false
	clean := func(text string) string {
		text, marked := plain.Foreign(text)
		any = any || marked
		return text
	}
	for i, c := range list {
		switch c := c.(type) {
		case tools.Text:
			c.Text = clean(c.Text)
			list[i] = c
		case tools.Resource:
			c.Text = clean(c.Text)
			list[i] = c
		case tools.ResourceLink:
			c.Name, c.Description = plain.Text(c.Name), clean(c.Description)
			list[i] = c
		}
	}
	if any {
		list = append(list, tools.Text{Text: fmt.Sprintf("[Lines after > are data of the server %s.]", line(s.Name))})
	}
	return list
}

// protocolFault returns the error for an answer that violates the protocol.
func (s *server) protocolFault(what string) error {
	return fault.New(fmt.Sprintf("what the server %s answered to the %s is not MCP; whether it took effect is not known", line(s.Name), what), "Look before you repeat it.")
}

// meta returns the metadata of a result that is passed on, or nil if there is
// none.
func meta(fields map[string]json.RawMessage) map[string]any {
	maps.DeleteFunc(fields, func(key string, _ json.RawMessage) bool { return reserved(key) })
	if len(fields) == 0 {
		return nil
	}
	out := map[string]any{}
	for key, value := range fields {
		out[key] = value // unchanged
	}
	return out
}

// item holds the fields of all kinds of content blocks.
type item struct {
	Type        string
	Text        *string
	Data        *string
	MIMEType    string `json:"mimeType"`
	URI         string
	Name        string
	Title       string
	Description string
	Resource    *contents
}

// contents holds the contents of a resource.
type contents struct {
	URI      string
	MIMEType string `json:"mimeType"`
	Text     *string
	Blob     *string
}

// block converts a content block. Unknown and broken blocks become text as
// received.
func block(raw json.RawMessage) tools.Content {
	var b item
	if err := json.Unmarshal(raw, &b); err != nil {
		return tools.Text{Text: string(raw)}
	}
	b.URI, b.MIMEType = plain.Text(b.URI), plain.Text(b.MIMEType)
	switch {
	case b.Type == "text" && b.Text != nil:
		return tools.Text{Text: *b.Text}
	case b.Type == "image" && b.Data != nil:
		if data, err := base64.StdEncoding.DecodeString(*b.Data); err == nil {
			return tools.Image{Data: data, MIMEType: b.MIMEType}
		}
	case b.Type == "audio" && b.Data != nil:
		if data, err := base64.StdEncoding.DecodeString(*b.Data); err == nil {
			return tools.Audio{Data: data, MIMEType: b.MIMEType}
		}
	case b.Type == "resource_link" && b.URI != "":
		return tools.ResourceLink{URI: b.URI, Name: oneOf(b.Name, b.Title), Description: b.Description, MIMEType: b.MIMEType}
	case b.Type == "resource" && b.Resource != nil:
		if r := b.Resource.content(); r != nil {
			return r
		}
	}
	return tools.Text{Text: string(raw)}
}

// content converts the contents of a resource. It returns nil if they are
// invalid.
func (c *contents) content() tools.Content {
	uri, mime := plain.Text(c.URI), plain.Text(c.MIMEType)
	switch {
	case c.Text != nil:
		return tools.Resource{URI: uri, MIMEType: mime, Text: *c.Text}
	case c.Blob != nil:
		data, err := base64.StdEncoding.DecodeString(*c.Blob)
		if err != nil {
			return nil
		}
		return tools.Resource{URI: uri, MIMEType: mime, Blob: data}
	}
	return nil
}
