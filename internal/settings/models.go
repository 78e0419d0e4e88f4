package settings

import (
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"mcp-toolset/internal/text/plain"
	"mcp-toolset/models"
	"mcp-toolset/web/endpoint"
)

// Keys of the settings about models.
const (
	modelsKey    = "models"
	summarizeKey = "summarize"
)

var (
	modelsKeys    = []string{"default", "maxCost", "maxCostPerDay", "maxTokensPerSession", "small"}
	modelKeys     = []string{"command", "keyEnv", "keyFile", "maxTokens", "model", "price", "provider", "timeout", "url"}
	priceKeys     = []string{"cacheRead", "cacheWrite", "input", "output"}
	summarizeKeys = []string{"over", "tools"}
)

// Limits of values.
const (
	maxModelName = 200     // characters
	maxTokens    = 1 << 40 // of a budget
	maxPrice     = 1e6     // of a million tokens
	minOver      = 2000    // characters of a result that is summarized
	maxOver      = 10_000_000
)

// Models returns the setting models, or nil if s is nil or has none. The caller must not modify it.
func (s *Settings) Models() *models.Config {
	if s == nil {
		return nil
	}
	return s.models
}

// Summarize is the setting summarize: which results get a summary.
type Summarize struct {
	Over  int // characters
	Tools []string
}

// Summarize returns the setting summarize, or nil if s is nil or has none.
func (s *Settings) Summarize() *Summarize {
	if s == nil {
		return nil
	}
	return s.summarize
}

func (s *Settings) readModels(f field) error {
	if f.value.kind != isObject {
		return f.value.typeError(f.key, "an object")
	}
	c := &models.Config{}
	for _, g := range f.value.fields {
		path := joinKey(f.key, g.key)
		var err error
		switch g.key {
		case "default":
			c.Default, err = s.readModel(path, g)
		case "small":
			c.Small, err = s.readModel(path, g)
		case "maxTokensPerSession":
			var n float64
			n, err = g.value.number(path, 1, maxTokens, true)
			c.Budget.TokensPerSession = int(n)
		case "maxCost":
			c.Budget.Cost, err = g.value.number(path, 0, 1e9, false)
		case "maxCostPerDay":
			c.Budget.CostPerDay, err = g.value.number(path, 0, 1e9, false)
		default:
			s.unknown(f.key, g, modelsKeys)
		}
		if err != nil {
			return err
		}
	}
	if c.Default == nil {
		return fmt.Errorf("line %d: %s: it has no default; add the model that is used", f.line, f.key)
	}
	for key, e := range map[string]*models.Endpoint{"default": c.Default, "small": c.Small} {
		for name, limit := range map[string]float64{"maxCost": c.Budget.Cost, "maxCostPerDay": c.Budget.CostPerDay} {
			if e != nil && e.Price == nil && limit > 0 {
				return fmt.Errorf("line %d: %s: %s needs the price of %s; add price with input and output to it", f.line, f.key, name, key)
			}
		}
	}
	s.models = c
	return nil
}

// readModel reads an endpoint.
func (s *Settings) readModel(path string, f field) (*models.Endpoint, error) {
	if f.value.kind != isObject {
		return nil, f.value.typeError(path, "an object")
	}
	e := &models.Endpoint{MaxTokens: models.DefaultMaxTokens, Timeout: models.DefaultTimeout, Dir: s.root}
	texts := map[string]*string{"provider": &e.Provider, "url": &e.URL, "model": &e.Name, "keyEnv": &e.KeyEnv, "keyFile": &e.KeyFile}
	lines := map[string]int{}
	for _, g := range f.value.fields {
		at, n := joinKey(path, g.key), float64(0)
		var err error
		lines[g.key] = g.value.line
		switch g.key {
		case "command":
			e.Command, err = s.readCommand(at, g.value)
		case "maxTokens":
			n, err = g.value.number(at, 1, models.MaxMaxTokens, true)
			e.MaxTokens = int(n)
		case "timeout":
			n, err = g.value.number(at, 1, models.MaxTimeout.Seconds(), false)
			e.Timeout = time.Duration(n * float64(time.Second))
		case "price":
			e.Price, err = s.readPrice(at, g)
		default:
			to := texts[g.key]
			if to == nil {
				s.unknown(path, g, modelKeys)
				continue
			}
			if *to, err = g.value.string(at); err == nil && (*to == "" || strings.ContainsRune(*to, 0)) {
				err = g.value.typeError(at, "a text")
			}
		}
		if err != nil {
			return nil, err
		}
	}
	wrong := func(key, format string, args ...any) error {
		line, at := f.line, path
		if n, ok := lines[key]; ok {
			line, at = n, joinKey(path, key)
		}
		return fmt.Errorf("line %d: %s: %s", line, at, fmt.Sprintf(format, args...))
	}
	has := func(key string) bool { return lines[key] > 0 }
	isCommand := e.Provider == "command"
	switch {
	case !has("provider"):
		return nil, wrong("", "it has no provider; add one of %s", strings.Join(models.Providers, ", "))
	case !slices.Contains(models.Providers, e.Provider):
		return nil, wrong("provider", "want one of %s, have %s", strings.Join(models.Providers, ", "), plain.Quote(e.Provider))
	case isCommand && !has("command"):
		return nil, wrong("", "the provider command needs command; add a program with its arguments")
	case !isCommand && has("command"):
		return nil, wrong("command", "the provider %s has no command; take it out", e.Provider)
	case !isCommand && !has("model"):
		return nil, wrong("", "it has no model; add the name by which the provider knows it")
	case e.Name != "" && (len([]rune(e.Name)) > maxModelName || !plain.Printable(e.Name)):
		return nil, wrong("model", "want a name of at most %d visible characters", maxModelName)
	case has("keyEnv") && has("keyFile"):
		return nil, wrong("", "it has both keyEnv and keyFile; take one out")
	case has("keyEnv") && !variableName.MatchString(e.KeyEnv):
		return nil, wrong("keyEnv", keyEnvError)
	}
	for _, key := range []string{"url", "keyEnv", "keyFile"} {
		if isCommand && has(key) {
			return nil, wrong(key, "the provider command has no %s; take it out", key)
		}
	}
	if isCommand {
		if e.Name == "" {
			e.Name = filepath.Base(e.Command[0])
		}
		return e, nil
	}
	if e.URL == "" {
		e.URL = models.DefaultURL(e.Provider)
	} else if err := checkBase(e.Provider, e.URL); err != nil {
		return nil, wrong("url", "%v", err)
	}
	e.URL = strings.TrimRight(e.URL, "/")
	if has("keyFile") {
		file, ok := s.absolute(e.KeyFile)
		if !ok {
			return nil, wrong("keyFile", "%s begins at a folder that is not known; write an absolute path", plain.Quote(e.KeyFile))
		}
		e.KeyFile = file
	}
	return e, nil
}

// checkBase checks the base URL of a model. One with http must be on this machine or in a private
// network.
func checkBase(provider, text string) error {
	if err := endpoint.CheckURL(text, true); err != nil {
		return err
	}
	u, err := url.Parse(text)
	if err != nil {
		return err
	}
	path := strings.TrimRight(u.Path, "/")
	for _, more := range map[string][]string{"anthropic": {"/v1/messages", "/messages", "/v1"}, "openai": {"/chat/completions"}}[provider] {
		if base, ok := strings.CutSuffix(path, more); ok {
			return fmt.Errorf("want the base URL, without %s at the end: %s", more, plain.Quote(u.Scheme+"://"+u.Host+base))
		}
	}
	return nil
}

// readPrice reads the price of a million tokens. Those of a cache are that of the input if they are
// not given.
func (s *Settings) readPrice(path string, f field) (*models.Price, error) {
	if f.value.kind != isObject {
		return nil, f.value.typeError(path, "an object")
	}
	p, given := &models.Price{}, map[string]bool{}
	to := map[string]*float64{"input": &p.Input, "output": &p.Output, "cacheRead": &p.CacheRead, "cacheWrite": &p.CacheWrite}
	for _, g := range f.value.fields {
		at := to[g.key]
		if at == nil {
			s.unknown(path, g, priceKeys)
			continue
		}
		var err error
		if *at, err = g.value.number(joinKey(path, g.key), 0, maxPrice, false); err != nil {
			return nil, err
		}
		given[g.key] = true
	}
	if !given["input"] || !given["output"] {
		return nil, fmt.Errorf("line %d: %s: it needs input and output; add the price of a million tokens of each", f.line, path)
	}
	if !given["cacheRead"] {
		p.CacheRead = p.Input
	}
	if !given["cacheWrite"] {
		p.CacheWrite = p.Input
	}
	return p, nil
}

func (s *Settings) readSummarize(f field) error {
	if f.value.kind != isObject {
		return f.value.typeError(f.key, "an object")
	}
	out := &Summarize{Over: 20_000}
	for _, g := range f.value.fields {
		path := joinKey(f.key, g.key)
		var err error
		switch g.key {
		case "over":
			var n float64
			n, err = g.value.number(path, minOver, maxOver, true)
			out.Over = int(n)
		case "tools":
			out.Tools, err = g.value.strings(path)
		default:
			s.unknown(f.key, g, summarizeKeys)
		}
		if err != nil {
			return err
		}
	}
	if len(out.Tools) == 0 {
		return fmt.Errorf("line %d: %s: it has no tools; add the names of those whose results are summarized", f.line, f.key)
	}
	s.summarize = out
	return nil
}

// number returns the value of a number within limits; whole, if it must be one.
func (n *node) number(path string, least, most float64, whole bool) (float64, error) {
	value, err := strconv.ParseFloat(n.text, 64)
	if n.kind == isNumber && err == nil && value >= least && value <= most && (!whole || value == float64(int64(value))) {
		return value, nil
	}
	kind := "a number"
	if whole {
		kind = "a whole number"
	}
	fail := n.typeError(path, fmt.Sprintf("%s from %s to %s", kind, strconv.FormatFloat(least, 'f', -1, 64), strconv.FormatFloat(most, 'f', -1, 64)))
	if n.kind == isNumber {
		fail = fmt.Errorf("%w %s", fail, plain.Quote(n.text))
	}
	return 0, fail
}
