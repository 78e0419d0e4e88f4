//go:build race

package process

// HelperEnv is the environment of a process that runs this program as a helper. It turns off the
// second that the race detector waits at each exit.
var HelperEnv = []string{"GORACE=atexit_sleep_ms=0"}
