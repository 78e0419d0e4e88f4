//go:build !race

package process

// HelperEnv is the environment of a process that runs this program as a helper. It is empty, so
// that no variable of the server changes its behaviour.
var HelperEnv = []string{}
