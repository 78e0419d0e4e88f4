package cli

import (
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
)

// A release build sets these, as in
//
//	-ldflags "-X mcp-toolset/internal/cli.release=1.2.3
//	  -X mcp-toolset/internal/cli.commit=... -X mcp-toolset/internal/cli.date=..."
//
// In a build from a clone the Go toolchain supplies the last two.
var release, commit, date string

// buildInfo identifies a build.
type buildInfo struct {
	Version  string `json:"version"`
	Commit   string `json:"commit,omitempty"`
	Date     string `json:"date,omitempty"`     // of the commit, RFC 3339
	Modified bool   `json:"modified,omitempty"` // whether the source differs from the commit
	Go       string `json:"go"`
	System   string `json:"system"` // as in linux/amd64
}

// about identifies this build.
func about() buildInfo {
	info, _ := debug.ReadBuildInfo()
	return aboutBuild(info, release, commit, date)
}

// aboutBuild identifies a build from the toolchain's record, which may be nil, and the values of a
// release build.
func aboutBuild(info *debug.BuildInfo, release, commit, date string) buildInfo {
	b := buildInfo{Version: "(devel)", Go: runtime.Version(), System: runtime.GOOS + "/" + runtime.GOARCH}
	if info != nil {
		if info.Main.Version != "" {
			b.Version = info.Main.Version
		}
		for _, s := range info.Settings {
			switch s.Key {
			case "vcs.revision":
				b.Commit = s.Value
			case "vcs.time":
				b.Date = s.Value
			case "vcs.modified":
				b.Modified = s.Value == "true"
			}
		}
	}
	for _, set := range []struct {
		to   *string
		from string
	}{{&b.Version, release}, {&b.Commit, commit}, {&b.Date, date}} {
		if set.from != "" {
			*set.to = set.from
		}
	}
	return b
}

// Short returns the version for clients, with the commit and day if they are known.
func (b buildInfo) Short() string {
	var parts []string
	if b.Commit != "" {
		parts = append(parts, b.Commit[:min(12, len(b.Commit))])
	}
	if b.Date != "" {
		day, _, _ := strings.Cut(b.Date, "T")
		parts = append(parts, day)
	}
	if b.Modified {
		parts = append(parts, "modified")
	}
	if len(parts) == 0 {
		return b.Version
	}
	return fmt.Sprintf("%s (%s)", b.Version, strings.Join(parts, ", "))
}

// String returns Short with the system and toolchain.
func (b buildInfo) String() string { return fmt.Sprintf("%s %s %s", b.Short(), b.System, b.Go) }

// version returns the version for clients.
func version() string { return about().Short() }

func versionCommand(host *Host) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Long:  "Prints the version with the commit and day of the source, the system and the Go version, as --version does.",
		Args:  noArgs,
		RunE: func(*cobra.Command, []string) error {
			if !asJSON {
				_, err := fmt.Fprintf(host.Out, "mcp-toolset %s\n", about())
				return err
			}
			enc := json.NewEncoder(host.Out)
			enc.SetIndent("", "  ")
			return enc.Encode(about())
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object, for programs")
	return cmd
}
