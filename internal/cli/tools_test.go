package cli

import (
	"context"
	"log/slog"
	"path/filepath"
	"testing"

	"mcp-toolset/internal/assembly"
	"mcp-toolset/internal/settings"
	"mcp-toolset/tools"
)

type word struct {
	Word string `json:"word" jsonschema:"A word"`
}

func toolLoaded(name string, l tools.Loading) *tools.Tool {
	return tools.MustBuild(tools.Def[word, word, word]{Name: name, Prompt: "Says a word.", Loading: l,
		Call: func(context.Context, *tools.Env, word) (tools.Result[word], error) { return tools.Result[word]{}, nil }})
}

// TestAnthropicTools checks that the cached prefix ends at the last tool loaded from the start, and
// that deferred tools are marked.
func TestAnthropicTools(t *testing.T) {
	list := []*tools.Tool{
		toolLoaded("A", tools.LoadAlways), toolLoaded("B", tools.LoadAuto), toolLoaded("C", tools.LoadDeferred),
	}
	got, err := anthropicTools(list, list[:2])
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []struct{ deferred, cached bool }{{false, false}, {false, true}, {true, false}} {
		if got[i].DeferLoading != want.deferred || (got[i].CacheControl["type"] == "ephemeral") != want.cached {
			t.Errorf("tool %s: %+v", got[i].Name, got[i])
		}
	}
}

func TestOpenAITools(t *testing.T) {
	got, err := openAITools([]*tools.Tool{toolLoaded("A", tools.LoadAlways)})
	if err != nil || len(got) != 1 || got[0].Type != "function" || got[0].Function.Name != "A" || len(got[0].Function.Parameters) == 0 {
		t.Errorf("%+v, %v", got, err)
	}
}

func gated(name, feature string) *tools.Tool {
	return tools.MustBuild(tools.Def[word, word, word]{Name: name, Prompt: "Says a word.", Feature: feature,
		Call: func(context.Context, *tools.Env, word) (tools.Result[word], error) { return tools.Result[word]{}, nil }})
}

func parseSettings(t *testing.T, text string) *settings.Settings {
	t.Helper()
	s, err := settings.Parse([]byte(text), "/etc/test.json", "/etc")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func newAssembly(t *testing.T) *assembly.Assembly {
	t.Helper()
	a, err := assembly.New(assembly.Config{
		Tools: []*tools.Tool{gated("A", "")}, Roots: []string{t.TempDir()}, State: filepath.Join(t.TempDir(), "state"),
		Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Close() })
	return a
}
