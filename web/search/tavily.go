package search

import (
	"encoding/json"
	"net/http"
)

// tavily is the search of Tavily.
// https://docs.tavily.com/documentation/api-reference/endpoint/search
var tavily = service{
	url:    "https://api.tavily.com",
	keyEnv: "TAVILY_API_KEY",
	request: func(q Query) request {
		body := map[string]any{"query": q.Text, "max_results": MaxResults}
		if names := q.included(); names != nil {
			body["include_domains"] = names
		}
		if names := q.excluded(); names != nil {
			body["exclude_domains"] = names
		}
		return request{
			method: http.MethodPost, path: "/search", body: body,
			sign: func(h http.Header, key string) { h.Set("Authorization", "Bearer "+key) },
		}
	},
	results: func(data []byte) (Results, error) {
		var answer struct {
			Results *[]struct {
				Title, URL, Content string
				Date                string `json:"published_date"`
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
			out.Results = append(out.Results, Result{r.Title, r.URL, r.Content, r.Date})
		}
		return out, nil
	},
	errors: map[int][2]string{ // its own statuses for the limits of a plan
		432: noCredit, 433: noCredit,
	},
}
