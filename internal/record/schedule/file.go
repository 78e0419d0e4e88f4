package schedule

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"mcp-toolset/internal/file/filelock"
	"mcp-toolset/internal/record/durable"
	"mcp-toolset/internal/text/plain"
)

// maxFile is the limit of the file, in bytes. It is more than maxDurable schedules have.
const maxFile = 4 << 20

// content is the content of the file with the durable schedules.
type content struct {
	Version   int        `json:"version"`
	Last      int        `json:"last"` // number of the last id; none is given again
	Schedules []Schedule `json:"schedules"`
}

func newFile(stateDir string, locks *filelock.Locks) durable.File[content] {
	return durable.File[content]{
		Path: filepath.Join(stateDir, "schedules.json"), Locks: locks, Name: "schedules", See: "CronList",
		Max: maxFile, Empty: content{Version: durable.Version}, Check: check,
	}
}

func check(c content) error {
	seen := map[string]bool{}
	for _, s := range c.Schedules {
		digits, durable := strings.CutPrefix(s.ID, "d")
		n, err := strconv.Atoi(digits)
		if !durable || err != nil || n < 1 || n > c.Last || seen[s.ID] {
			return fmt.Errorf("the id %s is repeated or out of range", plain.Key(s.ID))
		}
		if s.Next.IsZero() || s.Created.IsZero() || s.Prompt == "" {
			return fmt.Errorf("the schedule %s is not complete", s.ID)
		}
		seen[s.ID] = true
	}
	return nil
}
