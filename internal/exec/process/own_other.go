//go:build !linux

package process

import (
	"os"
	"strconv"
)

// Own reports whether number is the id of this process.
func Own(number string) bool {
	pid, err := strconv.Atoi(number)
	return err == nil && pid == os.Getpid()
}
