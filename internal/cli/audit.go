package cli

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"mcp-toolset/internal/assembly"
	"mcp-toolset/internal/audit"
	"mcp-toolset/internal/workspace"
)

// auditFlags say where and how calls are written down.
type auditFlags struct {
	file, sync string
	size       int // MiB
	keep       int
	required   bool
}

var auditSyncs = []string{string(audit.Always), string(audit.Interval), string(audit.Never)}

func (f *auditFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.file, "audit", "", "write a line of JSON for each call to `FILE`, before it is answered")
	flags.BoolVar(&f.required, "audit-required", false, "do no call that cannot be written to the audit log")
	flags.StringVar(&f.sync, "audit-sync", string(audit.Interval), "when lines are made safe against a crash of the machine: always, interval (each second) or never")
	flags.IntVar(&f.size, "audit-max-size", audit.DefaultMaxSize>>20, "begin a new audit file at this size in `MiB`")
	flags.IntVar(&f.keep, "audit-keep", audit.DefaultKeep, "how many older audit files are kept")
	complete(cmd, "audit-sync", auditSyncs, cobra.ShellCompDirectiveNoFileComp)
}

// open opens the audit log, and closes it to tools.
func (f *auditFlags) open(host *Host, config *assembly.Config) error {
	switch {
	case f.file == "" && f.required:
		return usagef("--audit-required needs --audit FILE")
	case f.file == "":
		return nil
	case !slices.Contains(auditSyncs, f.sync):
		return usagef("--audit-sync is %q; use %s", f.sync, strings.Join(auditSyncs, ", "))
	case f.size < 1 || f.keep < 1:
		return usagef("--audit-max-size is %d and --audit-keep %d; the least is 1", f.size, f.keep)
	}
	path := workspace.Expand(f.file, host.Dir, host.Home)
	log, err := audit.Open(audit.Config{
		Path: path, MaxSize: int64(f.size) << 20, Keep: f.keep, Sync: audit.Sync(f.sync), Required: f.required, Log: config.Log, Now: time.Now,
	})
	if err != nil {
		return err
	}
	config.Audit = log
	config.Closed = append(config.Closed, path, path+".lock")
	for i := range f.keep {
		config.Closed = append(config.Closed, fmt.Sprintf("%s.%d", path, i+1))
	}
	return nil
}
