package fetch

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
)

// TestRedirects checks the number of redirects that are followed, and that another port is
// another site.
func TestRedirects(t *testing.T) {
	f := newFixture(t, Options{})
	f.handler = func(w http.ResponseWriter, r *http.Request) {
		n, err := strconv.Atoi(r.URL.Path[1:])
		switch {
		case err != nil:
			http.Redirect(w, r, "https://www.ok.example:8443/", http.StatusFound)
		case n > 0:
			http.Redirect(w, r, fmt.Sprintf("/%d", n-1), http.StatusFound)
		}
	}
	if _, err := f.get(t, page+"/10"); err != nil || f.hits.Load() != maxHops+1 {
		t.Errorf("10 redirects: %v after %d requests", err, f.hits.Load())
	}
	if _, err := f.get(t, page+"/11"); err == nil || !strings.Contains(err.Error(), " redirects more than 10 times. ") {
		t.Errorf("11 redirects: %v", err)
	}
	if got, err := f.get(t, page+"/port"); got != "redirect to https://www.ok.example:8443/" || err != nil {
		t.Errorf("another port: %s, %v", got, err)
	}
}
