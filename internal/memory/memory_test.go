package memory

import (
	"io/fs"
	"math"
	"testing"
)

// TestGroupLimit checks the limits of control groups of both versions: of the
// group itself, of its ancestors, and within a container.
func TestGroupLimit(t *testing.T) {
	for name, tc := range map[string]struct {
		files map[string]string
		want  int64
	}{
		"none":        {nil, math.MaxInt64},
		"no limit":    {map[string]string{"/proc/self/cgroup": "0::/a\n", "/sys/fs/cgroup/a/memory.max": "max\n"}, math.MaxInt64},
		"version 2":   {map[string]string{"/proc/self/cgroup": "0::/a/b\n", "/sys/fs/cgroup/a/b/memory.max": "max\n", "/sys/fs/cgroup/a/memory.max": "268435456\n"}, 256 << 20},
		"a container": {map[string]string{"/proc/self/cgroup": "0::/../x\n", "/sys/fs/cgroup/memory.max": "1000000\n"}, 1_000_000},
		"version 1": {map[string]string{"/proc/self/cgroup": "5:cpu:/c\n4:memory:/a\n0::/\n", "/sys/fs/cgroup/memory/a/memory.limit_in_bytes": "2000000\n",
			"/sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n"}, 2_000_000},
	} {
		got := groupLimit(func(path string) ([]byte, error) {
			if text, ok := tc.files[path]; ok {
				return []byte(text), nil
			}
			return nil, fs.ErrNotExist
		})
		if got != tc.want {
			t.Errorf("%s: %d, want %d", name, got, tc.want)
		}
	}
}
