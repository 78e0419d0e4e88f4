package tools

// Preview is a limited view of the changes that a call would make, for the user who decides
// on it and for a classifier.
type Preview struct {
	Text    string // lines, each safe to show; "": there is no preview
	Partial bool   // Text omits some of the changes
}
