//go:build !race && (linux || darwin)

package process

// supervisorEnv is a supervisor's environment: empty, so that nothing in the
// server's changes what it does.
var supervisorEnv = []string{}
