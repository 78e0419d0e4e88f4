package search

import (
	"encoding/json"
	"net/http"
	"strings"
)

// exa is the search of Exa.
// https://docs.exa.ai/reference/search
var exa = service{
	url:    "https://api.exa.ai",
	keyEnv: "EXA_API_KEY",
	request: func(q Query) request {
		body := map[string]any{"query": q.Text, "type": "auto", "numResults": MaxResults, "contents": map[string]any{"highlights": true}}
		if names := q.included(); names != nil {
			body["includeDomains"] = names
		}
		if names := q.excluded(); names != nil {
			body["excludeDomains"] = names
		}
		return request{
			method: http.MethodPost, path: "/search", body: body,
			sign: func(h http.Header, key string) { h.Set("x-api-key", key) },
		}
	},
	results: func(data []byte) (Results, error) {
		var answer struct {
			Results *[]struct {
				Title, URL, Text string
				PublishedDate    string
				Highlights       []string
			}
		}
		if err := json.Unmarshal(data, &answer); err != nil {
			return Results{}, err
		}
		if answer.Results == nil {
			return Results{}, absent("results")
		}
		var out Results
		for _, r := range *answer.Results {
			text := strings.Join(r.Highlights, " … ")
			if text == "" {
				text = r.Text
			}
			out.Results = append(out.Results, Result{r.Title, r.URL, text, day(r.PublishedDate)})
		}
		return out, nil
	},
}
