package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"

	"mcp-toolset/internal/text/fault"
	"mcp-toolset/internal/text/nearest"
	"mcp-toolset/tools"
)

// Resource describes a resource that an upstream server lists.
type Resource struct {
	Server, URI, Name, Title, Description, MIMEType string
	Size                                            int64 // in bytes; 0 if unknown
}

// Problem names a server whose resources are unknown, with the reason as one
// line that is safe to show.
type Problem struct{ Server, Why string }

// Resources returns the resources of one server, or of all if server is "",
// sorted by server and URI. It connects the servers if necessary.
func (m *Manager) Resources(ctx context.Context, server string) ([]Resource, []Problem) {
	ctx, cancel := context.WithTimeoutCause(ctx, 2*m.ConnectTimeout, fault.New("it does not answer", ""))
	defer cancel()
	var (
		mu       sync.Mutex
		wg       sync.WaitGroup
		out      []Resource
		problems []Problem
	)
	for _, s := range m.servers {
		if server != "" && s.Name != server {
			continue
		}
		wg.Go(func() {
			list, err := s.resources(ctx)
			mu.Lock()
			defer mu.Unlock()
			out = append(out, list...)
			if err != nil {
				problems = append(problems, Problem{s.Name, factOf(err)})
			}
		})
	}
	wg.Wait()
	if server != "" && m.find(server) == nil {
		problems = append(problems, Problem{server, "there is no such server"})
	}
	slices.SortFunc(out, func(a, b Resource) int {
		return strings.Compare(a.Server+"\x00"+a.URI, b.Server+"\x00"+b.URI)
	})
	slices.SortFunc(problems, func(a, b Problem) int { return strings.Compare(a.Server, b.Server) })
	return out, problems
}

// factOf returns the fact of an error.
func factOf(err error) string {
	var f *fault.Fault
	if errors.As(err, &f) {
		return line(f.Error())
	}
	if errors.Is(err, context.Canceled) {
		return "the call was cancelled"
	}
	return "it does not answer"
}

func (s *server) resources(ctx context.Context) ([]Resource, error) {
	c, err := s.connect(ctx)
	if err != nil {
		return nil, err
	}
	defer c.leave()
	if !c.hasResources {
		return nil, nil
	}
	list, err := c.pages(ctx, "resources", func(ctx context.Context, p mcp.PaginatedRequest) (func(string) bool, error) {
		_, err := c.client.ListResourcesByPage(ctx, mcp.ListResourcesRequest{PaginatedRequest: p})
		return nil, err
	})
	if err != nil {
		return nil, s.unreachable(s.explain(ctx, err))
	}
	var out []Resource
	for _, raw := range list {
		r := Resource{Server: s.Name}
		if json.Unmarshal(raw, &r) == nil && r.URI != "" {
			r.Server = s.Name
			out = append(out, r)
		}
	}
	return out, nil
}

// ReadResource reads a resource of a server.
func (m *Manager) ReadResource(ctx context.Context, server, uri string, env *tools.Env) ([]tools.Content, error) {
	s := m.find(server)
	if s == nil {
		return nil, m.unknown(server)
	}
	raw, err := s.request(ctx, env, true, func(ctx context.Context, c *call) error {
		var r mcp.ReadResourceRequest
		r.Params.URI = uri
		r.Params.Meta = &mcp.Meta{ProgressToken: c.token}
		_, err := c.conn.client.ReadResource(ctx, r)
		return err
	})
	if err != nil {
		return nil, err
	}
	var r struct{ Contents []json.RawMessage }
	if err := json.Unmarshal(raw, &r); err != nil || r.Contents == nil {
		return nil, s.protocolFault("reading of a resource")
	}
	var out []tools.Content
	for _, item := range r.Contents {
		var c contents
		if json.Unmarshal(item, &c) == nil {
			if block := c.content(); block != nil {
				out = append(out, block)
				continue
			}
		}
		out = append(out, tools.Text{Text: string(item)})
	}
	return s.safe(out), nil
}

// unknown returns the error for the name of a server that does not exist.
func (m *Manager) unknown(server string) error {
	var names []string
	for _, s := range m.servers {
		names = append(names, s.Name)
	}
	fact := fmt.Sprintf("there is no server %s", line(server))
	switch near := nearest.Names(server, names, 3); {
	case len(near) > 0:
		return fault.New(fact, "The nearest is "+line(strings.Join(near, ", "))+".")
	case len(names) > 0:
		return fault.New(fact, "There are: "+line(strings.Join(names, ", "))+".")
	}
	return fault.New(fact, "No servers are in the settings, under mcpServers.")
}
