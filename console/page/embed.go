// Package page holds the files of the console: one HTML page with modules and a
// style sheet that a browser loads as they are.
package page

import "embed"

// Files holds the page. In index.html the server replaces "{{TOKEN}}" with the token
// that POST requests carry, and in login.html and refused.html "{{FACT}}" and "{{NEXT}}"
// with escaped text. All other files are served unchanged.
//
//go:embed *.html *.css *.js *.svg
var Files embed.FS
