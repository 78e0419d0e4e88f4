package document

import (
	"context"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/tetratelabs/wazero"

	"mcp-toolset/internal/testscale"
)

// loopForever is (module (func (export "f") (loop br 0))).
var loopForever = []byte{
	0, 'a', 's', 'm', 1, 0, 0, 0,
	1, 4, 1, 0x60, 0, 0,
	3, 2, 1, 0,
	7, 5, 1, 1, 'f', 0, 0,
	10, 9, 1, 7, 0, 3, 0x40, 0x0c, 0, 0x0b, 0x0b,
}

func init() {
	// Compiled code cannot be interrupted, and a garbage collection that waits for it
	// stops everything else: no timer of the process fires.
	badKinds["stuck"] = func(in *os.File, _ request) (any, error) {
		ctx := context.Background()
		m, err := wazero.NewRuntime(ctx).Instantiate(ctx, loopForever)
		if err != nil {
			return nil, err
		}
		go func() {
			time.Sleep(100 * time.Millisecond) // until the loop runs; otherwise the test shows nothing
			_, _ = in.WriteAt([]byte(running), 0)
			runtime.GC()
		}()
		_, err = m.ExportedFunction("f").Call(ctx)
		return nil, err
	}
}

// The server ends a process that cannot end itself.
func TestStuck(t *testing.T) {
	testscale.NeedFull(t)
	r, log := testReader(t, maxMemory, 500*time.Millisecond)
	_, err := read[string](t.Context(), r, tempFile(t, nil), request{Kind: "stuck", Memory: baseMemory})
	if err == nil || err.Error() != "took longer than 0.5 s to read" {
		t.Errorf("got %v\n%s", err, log())
	}
}

// Without a server, the kernel ends it.
func TestStuckOrphan(t *testing.T) {
	testscale.NeedFull(t)
	testOrphan(t, "stuck", time.Second)
}
