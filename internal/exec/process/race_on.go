//go:build race && (linux || darwin)

package process

// supervisorEnv is the environment of a supervisor. It turns off the second that
// the race detector waits at each exit.
var supervisorEnv = []string{"GORACE=atexit_sleep_ms=0"}
