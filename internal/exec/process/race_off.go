//go:build !race && (linux || darwin)

package process

// supervisorEnv is the environment of a supervisor. It is empty, so that no
// variable of the server changes its behaviour.
var supervisorEnv = []string{}
