// Package policy decides whether a tool call may be done: deny, ask or allow.
//
// The rules of the package:
//
//   - A decision is pure: it depends on the Config of the Policy and on the
//     Request, and on nothing else. No file is looked at but by Config.Secrets,
//     nothing is remembered. Whoever asks resolves symlinks first.
//   - Everything not understood fails closed. The zero Behavior is Deny; a path
//     whose target is unknown is denied; a malformed deny or ask rule covers
//     every call of the tool it names, a malformed allow rule none.
//   - Deny rules are looked at first, then ask rules, then allow rules. The
//     first list with a rule that covers the call decides; which rule is the
//     more specific does not matter.
//   - A path is confined to the workspace roots: any other is asked about. Only
//     an allow rule that covers both the path as written and the file it leads
//     to lifts that; a rule on a whole tool never does. Nothing lifts a closed
//     folder.
//   - Every text a model may see is one fact and one next step, with nothing in
//     it that could steer a terminal or hide from a reader.
package policy

// Behavior is what a decision says. The zero value is Deny: a decision that was
// never made is a refusal.
type Behavior uint8

// The behaviors, the most severe first.
const (
	Deny  Behavior = iota // the call is refused
	Ask                   // the user has to approve it
	Allow                 // the call may be done
)

// String is the name of the list in the settings: "deny", "ask" or "allow".
func (b Behavior) String() string {
	switch b {
	case Ask:
		return "ask"
	case Allow:
		return "allow"
	default:
		return "deny"
	}
}

// Access is what a call does to the path it names.
type Access uint8

// The kinds of access.
const (
	Read Access = iota // looks at the file, or searches or lists the folder
	Edit               // makes, changes or removes the file
)

// String is the name of the rules that cover the access: "Read" or "Edit".
func (a Access) String() string {
	if a == Edit {
		return "Edit"
	}
	return "Read"
}

// Target is the path of a call.
type Target struct {
	Literal   string // as written: expanded, clean, absolute
	Canonical string // with symlinks resolved; "" when that failed, which denies the call
	Access    Access
}

// Request is everything a decision may depend on.
type Request struct {
	Tool     string   // canonical tool name; without one the call is denied
	Aliases  []string // former names of the tool: rules written with them hold too
	Dir      string   // the session's working directory: absolute, canonical
	Target   *Target  // nil for a call without a path
	Parts    *Parts   // nil but for a tool that does several things in a call; then Target and Match do not count
	ReadOnly bool     // the call only reads

	// Match is the tool's own matcher: does the pattern of a Tool(pattern) rule
	// cover this call, if the rule has this behavior. A rule that denies or asks
	// may cover more than one that allows, never less. Where Match is nil, an
	// allow rule covers nothing. A deny or ask rule then covers the call, unless
	// the call has a path: the pattern is held against that.
	Match func(b Behavior, pattern string) bool

	// Links has the protected name of a link that leads to a file, or above it, by
	// the canonical path of each such file that the call changes.
	Links map[string]string

	// Readable are folders the session may read beyond the roots, such as its
	// stored results: absolute, canonical.
	Readable []string

	// Own is the tool's opinion on the call; nil: it has none. Its Deny always
	// holds, its Ask until something allows the call, except that one of LayerRule or
	// LayerSandbox holds as an ask rule does; its Allow changes nothing.
	Own *Decision
	// Hook is what the hooks that ran before the call decided; nil: nothing.
	Hook *Opinion
	// Declined says that a person declined exactly this in the session, Always
	// that one has allowed exactly this for good.
	Declined, Always bool
}

// Opinion is what somebody beside the policy decided.
type Opinion struct {
	Behavior Behavior
	Reason   string // safe to show
	By       string // who, safe to show
	Next     string // one next step, safe to show; "": a usual one
}

// Decision is the answer and why, worded for the model and for a log.
type Decision struct {
	Behavior Behavior
	Layer    string // what decided: one of the Layer constants
	Rule     string // exact text of the deciding rule, "" when none; not made safe to show
	Source   string // file the rule came from, "" when none
	Line     int    // its line there, 1-based; 0 when none
	Reason   string // one fact, safe to show
	Next     string // one next step, safe to show; "" when the call is allowed
	Instead  string // what needs no approval, as a phrase; "": nothing is known
	// Open says that the call is asked about, or denied by the mode dontAsk, for
	// want of anything that decides: a classifier may, by Classified.
	Open bool
	// Opens are the files that the parts of the call name and that a contained
	// command could not reach: those that an allowed call may use, or that one
	// which is asked about may use once somebody agrees.
	Opens []Target
	// Secret reports that the call is asked about for a file that may hold
	// credentials.
	Secret bool
}

// Config is what a Policy is made of. Folders are absolute; one that is not is
// left out.
type Config struct {
	Settings   *Settings // the rules; nil: none
	AddTo      string    // settings file where texts ask the user to add a rule; "": that of Settings if it is one
	Roots      []string  // workspace roots, canonical; Settings.AdditionalDirectories is not added to them
	Closed     []string  // folders no tool may touch, such as the server's own state
	Guarded    []string  // files and folders no tool may change or replace, such as settings
	Home       string    // home folder, for rules that begin with ~/; "" when unknown
	KnownTools []string  // names of the tools, for warnings about rules on others; nil: no such warnings
	Mode       Mode      // "": ModeDefault

	// Secrets reports which files may hold credentials. Nil: none does.
	Secrets Secrets

	// KnownServers are the prefixes of other servers (Upstream.Prefix), for warnings
	// about rules on others; nil: no such warnings.
	KnownServers []string
}

// Secrets reports which files may hold credentials. Paths are clean and absolute.
type Secrets interface {
	// Secret reports whether a file or folder may. It may look at the file.
	Secret(path string) (Secret, bool)
	// Below reports whether there may be one in a folder. It looks at no file.
	Below(folder string) bool
}

// Secret is why a file may hold credentials.
type Secret struct {
	Path  string // the file, or the folder above it that is held as a whole
	Why   string // what it may hold, as a clause
	Known bool   // by its name or content, not only because its name is hidden
}

// Policy decides on calls. It never changes and is safe for concurrent use.
type Policy struct {
	mode  Mode
	lists [3]list // by Behavior
	// readsFreely says that no rule could keep a file of a root from being read,
	// or make it an allow rule's to decide.
	readsFreely bool
	roots       []folder
	closed      []folder
	guarded     []folder
	home        folder
	secrets     Secrets // nil: there are none
	addTo       string  // settings file for further rules, "" when unknown
	warnings    []string
}

// New makes a Policy. What is wrong with the rules is in Warnings; it is never
// a reason not to have a policy.
func New(cfg Config) *Policy {
	p := &Policy{
		roots:  folders(cfg.Roots),
		closed: folders(cfg.Closed), guarded: folders(cfg.Guarded),
		home: newFolder(cfg.Home), secrets: cfg.Secrets,
		mode:  cfg.Mode.or(),
		addTo: cfg.AddTo,
	}
	s := cfg.Settings
	if s == nil {
		p.readsFreely = true
		return p
	}
	if p.addTo == "" {
		p.addTo = s.source
	}
	for b := range p.lists {
		p.lists[b] = newList(p, Behavior(b), s.rules[b])
	}
	p.readsFreely = !p.lists[Deny].onOthers() && !p.lists[Ask].onOthers() && !p.lists[Allow].onOthers()
	p.warnings = append(s.Warnings(), p.ruleWarnings(s, cfg)...)
	return p
}

// Mode is the mode in which calls are decided.
func (p *Policy) Mode() Mode { return p.mode }

// Warnings says what is wrong with the settings: those of Settings.Warnings,
// then rules on tools that do not exist, and rules that have no effect beside
// the other rules or in this Config.
func (p *Policy) Warnings() []string { return append([]string(nil), p.warnings...) }
