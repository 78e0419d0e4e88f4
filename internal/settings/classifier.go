package settings

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"mcp-toolset/internal/consent/classifier"
	"mcp-toolset/internal/text/plain"
)

// Settings of the classifier: a program, or a server on this machine, that judges
// calls.

const (
	// classifierTime is the default timeout of a stage. It is short because a user waits for
	// the call.
	classifierTime = 5 * time.Second
	// maxClassifierTime is the largest timeout that the settings may set.
	maxClassifierTime = time.Minute
)

// Known keys below classifier and below classifier.second.
var (
	classifierKeys = []string{"command", "model", "second", "timeout", "url"}
	stageKeys      = []string{"command", "model", "timeout", "url"}
)

// Classifier returns the stages of the classifier in order. The second is asked only
// if the first does not allow the call. Classifier returns nil if s is nil or names no
// classifier.
func (s *Settings) Classifier() []classifier.Stage {
	if s == nil {
		return nil
	}
	stages := slices.Clone(s.classifier)
	for i := range stages {
		stages[i].Command = slices.Clone(stages[i].Command)
	}
	return stages
}

// readClassifier reads a stage. If first is true, it also reads the second stage below
// it.
func (s *Settings) readClassifier(path string, n *node, first bool) ([]classifier.Stage, error) {
	if n.kind != isObject {
		return nil, n.typeError(path, "an object")
	}
	known := stageKeys
	if first {
		known = classifierKeys
	}
	stage, second := classifier.Stage{Dir: s.root, Timeout: classifierTime}, []classifier.Stage(nil)
	for _, f := range n.fields {
		at := joinKey(path, f.key)
		var err error
		switch {
		case f.key == "command":
			stage.Command, err = s.readCommand(at, f.value)
		case f.key == "url":
			stage.URL, err = readLoopback(at, f.value)
		case f.key == "model":
			if stage.Model = f.value.text; f.value.kind != isString || !slices.Contains([]string{"default", "small"}, stage.Model) {
				err = f.value.typeError(at, `"default" or "small"`)
			}
		case f.key == "timeout":
			stage.Timeout, err = readSeconds(at, f.value)
		case f.key == "second" && first:
			second, err = s.readClassifier(at, f.value, false)
		default:
			s.unknown(path, f, known)
		}
		if err != nil {
			return nil, err
		}
	}
	var given []string
	for key, ok := range map[string]bool{"command": stage.Command != nil, "model": stage.Model != "", "url": stage.URL != ""} {
		if ok {
			given = append(given, key)
		}
	}
	slices.Sort(given)
	switch {
	case len(given) == 0:
		return nil, fmt.Errorf("line %d: %s: it has none of command, model and url; add one of them", n.line, path)
	case len(given) > 1:
		return nil, fmt.Errorf("line %d: %s: it has both %s; take one out", n.line, path, strings.Join(given[:2], " and "))
	}
	return append([]classifier.Stage{stage}, second...), nil
}

// readCommand reads a program with its arguments, or a text for the shell.
func (s *Settings) readCommand(path string, n *node) ([]string, error) {
	const want = "a program and its arguments, or a text for sh"
	if n.kind != isString && n.kind != isArray {
		return nil, n.typeError(path, want)
	}
	if n.kind == isString {
		if strings.TrimSpace(n.text) == "" || strings.ContainsRune(n.text, 0) {
			return nil, n.typeError(path, want)
		}
		return []string{"sh", "-c", n.text}, nil
	}
	words, err := n.strings(path)
	if err != nil {
		return nil, err
	}
	if len(words) == 0 || words[0] == "" || slices.ContainsFunc(words, func(w string) bool { return strings.ContainsRune(w, 0) }) {
		return nil, fmt.Errorf("line %d: %s: want %s, have an array without a program", n.line, path, want)
	}
	if _, home := homeRelative(words[0]); home || strings.ContainsRune(filepath.ToSlash(words[0]), '/') {
		if !home && !filepath.IsAbs(words[0]) {
			words[0] = filepath.Join(s.root, words[0])
		}
		expanded := expand(words[:1])
		if len(expanded) == 0 {
			return nil, fmt.Errorf("line %d: %s: %s begins at a folder that is not known; write an absolute path", n.line, path, plain.Quote(words[0]))
		}
		words[0] = expanded[0]
	}
	return words, nil
}

// readLoopback reads a URL whose host is this machine. A host name may still resolve
// to another address, so the code that connects must check again.
func readLoopback(path string, n *node) (string, error) {
	if n.kind != isString {
		return "", n.typeError(path, "a string")
	}
	err := loopback(n.text)
	if err != nil {
		return "", fmt.Errorf("line %d: %s: %w", n.line, path, err)
	}
	return n.text, nil
}

func loopback(text string) error {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Opaque != "" || u.Host == "" {
		return fmt.Errorf("want a URL such as http://127.0.0.1:8000/judge, have %s", plain.Quote(text))
	}
	if port, err := strconv.ParseUint(u.Port(), 10, 16); u.Port() != "" && (err != nil || port == 0) {
		return fmt.Errorf("%s has a port that does not exist", plain.Quote(text))
	}
	if strings.EqualFold(u.Hostname(), "localhost") {
		return nil
	}
	if ip, err := netip.ParseAddr(u.Hostname()); err == nil && ip.Unmap().IsLoopback() {
		return nil
	}
	return errors.New(plain.Quote(u.Hostname()) + " is not this machine; use 127.0.0.1, [::1] or localhost, since what is asked holds what calls do")
}

// readSeconds reads a timeout in seconds.
func readSeconds(path string, n *node) (time.Duration, error) {
	seconds, err := strconv.ParseFloat(n.text, 64)
	limit := time.Duration(seconds * float64(time.Second))
	if n.kind != isNumber || err != nil || seconds > maxClassifierTime.Seconds() || limit <= 0 {
		have := n.typeError(path, "a number of seconds, more than 0 and at most 60")
		if n.kind == isNumber {
			have = fmt.Errorf("%w %s", have, plain.Quote(n.text))
		}
		return 0, have
	}
	return limit, nil
}
