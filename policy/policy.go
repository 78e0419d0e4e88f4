// Package policy decides whether a tool call may run: deny, ask or allow.
//
// Principles of the package:
//
//   - A decision is pure. It depends only on the Config of the Policy and on the Request.
//     The package reads no file, except through Config.Secrets, and stores nothing
//     between calls. The caller resolves symbolic links first.
//   - Everything that is not understood fails closed. The zero Behavior is Deny. A path
//     whose target is unknown is denied. A malformed deny or ask rule covers every call
//     of the tool it names. A malformed allow rule covers none.
//   - Deny rules are checked first, then ask rules, then allow rules. The first list with
//     a rule that covers the call decides. Whether another rule is more specific does not
//     matter.
//   - Paths are confined to the workspace roots. The user is asked about any other path.
//     Only an allow rule that covers both the path as written and the canonical path
//     lifts this; a rule on a whole tool never does. No rule opens a closed folder;
//     Request.Readable may open folders in it for reading.
//   - Protected names (protected.go) are files and folders by which programs run
//     something or decide whom to trust. Of the rules, only an allow rule on paths
//     that names one lifts the question about a change. The files in Config.Guarded,
//     such as the programs of hooks, are closed to changes: a model could otherwise run
//     its own text outside of the sandbox.
//   - A call may consist of parts (Parts). A deny or ask rule applies if it covers any
//     part, at any depth. Allow rules must cover each part.
//   - A site of the web is asked about unless a rule covers it. Addresses that are not
//     public are refused unless a rule names them (site.go).
//   - A rule that allows commands grants no files: Decision.Opens lists the files outside
//     of the workspace that the call may use in its sandbox (opens.go).
//   - Every text that a model may see states one fact and one next step. It contains
//     nothing that could control a terminal or hide from a reader.
package policy

import (
	"slices"

	"mcp-toolset/web/site"
)

// Behavior is the outcome of a decision. The zero value is Deny, so that a decision
// that was never made is a refusal.
type Behavior uint8

// The behaviors, the most restrictive first.
const (
	Deny  Behavior = iota // the call is refused
	Ask                   // the user has to approve it
	Allow                 // the call may run
)

// String returns the name of the list in the settings: "deny", "ask" or "allow".
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

// Access is the way in which a call uses the path it names.
type Access uint8

// The kinds of access.
const (
	Read Access = iota // reads the file, or searches or lists the folder
	Edit               // creates, changes or removes the file
)

// String returns the name of the rules that cover the access: "Read" or "Edit".
func (a Access) String() string {
	if a == Edit {
		return "Edit"
	}
	return "Read"
}

// Target is a path that a call names.
type Target struct {
	Literal   string // as written: expanded, clean, absolute
	Canonical string // with symbolic links resolved; "" if this failed, which denies the call
	Free      bool   // where calls may go without a rule: the session's folder for temporary files, what all commands may read, or nothing is there
	Absent    bool   // nothing is there
	Access    Access
	By        string // the program that changes it although the call does not name it; "": the call does
}

// Request holds everything about a call that a decision may depend on.
type Request struct {
	Tool     string     // canonical tool name; if empty, the call is denied
	Aliases  []string   // former names of the tool, which rules may also use
	As       string     // another tool whose rules hold too; only those allow the call; "": none
	Dir      string     // the session's working directory: absolute, canonical
	Target   *Target    // nil for a call without a path
	Parts    *Parts     // for calls that do several things, or nil; replaces Target and Match
	Site     *site.Site // host and port that the call reaches, or nil; patterns of rules are then on sites
	Served   bool       // whether a command of the session serves Site, so that no rule has to name it
	ReadOnly bool       // whether the call only reads

	// Match is the tool's own matcher. It reports whether the pattern of a Tool(pattern) rule
	// with behavior b covers this call. A deny or ask rule may cover more than an allow rule
	// with the same pattern, never less. If Match is nil, allow rules do not cover the call.
	// Deny and ask rules then cover it, unless it has a path: in that case their pattern is
	// matched with the path.
	Match func(b Behavior, pattern string) bool

	// Mentions lists files that the input of another program may name. Only deny and ask
	// rules on paths apply to them.
	Mentions []Target

	// Typed describes what the call types into a running program that takes it for commands; nil if
	// it does not. Only deny and ask rules on commands apply to it.
	Typed *Parts

	// Links maps the canonical path of a file that the call changes to a protected name, if a
	// link with this name leads to the file or to a folder above it.
	Links map[string]string

	// Readable lists folders outside of the roots that the session may read, such as its
	// stored results. They are absolute and canonical.
	Readable []string

	// Own is the tool's own decision on the call; nil if it has none. Deny always holds. Ask
	// holds until something allows the call; with LayerRule or LayerSandbox it holds
	// like an ask rule. Allow has no effect.
	Own *Decision
	// Hook is the decision of the hooks that ran before the call; nil if they made none.
	Hook *ExternalDecision
	// Declined reports whether the user declined exactly this call in the session. Always
	// reports whether the user has permanently allowed exactly this call.
	Declined, Always bool
	// Wrote holds the user's own words about the decline; "" if there are none.
	Wrote string
}

// ExternalDecision is a decision that was made outside of the policy, by a hook or a
// classifier.
type ExternalDecision struct {
	Behavior Behavior
	Reason   string // safe to show
	By       string // its author, safe to show
	Next     string // one next step, safe to show; if "", a generic one is used
}

// Decision is the outcome with its reason, worded for the model and for the audit log.
type Decision struct {
	Behavior Behavior
	Layer    string // the layer that decided: one of the Layer constants
	Rule     string // exact text of the deciding rule; "" if there is none; not made safe to show
	Source   string // settings file of the rule; "" if there is none
	Line     int    // line of the rule in Source, 1-based; 0 if there is none
	Reason   string // one fact, safe to show
	Next     string // one next step, safe to show; "" if the call is allowed
	// Suggest reports of a tool's own decision that Next goes on with the rules that would allow
	// the call for good, which the tool does not know.
	Suggest     bool
	Alternative string // an alternative that needs no approval, as a phrase; "" if none is known
	// Open reports whether nothing specific decided a call that the user is asked about or
	// that the mode dontAsk denies. A classifier may decide it: see Classified.
	Open bool
	// Opens lists the files that the parts of the call name and that a sandboxed command could
	// not access. An allowed call may use them. A call that the user is asked about may use
	// them after the approval.
	Opens []Target
	// Secret reports whether the user is asked because a file may hold credentials.
	Secret bool
	// Checkpoint reports whether the call is allowed because all that it may destroy could be
	// restored. That must still hold when it runs.
	Checkpoint bool
}

// Config holds the parameters of a Policy. Folders must be absolute; others are
// ignored.
type Config struct {
	Rules      Rules    // the rules of all settings
	AddTo      string   // settings file named in advice to add a rule; "" if unknown
	Roots      []string // workspace roots, canonical
	Closed     []string // folders that no tool may access, such as the server's own state
	Opened     []string // folders that a closed folder above them does not close
	Guarded    []string // files and folders that no tool may change or replace, such as settings
	Home       string   // home folder, for rules that begin with ~/; "" if unknown
	KnownTools []string // names of all tools; nil disables warnings about rules on others
	Mode       Mode     // "" means ModeDefault

	// Secrets reports which files may hold credentials. If nil, none does.
	Secrets Secrets

	// Programs finds the files that git's configuration makes git run. If nil, there are none.
	Programs Programs

	// Destructive allows commands that only destroy files that could be restored, in every mode
	// but ModeManual.
	Destructive bool

	// Hosts are hosts that commands may reach without a rule (Policy.Connections).
	Hosts []site.Pattern

	// KnownServers lists the prefixes of other servers (ServerPrefix), for warnings about
	// rules on unknown servers. nil disables these warnings.
	KnownServers []string
}

// Secrets reports which files may hold credentials. Paths must be clean and absolute.
type Secrets interface {
	// Secret reports whether a file or folder may hold credentials. It may read the file.
	Secret(path string) (Secret, bool)
	// Below reports whether a folder may contain such a file. It reads no files.
	Below(folder string) bool
}

// Programs finds the files that the configuration of repositories makes git run or read as
// settings, such as the folder of core.hooksPath. Paths are canonical.
type Programs interface {
	// Program returns the path of such a file or folder that is path or holds it; "" if none does.
	// root is the workspace folder that holds path.
	Program(path, root string) string
	// Below returns those of the repository at a root.
	Below(root string) []string
}

// Secret describes why a file may hold credentials.
type Secret struct {
	Path   string // the file, or the folder above it that is secret as a whole
	Reason string // the credentials it may hold, as a clause
	Known  bool   // whether its name or content shows it, not only that its name is hidden
}

// Policy decides on calls. It is immutable and safe for concurrent use.
type Policy struct {
	mode    Mode
	planned bool // see Planned
	hosts   []site.Pattern
	// connections reports whether the policy is on connections of commands: see Connections.
	connections bool
	lists       [3]list // by Behavior
	// readsFreely reports whether no rule can affect the reading of a file in a root.
	readsFreely bool
	roots       []folder
	// before, frozen and copy are set by Moved: the roots outside of the worktree, the checkout
	// and the worktree.
	before       []folder
	frozen, copy folder
	closed       []folder
	opened       []folder
	guarded      []folder
	home         folder
	secrets      Secrets // nil if there are no secrets
	programs     Programs
	addTo        string // settings file for further rules; "" if unknown
	warnings     []string
	destructive  bool // see Config.Destructive
	preset       bool // whether there are rules of a preset
}

// New returns a Policy for cfg. It never fails: problems of the rules are reported by
// Warnings.
func New(cfg Config) *Policy {
	p := &Policy{
		roots:  folders(cfg.Roots),
		closed: folders(cfg.Closed), opened: folders(cfg.Opened), guarded: folders(cfg.Guarded),
		home: newFolder(cfg.Home), secrets: cfg.Secrets, programs: cfg.Programs,
		mode:  cfg.Mode.or(),
		addTo: cfg.AddTo, hosts: cfg.Hosts, destructive: cfg.Destructive,
	}
	for b := range p.lists {
		p.lists[b] = newList(p, Behavior(b), cfg.Rules.lists[b])
	}
	p.preset = slices.ContainsFunc(cfg.Rules.lists[Allow], func(r rule) bool { return r.preset != nil })
	p.readsFreely = !p.lists[Deny].onOthers() && !p.lists[Ask].onOthers() && !p.lists[Allow].onOthers()
	p.warnings = p.ruleWarnings(cfg)
	return p
}

// Planned returns the policy of a session in plan mode: it also denies all calls that do
// not only read. It allows nothing that p does not allow.
func (p *Policy) Planned() *Policy {
	q := *p
	q.planned = true
	return &q
}

// EditsAccepted returns the policy of a session whose user chose the mode acceptEdits. It
// differs from p only in the mode default; any other mode is the operator's choice.
func (p *Policy) EditsAccepted() *Policy {
	if p.mode != ModeDefault {
		return p
	}
	q := *p
	q.mode = ModeAcceptEdits
	return &q
}

// Mode returns the mode in which the policy decides.
func (p *Policy) Mode() Mode { return p.mode }

// Warnings returns warnings about rules that depend on the Config: rules on tools or
// servers that do not exist, and rules that begin at an unknown folder. Rules.Warnings
// returns those that do not.
func (p *Policy) Warnings() []string { return append([]string(nil), p.warnings...) }
