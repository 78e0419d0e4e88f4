//go:build race

package document

// raceDetector reports whether the race detector is on. A process then needs several
// times the memory and time of its limits.
const raceDetector = true

// extraEnv avoids the second that the detector waits at each exit.
var extraEnv = []string{"GORACE=atexit_sleep_ms=0"}
