package command

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// These tests run on Windows and under Wine, which has neither shell: the test binary,
// under the name of a shell, acts as it. They do not test how bash and PowerShell run a
// command.
//	GOOS=windows go test -c -o /tmp/command.exe ./internal/exec/command && wine /tmp/command.exe

func TestMain(m *testing.M) {
	if languageOf(os.Args[0]) != Posix {
		os.Exit(beShell())
	}
	goleak.VerifyTestMain(m)
}

// beShell runs a script line by line, as bash or PowerShell would.
func beShell() int {
	file := os.Getenv(scriptVariable)
	data, err := os.ReadFile(file)
	if err != nil {
		fmt.Println(err)
		return 99
	}
	script := string(data)
	if languageOf(os.Args[0]) == Bash {
		script = strings.TrimSuffix(script[strings.Index(script, "__='")+len("__='"):], "'; eval \"$__\"\n")
	}
	code := 0
	for _, line := range strings.Split(script, "\n") {
		word, rest, _ := strings.Cut(line, " ")
		switch word {
		case "cd":
			_ = os.Chdir(rest)
		case "echo":
			fmt.Println(rest)
		case "args":
			fmt.Printf("%q\n", os.Args[1:])
		case "env":
			fmt.Println(os.Getenv(rest))
		case "exit":
			code, _ = strconv.Atoi(rest)
		case "sleep":
			time.Sleep(time.Hour)
		case "spawn": // a copy that holds the output open
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), scriptVariable+"="+file+".child")
			_ = os.WriteFile(file+".child", []byte("__='sleep'; eval \"$__\"\n"), 0o600)
			cmd.Stdout = os.Stdout
			fmt.Println(cmd.Start())
		}
	}
	dir, _ := os.Getwd()
	marker, err := os.OpenFile(strings.TrimSuffix(file, scriptExt), os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		fmt.Println(err)
		return 98
	}
	_, _ = io.WriteString(marker, filepath.ToSlash(dir)+"\r\n")
	_ = marker.Close()
	return code
}

// shellNamed returns the test binary under the name of a shell.
func shellNamed(t *testing.T, folder, name string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(folder, name)
	if err := os.WriteFile(path, data, 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}
