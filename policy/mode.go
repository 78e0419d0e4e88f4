package policy

// Mode determines the decision on calls that no rule covers.
type Mode string

// The modes.
const (
	// ModeDefault allows calls that stay in the workspace and are sandboxed or can be undone.
	// It asks about all others.
	ModeDefault Mode = "default"
	// ModeAcceptEdits also allows commands that only create, remove or move files in the
	// workspace.
	ModeAcceptEdits Mode = "acceptEdits"
	// ModeManual asks about every call that does not only read, unless a rule, a hook or the
	// user allows it. It does not ask the classifier.
	ModeManual Mode = "manual"
	// ModePlan allows calls that only read and denies all others.
	ModePlan Mode = "plan"
	// ModeDontAsk denies the calls that other modes ask about.
	ModeDontAsk Mode = "dontAsk"
	// ModeBypass allows all calls that no deny or ask rule covers or may cover, except changes
	// of protected names and access to folders that are closed to all tools.
	ModeBypass Mode = "bypassPermissions"
)

// manually is the reason for the questions of ModeManual.
const manually = "the mode manual asks about every call that may change something"

// Modes lists the names of all modes.
var Modes = []string{
	string(ModeDefault), string(ModeAcceptEdits), string(ModeManual), string(ModePlan), string(ModeDontAsk), string(ModeBypass),
}

// or returns the mode, or ModeDefault if it is empty.
func (m Mode) or() Mode {
	if m == "" {
		return ModeDefault
	}
	return m
}
