package server

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"mcp-toolset/tools"
)

// Client is an MCP client in the server's process. It talks to ServeStdio over
// pipes, so that its calls take the same path as those of any other client.
type Client struct {
	// Progress, if not nil, gets the messages of the progress of calls. It must be set before
	// the first call.
	Progress func(message string)

	c      *client.Client
	served chan error
	stop   context.CancelFunc
}

// Connect starts and initializes a client. The caller must close it.
func (s *Server) Connect(ctx context.Context) (*Client, error) {
	toServer, fromClient := io.Pipe()
	toClient, fromServer := io.Pipe()
	ctx, stop := context.WithCancel(ctx)
	served := make(chan error, 1)
	go func() {
		err := s.ServeStdio(ctx, toServer, fromServer)
		_ = fromServer.CloseWithError(io.EOF)
		served <- err
	}()
	c := &Client{
		c:      client.NewClient(transport.NewIO(toClient, fromClient, io.NopCloser(eof{}))),
		served: served, stop: stop,
	}
	c.c.OnNotification(func(n mcp.JSONRPCNotification) {
		if n.Method == string(mcp.MethodNotificationProgress) { // only a call that wants it gets it
			if text, _ := n.Params.AdditionalFields["message"].(string); text != "" {
				c.Progress(text)
			}
		}
	})
	init := mcp.InitializeRequest{}
	init.Params.ProtocolVersion = mcp.LATEST_LEGACY_PROTOCOL_VERSION
	init.Params.ClientInfo = mcp.Implementation{Name: "mcp-toolset call", Version: s.Version}
	if err := c.c.Start(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("starting the client: %w", err), c.Close())
	}
	if _, err := c.c.Initialize(ctx, init); err != nil {
		return nil, errors.Join(fmt.Errorf("initializing: %w", err), c.Close())
	}
	return c, nil
}

type eof struct{}

func (eof) Read([]byte) (int, error) { return 0, io.EOF }

// Call calls a tool. It returns the content, the whole answer as JSON, and
// whether it is an error result. An error is one of the protocol, such as an
// unknown tool.
func (c *Client) Call(ctx context.Context, tool string, args json.RawMessage) (content []tools.Content, result json.RawMessage, failed bool, err error) {
	req := mcp.CallToolRequest{}
	req.Params.Name, req.Params.Arguments = tool, args
	if c.Progress != nil {
		req.Params.Meta = &mcp.Meta{ProgressToken: tool}
	}
	res, err := c.c.CallTool(ctx, req)
	if err != nil {
		return nil, nil, false, err
	}
	if result, err = json.Marshal(res); err != nil {
		return nil, nil, false, fmt.Errorf("encoding the result: %w", err)
	}
	for _, block := range res.Content {
		switch b := block.(type) {
		case mcp.TextContent:
			content = append(content, tools.Text{Text: b.Text})
		case mcp.ImageContent:
			data, err := base64.StdEncoding.DecodeString(b.Data)
			if err != nil {
				return nil, nil, false, fmt.Errorf("decoding an image: %w", err)
			}
			content = append(content, tools.Image{Data: data, MIMEType: b.MIMEType})
		case mcp.AudioContent:
			data, err := base64.StdEncoding.DecodeString(b.Data)
			if err != nil {
				return nil, nil, false, fmt.Errorf("decoding a sound: %w", err)
			}
			content = append(content, tools.Audio{Data: data, MIMEType: b.MIMEType})
		case mcp.ResourceLink:
			content = append(content, tools.ResourceLink{URI: b.URI, Name: b.Name, Description: b.Description, MIMEType: b.MIMEType})
		case mcp.EmbeddedResource:
			r := tools.Resource{}
			switch e := b.Resource.(type) {
			case mcp.TextResourceContents:
				r = tools.Resource{URI: e.URI, MIMEType: e.MIMEType, Text: e.Text}
			case mcp.BlobResourceContents:
				data, err := base64.StdEncoding.DecodeString(e.Blob)
				if err != nil {
					return nil, nil, false, fmt.Errorf("decoding a resource: %w", err)
				}
				r = tools.Resource{URI: e.URI, MIMEType: e.MIMEType, Blob: data}
			}
			content = append(content, r)
		}
	}
	return content, result, res.IsError, nil
}

// Close ends the client and its server side.
func (c *Client) Close() error {
	err := c.c.Close()
	c.stop()
	return errors.Join(err, <-c.served)
}

// List returns the result of tools/list exactly as clients get it. The bytes
// are the same in every process.
func (s *Server) List(ctx context.Context) (json.RawMessage, error) {
	answer := s.mcp.HandleMessage(ctx, json.RawMessage(`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}`))
	response, ok := answer.(mcp.JSONRPCResponse)
	if !ok {
		return nil, fmt.Errorf("listing tools: %v", answer)
	}
	data, err := json.Marshal(response.Result)
	if err != nil {
		return nil, fmt.Errorf("listing tools: %w", err)
	}
	return data, nil
}
