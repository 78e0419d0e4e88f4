//go:build race

package document

// raceDetector says that a process needs several times the memory and time
// that its limits are made for.
const raceDetector = true

// extraEnv saves the second that the detector waits at each exit.
var extraEnv = []string{"GORACE=atexit_sleep_ms=0"}
