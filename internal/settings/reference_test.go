package settings

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestKeys checks that Keys describes the keys that the parser knows.
func TestKeys(t *testing.T) {
	var want []string
	for _, object := range []struct {
		above string
		keys  []string
	}{
		{"", topKeys},
		{"classifier.", classifierKeys},
		{"env.", envKeys},
		{"hooks.<event>[].", groupKeys},
		{"hooks.<event>[].hooks[].", hookKeys},
		{"mcpServers.<name>.", serverKeys},
		{"lspServers.<name>.", languageServerKeys},
		{"permissions.", permissionKeys},
		{"profiles.<name>.", profileKeys},
		{"reminder.", reminderKeys},
		{"sandbox.", sandboxKeys},
		{"undo.", undoKeys},
		{"upstream.", upstreamKeys},
		{"webSearch.", webSearchKeys},
		{"models.", modelsKeys},
		{"models.default.", modelKeys},
		{"models.default.price.", priceKeys},
		{"summarize.", summarizeKeys},
		{"agents.<name>.", agentKeys},
	} {
		for _, key := range object.keys {
			want = append(want, object.above+key)
		}
	}
	var got []string
	for _, key := range Keys() {
		if key.Value == "" || key.Meaning == "" {
			t.Errorf("%s has no value or no meaning", key.Name)
		}
		got = append(got, key.Name)
	}
	// Keys leaves out objects whose keys say everything.
	want = slices.DeleteFunc(want, func(name string) bool {
		described := func(k string) bool { return strings.HasPrefix(k, name+".") || strings.HasPrefix(k, name+"[]") }
		return !slices.Contains(got, name) && slices.ContainsFunc(got, described) || name == "hooks.<event>[].hooks"
	})
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Keys describes other keys than the parser knows (-parser +Keys):\n%s", diff)
	}
}
