package cli

import (
	"github.com/spf13/cobra"

	"mcp-toolset/internal/file/workspace"
	"mcp-toolset/internal/record/audit"
)

// auditFlags holds the flags of the audit log.
type auditFlags struct {
	file, sync string
	size       int // MiB
	keep       int
	required   bool
}

var auditSyncs = []string{string(audit.Always), string(audit.Interval), string(audit.Never)}

func (f *auditFlags) add(cmd *cobra.Command) {
	in := flagSection{cmd, inAudit}
	in.text(&f.file, "audit", "", "write a line of JSON for each call to `FILE`, before the call is answered")
	in.on(&f.required, "audit-required", "refuse calls that cannot be written to the audit log")
	in.choice(&f.sync, "audit-sync", string(audit.Interval), auditSyncs, "when to flush lines to disk: `WHEN` is always, interval (each second) or never")
	in.number(&f.size, "audit-max-size", audit.DefaultMaxSize>>20, 1, "begin a new audit file at this size in `MIB`")
	in.number(&f.keep, "audit-keep", audit.DefaultMaxFiles, 1, "keep `N` older audit files")
}

// config returns the configuration of the audit log, without a path if there is none.
func (f *auditFlags) config(host *Host) (audit.Config, error) {
	switch {
	case f.file == "" && f.required:
		return audit.Config{}, usagef("--audit-required needs --audit FILE")
	case f.file == "":
		return audit.Config{}, nil
	}
	return audit.Config{
		Path: workspace.Expand(f.file, host.Dir, host.Home), MaxSize: int64(f.size) << 20, MaxFiles: f.keep, Sync: audit.Sync(f.sync), Required: f.required,
	}, nil
}
