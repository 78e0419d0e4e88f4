package server

import (
	"encoding/base64"
	"encoding/json"
	"fmt"

	"github.com/mark3labs/mcp-go/mcp"

	"mcp-toolset/internal/host"
	"mcp-toolset/tools"
)

// Keys in _meta that clients read.
const (
	metaAlwaysLoad = "anthropic/alwaysLoad"
	metaSearchHint = "anthropic/searchHint"
	metaMaxResult  = "anthropic/maxResultSizeChars"
	// clientResultSize is the size in characters above which clients store a
	// result in a file. A tool can declare a higher limit, up to
	// clientResultMost.
	clientResultSize = 50_000
	clientResultMost = 500_000
)

// definition returns a tool in the form of tools/list. With hints, it includes
// hints on loading; load marks a tool that models need from the start. All four
// annotations of built-in tools are always set, because the defaults of missing
// ones do not fit most tools. Upstream tools have the annotations that their
// server declared.
func definition(t *tools.Tool, structured, hints, load bool) (mcp.Tool, error) {
	in, err := t.InputSchema()
	if err != nil {
		return mcp.Tool{}, err
	}
	def := mcp.NewToolWithRawSchema(t.Name, t.Prompt, in)
	def.Title = t.Title
	def.Annotations = mcp.ToolAnnotation{
		Title:           t.Title,
		ReadOnlyHint:    mcp.ToBoolPtr(t.Hints.ReadOnly),
		DestructiveHint: mcp.ToBoolPtr(t.Hints.Destructive),
		IdempotentHint:  mcp.ToBoolPtr(t.Hints.Idempotent),
		OpenWorldHint:   mcp.ToBoolPtr(t.Hints.OpenWorld),
	}
	if said := t.Declared; said != nil {
		def.Annotations = mcp.ToolAnnotation{
			Title: t.Title, ReadOnlyHint: said.ReadOnly, DestructiveHint: said.Destructive, IdempotentHint: said.Idempotent, OpenWorldHint: said.OpenWorld,
		}
	}
	if structured {
		if def.RawOutputSchema, err = t.OutputSchema(); err != nil {
			return mcp.Tool{}, err
		}
	}
	meta := map[string]any{}
	if hints {
		if load {
			meta[metaAlwaysLoad] = true
		}
		if t.SearchHint != "" {
			meta[metaSearchHint] = t.SearchHint
		}
	}
	if t.MaxResultSize == tools.Unlimited {
		meta[metaMaxResult] = clientResultMost
	} else if t.MaxResultSize > clientResultSize {
		meta[metaMaxResult] = min(t.MaxResultSize, clientResultMost)
	}
	if len(meta) > 0 {
		def.Meta = &mcp.Meta{AdditionalFields: meta}
	}
	return def, nil
}

// result converts a response for tools/call. It always returns a new value,
// because the library modifies it.
func (s *Server) result(r *tools.Response, to host.Host) (*mcp.CallToolResult, error) {
	out := &mcp.CallToolResult{IsError: r.Failed, Content: make([]mcp.Content, 0, len(r.Content))}
	for _, c := range r.Content {
		if to.Whole == host.WholeAll {
			c = onlyText(c)
		}
		out.Content = append(out.Content, contentBlock(c))
	}
	if whole := to.Whole == host.WholeAll || r.Failed && to.Whole == host.WholeFailed; len(r.Meta) > 0 && !whole {
		if _, err := json.Marshal(r.Meta); err != nil {
			return nil, fmt.Errorf("encoding _meta: %w", err)
		}
		out.Meta = mcp.NewMetaFromMap(r.Meta)
	}
	if s.Structured && r.Structured != nil {
		data, err := r.Structured()
		if err != nil {
			return nil, fmt.Errorf("encoding structured content: %w", err)
		}
		out.StructuredContent = json.RawMessage(data)
	}
	if to.Parses && out.StructuredContent == nil {
		out.StructuredContent = json.RawMessage("{}")
	}
	return out, nil
}

// onlyText returns a note in place of content that is not text.
func onlyText(c tools.Content) tools.Content {
	left := func(what, media string, data []byte) tools.Content {
		return tools.Text{Text: fmt.Sprintf("[%s (%s, %d bytes) is left out: this client shows its model only text. Ask the user what it holds.]", what, media, len(data))}
	}
	switch c := c.(type) {
	case tools.Image:
		return left("A picture", c.MIMEType, c.Data)
	case tools.Audio:
		return left("A recording", c.MIMEType, c.Data)
	case tools.Resource:
		if c.Text == "" && c.Blob != nil {
			return left("A file", c.MIMEType, c.Blob)
		}
	}
	return c
}

func contentBlock(c tools.Content) mcp.Content {
	switch c := c.(type) {
	case tools.Text:
		return mcp.NewTextContent(c.Text)
	case tools.Image:
		return mcp.NewImageContent(base64.StdEncoding.EncodeToString(c.Data), c.MIMEType)
	case tools.Audio:
		return mcp.NewAudioContent(base64.StdEncoding.EncodeToString(c.Data), c.MIMEType)
	case tools.ResourceLink:
		return mcp.NewResourceLink(c.URI, c.Name, c.Description, c.MIMEType)
	case tools.Resource:
		if c.Text == "" && c.Blob != nil {
			return mcp.NewEmbeddedResource(mcp.BlobResourceContents{
				URI: c.URI, MIMEType: c.MIMEType, Blob: base64.StdEncoding.EncodeToString(c.Blob),
			})
		}
		return mcp.NewEmbeddedResource(mcp.TextResourceContents{URI: c.URI, MIMEType: c.MIMEType, Text: c.Text})
	}
	panic(fmt.Sprintf("server: content of type %T", c))
}
