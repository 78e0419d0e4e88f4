package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// credentialName and credentialFolder match names that usually hold credentials, wherever they are.
var credentialName = lazy(`(?i)^(id_(rsa|dsa|ecdsa|ed25519).*|\.env(\..*)?|g?shadow-?|sudoers(\.d)?|\.?htpasswd|authorized_keys|environ|keyrings?|vault.*|` +
	`.*\.(pem|key|p12|pfx|ppk|jks|keystore|keytab|kdbx?|gpg|asc|age|ovpn)|.*(secret|credential|passw|token|private|apikey|api_key|cookies).*)$`)

var credentialFolder = lazy(`^\.?([a-z]*[_-])?(secrets?|credentials?|private|passwords?|keyrings)$`)

// Credential reports whether a path may hold credentials, by its names alone: those of a home folder
// count at any depth, and so does a home folder as a whole. It is for advice, which must not
// open any of them; Home.Secret decides on access.
func Credential(path string) bool {
	path = filepath.ToSlash(filepath.Clean(path))
	home, _ := os.UserHomeDir()
	h := NewHome(home, nil)
	if h.of(path) == path || h.of(path) == "" && h.Below(path) {
		return true
	}
	names := folded(path)
	for i := range names {
		if _, ok := secretNames().covering(names[i:]); ok {
			return true
		}
	}
	return credentialName().MatchString(filepath.Base(path)) || slices.ContainsFunc(names, credentialFolder().MatchString)
}

// advice matches what a fact recommends.
var advice = lazy(`: (name it in the command|ask the user to add it to|it is outside of the folders).*`)

// said words a fact about a path that only the output of the command names: any program can print any
// path, and the kernel need not have refused it. The fact recommends nothing for a credential.
func said(fact, named, real string) string {
	rest, ok := strings.CutPrefix(fact, named)
	if !ok {
		return fact
	}
	if Credential(named) || Credential(real) {
		rest = advice().ReplaceAllString(rest, ": it may hold credentials, so work without it")
	}
	return "the output names " + named + ", which" + strings.TrimPrefix(rest, ":")
}
