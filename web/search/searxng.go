package search

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
)

// searxng is the JSON API of an instance of SearXNG, or of its predecessor Searx. A key, which
// it does not need, has the form user:password.
// https://docs.searxng.org/dev/search_api.html
var searxng = service{
	pages: true,
	request: func(q Query) request {
		values := url.Values{"q": {q.terms()}, "format": {"json"}}
		if q.page > 0 {
			values.Set("pageno", strconv.Itoa(q.page+1))
		}
		return request{
			method: http.MethodGet, path: "/search?" + values.Encode(),
			sign: func(h http.Header, key string) {
				h.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(key)))
			},
		}
	},
	results: func(data []byte) (Results, error) {
		var answer struct {
			Results *[]struct {
				Title, URL, Content string
				PublishedDate       string
			}
			Unresponsive [][]any `json:"unresponsive_engines"` // name and reason
		}
		if err := json.Unmarshal(data, &answer); err != nil {
			return Results{}, err
		}
		if answer.Results == nil {
			return Results{}, absent("results")
		}
		var out Results
		for _, r := range *answer.Results {
			out.Results = append(out.Results, Result{r.Title, r.URL, r.Content, day(r.PublishedDate)})
		}
		for _, engine := range answer.Unresponsive {
			if len(engine) > 0 && len(out.Silent) < 5 {
				if name, ok := engine[0].(string); ok {
					out.Silent = append(out.Silent, name)
				}
			}
		}
		return out, nil
	},
	errors: map[int][2]string{
		http.StatusUnauthorized: {"refused the user name and password", "Ask the user to put user:password into the variable or file that webSearch names."},
		http.StatusForbidden:    {"does not offer JSON", "Ask the user to add json to search.formats in the settings.yml of the instance."},
	},
}
