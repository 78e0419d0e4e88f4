//go:build !race

package document

const raceDetector = false

var extraEnv = []string{}
