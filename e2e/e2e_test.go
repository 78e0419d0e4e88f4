// Package e2e tests the built binary: user stories as scripts, wire transcripts over both
// transports, and behaviour that only a whole process shows.
package e2e

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"mcp-toolset/internal/exec/mounttest"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// built is the path of the product, which is built once for all tests of the package.
var built string

// rareGC makes the garbage collection of a server rare, since most servers end before there is
// garbage. Servers whose memory is measured do not have it.
const rareGC = "GOGC=400"

// binary returns the path of the product. Tests must use it: see touchSources.
func binary(t *testing.T) string {
	t.Helper()
	if err := touched(); err != nil {
		t.Fatal(err)
	}
	return built
}

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	if len(os.Args) == 2 && os.Args[1] == acpArg {
		return acpAgent()
	}
	dir, err := os.MkdirTemp("", "mcp-toolset-e2e")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	const builtKey = "E2E_BINARY"
	if built = os.Getenv(builtKey); built == "" || !mounttest.Inside() { // a test may start this process again
		built = filepath.Join(dir, "mcp-toolset")
		build := exec.Command("go", "build", "-ldflags=-s -w", "-o", built, "mcp-toolset") // as it is released
		build.Stderr = os.Stderr
		if err := build.Run(); err != nil {
			fmt.Fprintln(os.Stderr, "building the binary:", err)
			return 1
		}
		if err := os.Setenv(builtKey, built); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	for name, value := range map[string]string{
		"XDG_CONFIG_HOME": "/nowhere/config", // the user who runs the tests may have settings
		"MCP_TIMEOUT":     "600000",          // a test may hold up a server, and so may a slow machine
	} {
		if err := os.Setenv(name, value); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	// Most parallel tests wait for a server, so more of them run at once than there are cores.
	flag.Parse()
	if f := flag.Lookup("test.parallel"); f.Value.String() == f.DefValue {
		if err := f.Value.Set("8"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	return m.Run()
}

var touched = sync.OnceValue(touchSources)

// touchSources opens every source of the binary. The go command records the files of the
// module that a test (not TestMain) opens, and so does not use a cached result for a
// binary whose sources have changed.
func touchSources() error {
	return filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			if err == nil && path != ".." && strings.HasPrefix(d.Name(), ".") {
				return filepath.SkipDir
			}
			return err
		}
		switch filepath.Ext(path) {
		case ".go", ".mod", ".sum", ".md":
			f, err := os.Open(path)
			if err != nil {
				return err
			}
			return f.Close()
		}
		return nil
	})
}

// TestScripts runs the user stories in testdata/script.
func TestScripts(t *testing.T) {
	bin := filepath.Dir(binary(t))
	commands := talkCommands()
	commands["exitcode"], commands["website"] = exitCode, website
	testscript.Run(t, testscript.Params{
		Dir:           "testdata/script",
		UpdateScripts: *update,
		Setup: func(env *testscript.Env) error {
			env.Setenv("PATH", bin+string(os.PathListSeparator)+env.Getenv("PATH"))
			env.Setenv("HOME", filepath.Join(env.WorkDir, "home"))
			env.Vars = append(env.Vars, rareGC, fmt.Sprintf("PORT=%d", quietPort()))
			server := &talk{}
			env.Values[talkKey{}] = server
			env.Defer(func() { _ = server.stop() })
			return os.MkdirAll(filepath.Join(env.WorkDir, "home"), 0o755) // a script may have files there
		},
		Cmds:      commands,
		Condition: func(name string) (bool, error) { return condition(bin, name) },
	})
}

// quietPort returns a port of this machine that nothing uses, below those that the kernel chooses.
func quietPort() int {
	for {
		port := 20000 + rand.IntN(10000)
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err == nil {
			_ = l.Close()
			return port
		}
	}
}

// condition returns the value of a condition of the scripts. [network] holds where commands
// have a network of their own.
func condition(bin, name string) (bool, error) {
	if name != "network" {
		return false, fmt.Errorf("there is no condition %q", name)
	}
	cmd := exec.Command(filepath.Join(bin, "mcp-toolset"), "doctor", "--verbose")
	cmd.Dir = os.TempDir()
	out, _ := cmd.Output()
	return strings.Contains(string(out), "\n  pass  network "), nil
}

// exitCode is the script command `exitcode N PROGRAM ARG...`.
func exitCode(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exitcode N PROGRAM ARG...")
	}
	err := ts.Exec(args[1], args[2:]...)
	var exit *exec.ExitError
	if !errors.As(err, &exit) || strconv.Itoa(exit.ExitCode()) != args[0] {
		ts.Fatalf("%v, want exit code %s", err, args[0])
	}
}
