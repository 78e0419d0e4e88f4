// Package engine reaches language models: by the Messages API of Anthropic, by an API compatible
// with OpenAI's Chat Completions, or by a command.
//
// Nothing is taken from the environment of the server that the settings do not name: the libraries
// of the providers get all options from here, and client.go decides which headers are sent. Only
// client.go has the key. No error has a text of the provider, which may repeat the key.
package engine

import (
	"fmt"

	"mcp-toolset/internal/text/plain"
	"mcp-toolset/models"
	"mcp-toolset/web/endpoint"
)

const (
	// maxBody is the limit of the answer to a request, in bytes of the stream. An answer of 64,000
	// tokens has up to 20 MB, since each token is an event of some 300 bytes.
	maxBody = 32 << 20
	// maxAnswer is the limit of the content of an answer, in bytes.
	maxAnswer = 4 << 20
	// maxUses is the limit of the tool uses of an answer.
	maxUses = 64
)

// Options holds what engines get from the server.
type Options struct {
	Getenv  func(string) string // for keys that the settings name, and for proxies
	Environ []string            // environment of commands, as NAME=value
}

// New returns the engine of an endpoint, which must be valid. It reaches nothing yet.
func New(e models.Endpoint, o Options) models.Engine {
	if e.Provider == "command" {
		return &command{e, o}
	}
	c := newClient(e, Key(e, o.Getenv), o.Getenv)
	if e.Provider == "openai" {
		return newOpenAI(e, c)
	}
	return newAnthropic(e, c)
}

// Key returns the place of the key of an endpoint.
func Key(e models.Endpoint, getenv func(string) string) endpoint.Key {
	return endpoint.Key{Env: e.KeyEnv, File: e.KeyFile, Getenv: getenv}
}

// subject names a model in errors.
func subject(e models.Endpoint) string { return "the model " + plain.Line(e.Name) }

// Next steps of errors.
const (
	checkSettings = "Ask the user to check models in the settings."
	goOn          = "Try again later, or go on without the model."
)

// failure returns an error about a model.
func failure(e models.Endpoint, k models.Kind, fact, next string) *models.Error {
	return models.NewError(k, subject(e)+" "+fact, next)
}

// dropped returns the error for an answer that ends too early.
func dropped(e models.Endpoint) error {
	return failure(e, models.Failed, "gave an answer that ends too early", goOn)
}

// malformed returns the error for an answer that is not of the API.
func malformed(e models.Endpoint) error {
	api := map[string]string{"anthropic": "the Messages API", "openai": "Chat Completions", "command": "the Messages API"}[e.Provider]
	return failure(e, models.Failed, "gave an answer that is not one of "+api, checkSettings)
}

// tooLarge returns the error for an answer over a limit.
func tooLarge(e models.Endpoint, limit string) error {
	return failure(e, models.Failed, fmt.Sprintf("gave an answer of more than %s", limit), "Ask for less at once.")
}
