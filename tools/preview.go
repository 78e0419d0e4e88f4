package tools

// Preview is a bounded view of what a call would change, for the user who decides
// on it and for a classifier.
type Preview struct {
	Text    string // lines, each safe to show; "": there is no preview
	Partial bool   // Text leaves something out
}
