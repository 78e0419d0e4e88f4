package pipeline

import "testing"

// TestWindowsExpand checks the folder that a pattern is judged by.
func TestWindowsExpand(t *testing.T) {
	for pattern, want := range map[string]string{
		`C:\none\*.txt`: `C:\none`, `C:\none/sub/a?`: `C:\none\sub`, `C:\[x]y*`: `C:\`, `C:\none\a`: `C:\none\a`,
	} {
		if got := expand(pattern); len(got) != 1 || got[0] != want {
			t.Errorf("%s: %q, want %s", pattern, got, want)
		}
	}
}
