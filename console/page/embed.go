// Package page holds the files of the console: one HTML page with modules and a
// style sheet that a browser loads as they are.
package page

import "embed"

// Files holds the page. In door.html, which refuses access or asks for a login, the server
// replaces "{{FACT}}" and "{{NEXT}}" with escaped text and "{{FORM}}" with a form or nothing.
// All other files are served unchanged. The page finds the token that POST requests carry in
// the local storage, as "mcp-toolset-console".
//
//go:embed *.html *.css *.js *.svg
var Files embed.FS
