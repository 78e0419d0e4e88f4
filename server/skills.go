package server

// Skills as prompts, for clients whose users start them by name, and as the extension of MCP
// for hosts that load them (https://github.com/modelcontextprotocol/ext-skills). The library has
// no methods of extensions: its error for an unknown method is replaced by the answer.

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mark3labs/mcp-go/mcp"
	mcpserver "github.com/mark3labs/mcp-go/server"

	"mcp-toolset/internal/text/plain"
	"mcp-toolset/pipeline"
	"mcp-toolset/skills"
	"mcp-toolset/tools"
)

const (
	skillsExtension = "io.modelcontextprotocol/skills"
	methodSkills    = "skills/list"
	methodSkill     = "skills/get"
	methodFolder    = "resources/directory/read"
	// skillsPage is the number of skills in a page of skills/list. Their files are read for it.
	skillsPage = 20
	// promptCarrier is the name of the only prompt that the library knows, as carrier is of tools.
	promptCarrier = "skill"
	// promptArgument is the name of the argument of each prompt.
	promptArgument = "arguments"
)

// skillOptions returns the capabilities for skills.
func (s *Server) skillOptions() []mcpserver.ServerOption {
	if s.Skills == nil {
		return nil
	}
	return []mcpserver.ServerOption{mcpserver.WithPromptCapabilities(true), mcpserver.WithExtensions(map[string]any{skillsExtension: map[string]any{"directoryRead": true}})}
}

// offerSkills adds skills to the server.
func (s *Server) offerSkills(hooks *mcpserver.Hooks) {
	if s.Skills == nil {
		return
	}
	hooks.AddAfterListPrompts(func(_ context.Context, _ any, _ *mcp.ListPromptsRequest, r *mcp.ListPromptsResult) {
		r.Prompts = []mcp.Prompt{}
		for _, k := range s.Skills.Now().Skills {
			if !k.ModelOnly {
				r.Prompts = append(r.Prompts, skillPrompt(k))
			}
		}
	})
	hooks.AddBeforeGetPrompt(func(ctx context.Context, _ any, r *mcp.GetPromptRequest) {
		set, in := s.Skills.Now(), callFrom(ctx)
		if in.skill = set.Lookup(r.Params.Name); in.skill == nil || in.skill.ModelOnly {
			fact, next := set.Unknown(r.Params.Name)
			if in.skill != nil {
				fact, next = "the skill "+in.skill.Name+" is no prompt (user-invocable: false)", "The model loads it with the tool Skill."
			}
			in.unknown, r.Params.Name = fmt.Errorf("%s. %s", fact, next), ""
			return
		}
		r.Params.Name = promptCarrier
	})
	s.mcp.AddPrompt(mcp.NewPrompt(promptCarrier), s.getPrompt)
	hooks.AddAfterListResources(func(_ context.Context, _ any, _ *mcp.ListResourcesRequest, r *mcp.ListResourcesResult) {
		for _, k := range s.Skills.Now().Skills {
			r.Resources = append(r.Resources, mcp.NewResource(k.URI(), k.Name, mcp.WithResourceDescription(k.Description), mcp.WithMIMEType("text/markdown")))
		}
	})
	s.mcp.AddResourceTemplate(mcp.NewResourceTemplate("skill://{name}/{+path}", "skills", mcp.WithTemplateDescription("Files of skills. SKILL.md has the instructions.")),
		func(ctx context.Context, r mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
			set := s.Skills.Now()
			if err := s.permitted(ctx, set, r.Params.URI); err != nil {
				callFrom(ctx).unknown = err
				return nil, err
			}
			data, mime, err := set.Read(r.Params.URI)
			switch {
			case err != nil:
				callFrom(ctx).unknown = err
				return nil, err
			case utf8.Valid(data):
				return []mcp.ResourceContents{mcp.TextResourceContents{URI: r.Params.URI, MIMEType: mime, Text: string(data)}}, nil
			}
			return []mcp.ResourceContents{mcp.BlobResourceContents{URI: r.Params.URI, MIMEType: mime, Blob: base64.StdEncoding.EncodeToString(data)}}, nil
		})
	s.Skills.OnChange(func(*skills.Set) {
		s.mcp.SendNotificationToAllClients(mcp.MethodNotificationPromptsListChanged, nil)
		s.mcp.SendNotificationToAllClients(mcp.MethodNotificationResourcesListChanged, nil)
	})
}

// permitted has a read of the file of a skill decided as a call of Read: by rules, hooks and
// the user, and written to the audit log.
func (s *Server) permitted(ctx context.Context, set *skills.Set, uri string) error {
	path, err := set.Path(uri)
	if err != nil {
		return err
	}
	args, err := json.Marshal(map[string]string{"file_path": path})
	if err != nil {
		return err
	}
	conv := callFrom(ctx).conv
	if conv == nil {
		return fmt.Errorf("%s cannot be read outside of a session", plain.Quote(uri))
	}
	r := pipeline.Request{Tool: "Read", Arguments: args, Session: conv.session, Log: s.Log.With("session", conv.session.View().ID), Unrun: true}
	ticket, full := conv.lane.Arrive()
	if r.Ticket = ticket; full != nil {
		s.Pipeline.Refused(ctx, r, full)
		return errors.New(r.Tool + tooMany)
	}
	resp, err := s.run(ctx, r)
	if err != nil || !resp.Failed {
		return err
	}
	text := ""
	for _, c := range resp.Content {
		if t, ok := c.(tools.Text); ok {
			text += t.Text
		}
	}
	return errors.New(text)
}

func skillPrompt(k *skills.Skill) mcp.Prompt {
	about := k.Hint
	if about == "" {
		about = "What the skill is to work on"
	}
	return mcp.Prompt{Name: k.Name, Description: plain.Cut(k.Description, 1024), Arguments: []mcp.PromptArgument{{Name: promptArgument, Description: about}}}
}

// getPrompt returns the instructions of a skill as a message of the user.
func (s *Server) getPrompt(ctx context.Context, r mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
	in, project := callFrom(ctx), ""
	if roots := s.Roots.Paths(); len(roots) > 0 {
		project = roots[0]
	}
	text, err := in.skill.Text(r.Params.Arguments[promptArgument], project)
	if err != nil {
		in.unknown = err
		return nil, err
	}
	return mcp.NewGetPromptResult(plain.Cut(in.skill.Description, 1024), []mcp.PromptMessage{mcp.NewPromptMessage(mcp.RoleUser, mcp.NewTextContent(text))}), nil
}

// isSkillMethod reports whether a message is for the extension.
func (s *Server) isSkillMethod(m message) bool {
	return s.Skills != nil && (m.method == methodSkills || m.method == methodSkill || m.method == methodFolder)
}

// skillsResult is the result of a method of the extension.
type skillsResult struct {
	Meta       map[string]any  `json:"_meta,omitempty"`
	ResultType string          `json:"resultType"`
	Skill      *skills.Entry   `json:"skill,omitempty"`
	Skills     []*skills.Entry `json:"skills,omitzero"`
	Resources  []skills.Listed `json:"resources,omitzero"`
	NextCursor string          `json:"nextCursor,omitempty"`
	TTL        int             `json:"ttlMs"`
	CacheScope string          `json:"cacheScope"`
}

// skillAnswer answers a request of the extension. raw is the whole message.
func (s *Server) skillAnswer(m message, raw []byte) []byte {
	var r struct {
		Params struct {
			URI    string `json:"uri"`
			Cursor string `json:"cursor"`
		} `json:"params"`
	}
	fail := func(format string, args ...any) []byte {
		return (&rpcError{mcp.INVALID_PARAMS, fmt.Sprintf(format, args...), m.rawID}).encode()
	}
	if err := json.Unmarshal(raw, &r); err != nil {
		return fail("params: uri and cursor must be strings")
	}
	set, out := s.Skills.Now(), skillsResult{ResultType: "complete", CacheScope: "private"}
	if m.modern() {
		out.Meta = map[string]any{"io.modelcontextprotocol/serverInfo": mcp.Implementation{Name: "mcp-toolset", Version: s.Version, Title: "Toolset"}}
	}
	var err error
	switch m.method {
	case methodSkill:
		k := set.ByURI(r.Params.URI)
		if k == nil {
			return fail("there is no skill %s; skills/list has those that there are", plain.Quote(r.Params.URI))
		}
		if out.Skill, err = k.Entry(); err != nil {
			return fail("the skill %s cannot be served: %v", k.Name, err)
		}
	case methodFolder:
		if out.Resources, err = set.List(r.Params.URI); err != nil {
			return fail("%v", err)
		}
	default:
		out.Skills = []*skills.Entry{}
		from, found := slices.BinarySearchFunc(set.Skills, r.Params.Cursor, func(k *skills.Skill, name string) int { return strings.Compare(k.Name, name) })
		if found {
			from++
		}
		for i, k := range set.Skills[from:] {
			if i == skillsPage {
				out.NextCursor = set.Skills[from+i-1].Name
				break
			}
			if e, err := k.Entry(); err == nil {
				out.Skills = append(out.Skills, e)
			} else if k.Served() {
				s.Log.Debug("a skill is not served", "skill", k.Name, "error", err.Error())
			}
		}
	}
	data, err := json.Marshal(struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Result  skillsResult    `json:"result"`
	}{mcp.JSONRPC_VERSION, m.rawID, out})
	if err != nil {
		return (&rpcError{mcp.INTERNAL_ERROR, "encoding the answer: " + err.Error(), m.rawID}).encode()
	}
	return data
}

// isUnknownMethod reports whether an answer is the library's error for an unknown method.
func isUnknownMethod(answer []byte) bool {
	var e mcp.JSONRPCError
	return json.Unmarshal(answer, &e) == nil && e.Error.Code == mcp.METHOD_NOT_FOUND
}

// statusOf returns the HTTP status of an answer of the extension.
func statusOf(answer []byte) int {
	var e mcp.JSONRPCError
	if json.Unmarshal(answer, &e) == nil && e.Error.Code != 0 {
		return http.StatusBadRequest
	}
	return http.StatusOK
}
