package cli

import (
	"runtime/debug"
	"strings"
	"testing"
)

// The version has the commit and day, from the toolchain or the release build.
func TestAboutBuild(t *testing.T) {
	vcs := &debug.BuildInfo{Main: debug.Module{Version: "v1.2.3"}, Settings: []debug.BuildSetting{
		{Key: "vcs.revision", Value: "0123456789abcdef"}, {Key: "vcs.time", Value: "2026-11-24T10:00:00Z"}, {Key: "vcs.modified", Value: "true"},
	}}
	for _, tc := range []struct {
		info                  *debug.BuildInfo
		release, commit, date string
		want                  string
	}{
		{nil, "", "", "", "(devel)"},
		{&debug.BuildInfo{}, "", "", "", "(devel)"},
		{vcs, "", "", "", "v1.2.3 (0123456789ab, 2026-11-24, modified)"},
		{nil, "1.2.3", "abc", "2026-11-20", "1.2.3 (abc, 2026-11-20)"},
		{&debug.BuildInfo{Main: debug.Module{Version: "(devel)"}}, "1.2.3", "", "", "1.2.3"},
	} {
		b := aboutBuild(tc.info, tc.release, tc.commit, tc.date)
		if b.Short() != tc.want {
			t.Errorf("%q, want %q", b.Short(), tc.want)
		}
		if !strings.HasPrefix(b.String(), tc.want+" "+b.System+" go1.") {
			t.Errorf("%q", b.String())
		}
	}
}

// The flag, the command and the version for clients agree.
func TestVersions(t *testing.T) {
	_, flag, _ := runMain(t, "--version")
	_, command, _ := runMain(t, "version")
	if flag != command || !strings.HasPrefix(flag, "mcp-toolset "+version()+" ") {
		t.Errorf("%q, %q, %q", flag, command, version())
	}
	if _, out, _ := runMain(t, "version", "--json"); !strings.Contains(out, `"version": "`) || !strings.Contains(out, `"go": "go`) {
		t.Error(out)
	}
}
