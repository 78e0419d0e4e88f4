package search

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
)

// brave is the Web Search API of Brave.
// https://api-dashboard.search.brave.com/app/documentation/web-search
var brave = service{
	url:    "https://api.search.brave.com",
	keyEnv: "BRAVE_API_KEY",
	pages:  true,
	request: func(q Query) request {
		values := url.Values{"q": {q.terms()}, "count": {"20"}}
		if q.page > 0 {
			values.Set("offset", strconv.Itoa(q.page)) // in pages
		}
		return request{
			method: http.MethodGet, path: "/res/v1/web/search?" + values.Encode(),
			sign: func(h http.Header, key string) { h.Set("X-Subscription-Token", key) },
		}
	},
	results: func(data []byte) (Results, error) {
		var answer struct {
			Type string
			Web  struct {
				Results []struct {
					Title, URL, Description, Age string
					PageAge                      string `json:"page_age"`
				}
			}
		}
		if err := json.Unmarshal(data, &answer); err != nil {
			return Results{}, err
		}
		if answer.Type != "search" { // an answer without results has no web
			return Results{}, absent(`type "search"`)
		}
		var out Results
		for _, r := range answer.Web.Results {
			date := day(r.PageAge)
			if date == "" {
				date = r.Age
			}
			out.Results = append(out.Results, Result{r.Title, r.URL, r.Description, date})
		}
		return out, nil
	},
}
