package server

import (
	"encoding/base64"
	"encoding/json"
	"fmt"

	"github.com/mark3labs/mcp-go/mcp"

	"mcp-toolset/tools"
)

// Keys in _meta that clients read. Sizes are in characters.
const (
	metaAlwaysLoad = "anthropic/alwaysLoad"
	metaSearchHint = "anthropic/searchHint"
	metaMaxResult  = "anthropic/maxResultSizeChars"
	// Clients send a result over clientResultSize to a file of their own,
	// unless the tool says that its results may be longer, up to
	// clientResultMost.
	clientResultSize = 50_000
	clientResultMost = 500_000
)

// definition is a tool as tools/list shows it: with hints on loading or without,
// load says that models are to have it from the start. All four hints of our own tools are always set: the defaults of
// absent ones are the opposite of what most tools are. Those of other servers are
// as these say.
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
	if said := t.Said; said != nil {
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

// result is a response as tools/call answers it: always a fresh value, since
// the library writes into what it is given.
func (s *Server) result(r *tools.Response) (*mcp.CallToolResult, error) {
	out := &mcp.CallToolResult{IsError: r.Failed, Content: make([]mcp.Content, 0, len(r.Content))}
	for _, c := range r.Content {
		out.Content = append(out.Content, contentBlock(c))
	}
	if len(r.Meta) > 0 {
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
	return out, nil
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
