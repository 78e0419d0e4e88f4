package policy

// Mode is how calls are decided that no rule covers.
type Mode string

// The modes.
const (
	// ModeDefault allows what stays in the workspace and can be undone or is
	// contained, and asks about the rest.
	ModeDefault Mode = "default"
	// ModeAcceptEdits also allows commands that only make, remove or move files
	// in the workspace.
	ModeAcceptEdits Mode = "acceptEdits"
	// ModeManual asks about every call that does not only read, unless a rule, a
	// hook or the user allows it. A classifier is not asked.
	ModeManual Mode = "manual"
	// ModePlan allows what only reads and denies all else.
	ModePlan Mode = "plan"
	// ModeDontAsk denies what would be asked about.
	ModeDontAsk Mode = "dontAsk"
	// ModeBypass allows all that no deny or ask rule covers or may cover, but for
	// changes of protected names and folders that are closed to every tool.
	ModeBypass Mode = "bypassPermissions"
)

// manually is the reason why ModeManual asks.
const manually = "the mode manual asks about every call that may change something"

// Modes are the names of all modes.
var Modes = []string{
	string(ModeDefault), string(ModeAcceptEdits), string(ModeManual), string(ModePlan), string(ModeDontAsk), string(ModeBypass),
}

// or is the mode, or the default one.
func (m Mode) or() Mode {
	if m == "" {
		return ModeDefault
	}
	return m
}
