package e2e

import (
	"net/http"
	"net/http/httptest"
	"os"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// website is the script command `website FOLDER FILE`. It serves the folder on this machine
// until the end of the script, and puts the host and port in place of $WEB in the file.
func website(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: website FOLDER FILE")
	}
	files := http.FileServer(http.Dir(ts.MkAbs(args[0])))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if to, ok := strings.CutPrefix(r.URL.RequestURI(), "/to?"); ok {
			http.Redirect(w, r, to, http.StatusFound)
			return
		}
		files.ServeHTTP(w, r)
	}))
	ts.Defer(server.Close)
	host := strings.TrimPrefix(server.URL, "http://")
	ts.Setenv("WEB", host)
	file := ts.MkAbs(args[1])
	ts.Check(os.WriteFile(file, []byte(strings.ReplaceAll(ts.ReadFile(args[1]), "$WEB", host)), 0o600))
}
