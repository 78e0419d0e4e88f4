package classifier

import "time"

// Stage describes one stage of the classifier: a command, a URL or a model.
type Stage struct {
	// Command holds a program and its arguments. It is empty if URL or Model is set. A program name
	// without a separator is searched for in PATH; any other is an absolute path.
	Command []string
	// Dir is the folder the command runs in: the root of the settings, which may be "". The
	// session's folder is not used, because a model could have put a program of the same name
	// there.
	Dir string
	// URL has the scheme http or https. Its host is localhost or a loopback address.
	URL string
	// Model is the name of a model of the settings: "default" or "small".
	Model string
	// Timeout is positive.
	Timeout time.Duration
}
