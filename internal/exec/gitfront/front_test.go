package gitfront

import "testing"

// TestRefusal checks the errors that a model sees.
func TestRefusal(t *testing.T) {
	for _, tt := range []struct {
		paths  []string
		hidden bool
		want   string
	}{
		{[]string{".npmrc"}, false, "fatal: git merge would change .npmrc, which is protected. Nothing was changed; NEXT\n"},
		{[]string{"1", "2", "3", "4", "5", "6", "7"}, false, "fatal: git merge would change 1, 2, 3, 4, 5 and 2 more, which is protected. Nothing was changed; NEXT\n"},
		{[]string{".env"}, true, "fatal: git merge would write .env, which the user's rules hide from commands. Nothing was changed; name the other files, as in git commit FILES, or ask the user to run it\n"},
	} {
		if got := refusal("merge", tt.paths, tt.hidden, "NEXT"); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}

// TestStubQuotes checks that the script names its folder safely.
func TestStubQuotes(t *testing.T) {
	if got := quote("/a'b"); got != `'/a'\''b'` {
		t.Error(got)
	}
}
