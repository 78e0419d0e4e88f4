package process

import "errors"

// ErrNetworkGone is the error of a Network whose spawner has ended or was replaced.
// The caller makes another Network.
var ErrNetworkGone = errors.New("the network of the session is gone")
