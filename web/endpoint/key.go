package endpoint

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"strings"

	"mcp-toolset/internal/record/state"
	"mcp-toolset/internal/text/plain"
)

// maxKey is the limit of a key, in bytes.
const maxKey = 4096

// Key names the place of a service's key: a variable, or a file.
type Key struct {
	Env    string // name of the variable; "" if there is none
	File   string // absolute path; "" if there is none
	Getenv func(string) string
}

// Place describes the place of the key, safe to show.
func (k Key) Place() string {
	switch {
	case k.File != "":
		return "the file " + plain.Quote(k.File)
	case k.Env != "":
		return "the environment variable " + plain.Quote(k.Env)
	}
	return ""
}

// Read returns the key, or "" if k names no place. Its error does not contain the key.
func (k Key) Read() (string, error) {
	value := ""
	switch {
	case k.File != "":
		var err error
		if value, err = readKey(k.File); err != nil {
			return "", err
		}
	case k.Env != "":
		if value = k.Getenv(k.Env); value == "" {
			return "", fmt.Errorf("%s is not set", k.Place())
		}
	default:
		return "", nil
	}
	value = strings.TrimSpace(value)
	switch {
	case value == "":
		return "", fmt.Errorf("%s is empty", k.Place())
	case strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r > '~' }):
		return "", fmt.Errorf("%s has characters that no key has", k.Place())
	}
	return value, nil
}

// readKey reads a file that only the user may change or read.
func readKey(path string) (string, error) {
	shown := plain.Quote(path)
	info, err := os.Stat(path) // first, because opening a pipe or a device would have effects
	if err != nil {
		var at *fs.PathError
		if errors.As(err, &at) {
			err = at.Err
		}
		return "", fmt.Errorf("the file %s cannot be read: %w", shown, err)
	}
	switch {
	case !info.Mode().IsRegular():
		return "", fmt.Errorf("%s is not a regular file", shown)
	case !state.OwnedByUser(info):
		return "", fmt.Errorf("the file %s belongs to another user", shown)
	case runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0:
		return "", fmt.Errorf("other users can read or write the file %s (mode %04o); run chmod 600 %s", shown, info.Mode().Perm(), shown)
	}
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("the file %s cannot be opened", shown)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxKey+1))
	switch {
	case err != nil:
		return "", fmt.Errorf("the file %s cannot be read", shown)
	case len(data) > maxKey:
		return "", fmt.Errorf("the file %s is larger than %d bytes, which no key is", shown, maxKey)
	}
	return string(data), nil
}
