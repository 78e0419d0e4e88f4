// Package search queries web search services: SearXNG, Brave, Tavily and Exa.
//
// Each provider has a file, which makes the request and reads the answer. The client
// (client.go) does the rest in the same way for all: limits, retries and errors. Answers are
// untrusted; Search cleans them (clean.go).
//
// A failure of a provider is always an error. It never looks like a search without results.
package search

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"mcp-toolset/web/endpoint"
)

const (
	// MaxResults is the limit of the results of a search.
	MaxResults = 10
	// fewResults is the number of results below which a second page is asked for, if
	// the filter has removed some of the first.
	fewResults = 5
	// maxTerms is the limit of a query with its site: terms, in characters. It is
	// Brave's limit of a query.
	maxTerms = 400
)

// Query is a search. At most one of the lists has elements.
type Query struct {
	Text             string
	Allowed, Blocked []Domain
	page             int // 0-based
}

// Result is a page that was found. All fields are one line, safe to show.
type Result struct {
	Title, URL, Snippet string
	Date                string // as the provider gives it; "" if it gives none
}

// Results is the answer to a search.
type Results struct {
	Results []Result // the best first, at most MaxResults
	More    int      // number of further results that were left out
	Silent  []string // search engines of the provider that did not answer
}

// Provider is a search service. It is safe for concurrent use.
type Provider interface {
	// Search returns the pages that a query finds. Its error is a *fault.Fault, or the
	// cause of the end of ctx.
	Search(ctx context.Context, q Query) (Results, error)
}

// Config selects a provider.
type Config struct {
	Provider string // one of Names
	URL      string // base URL; "" means that of the provider, which SearXNG does not have
	Key      endpoint.Key
}

// service is a provider before its results are cleaned.
type service struct {
	url     string // default base URL
	keyEnv  string // default variable of the key; "" if it needs none
	pages   bool   // whether there are further pages
	request func(q Query) request
	// results reads an answer. It returns an error if data is not an answer to a search.
	results func(data []byte) (Results, error)
	errors  map[int][2]string // fact and next step for a status; overrides the general ones
}

var services = map[string]service{"brave": brave, "exa": exa, "searxng": searxng, "tavily": tavily}

// Names lists the providers.
var Names = []string{"brave", "exa", "searxng", "tavily"}

// DefaultKeyEnv returns the environment variable that has the key of a provider by default,
// or "" if the provider needs no key.
func DefaultKeyEnv(provider string) string { return services[provider].keyEnv }

// New returns a provider. The Config must be valid, see CheckURL.
func New(c Config) Provider { return newSearcher(c) }

// searcher is a Provider.
type searcher struct {
	service
	client *client
}

func newSearcher(c Config) *searcher {
	s := services[c.Provider]
	base := c.URL
	if base == "" {
		base = s.url
	}
	return &searcher{s, newClient(c.Provider, strings.TrimRight(base, "/"), c.Key, s.errors)}
}

// Search implements Provider.
func (s *searcher) Search(ctx context.Context, q Query) (Results, error) {
	var out Results
	var pages []Result
	for {
		data, err := s.client.do(ctx, s.request(q))
		if err != nil {
			return Results{}, err
		}
		found, err := s.results(data)
		if err != nil {
			return Results{}, s.client.malformed(data, err)
		}
		pages, out.Silent = append(pages, found.Results...), found.Silent
		var filtered bool
		out.Results, filtered = clean(pages, q)
		if !s.pages || !filtered || len(out.Results) >= fewResults || q.page > 0 || len(found.Results) == 0 {
			break
		}
		q.page++
	}
	if n := len(out.Results); n > MaxResults {
		out.More, out.Results = n-MaxResults, out.Results[:MaxResults]
	}
	for i, name := range out.Silent {
		out.Silent[i] = line(name, maxName)
	}
	return out, nil
}

// terms returns the text of a query with site: terms, for providers without lists of domains. It
// omits terms that would make the query too long, since the results are filtered anyway.
func (q Query) terms() string {
	var sites []string
	for _, d := range q.Allowed {
		sites = append(sites, "site:"+d.name)
	}
	text := q.Text
	with := func(terms string) {
		if more := text + " " + terms; len([]rune(more)) <= maxTerms {
			text = more
		}
	}
	switch len(sites) {
	case 0:
	case 1:
		with(sites[0])
	default:
		with("(" + strings.Join(sites, " OR ") + ")")
	}
	for _, name := range q.excluded() {
		with("-site:" + name)
	}
	return text
}

// included returns the names of the allowed domains. A provider that covers a name and its
// subdomains returns more than *.name allows; the filter removes it.
func (q Query) included() []string {
	var names []string
	for _, d := range q.Allowed {
		names = append(names, d.name)
	}
	return names
}

// excluded returns the names of the blocked domains, without those of the form *.name: a provider
// would exclude the name itself, too.
func (q Query) excluded() []string {
	var names []string
	for _, d := range q.Blocked {
		if !d.below {
			names = append(names, d.name)
		}
	}
	return names
}

// allows reports whether the domains of the query let a host pass.
func (q Query) allows(host string) bool {
	covers := func(d Domain) bool { return d.Covers(host) }
	return (len(q.Allowed) == 0 || slices.ContainsFunc(q.Allowed, covers)) && !slices.ContainsFunc(q.Blocked, covers)
}

// absent returns the error for an answer without a field that all answers have.
func absent(field string) error { return fmt.Errorf("it has no %s", field) }
