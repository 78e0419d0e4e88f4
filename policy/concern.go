package policy

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"mcp-toolset/internal/text/plain"
)

// Concerns: the reasons to ask about a call that no rule decides, and their texts.

// systemFolders lists folders of programs and their data. A command may name files
// there to read, because they are the same on every such system.
var systemFolders = folders([]string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/opt", "/nix/store"})

// plainDevices lists devices that commands can read and write without side effects.
var plainDevices = map[string]bool{
	"/dev/null": true, "/dev/zero": true, "/dev/full": true, "/dev/random": true, "/dev/urandom": true,
	"/dev/stdin": true, "/dev/stdout": true, "/dev/stderr": true, "/dev/tty": true,
}

// concern returns the reason to ask the user about the call, or nil if there is none.
func (c *call) concern() *Decision {
	if c.r.Target != nil && c.r.Parts == nil {
		if d := c.pathConcern(); d != nil {
			return d
		}
	}
	if c.r.Parts != nil {
		if d := c.partsConcern(); d != nil {
			return d
		}
	}
	if c.r.Site != nil {
		return c.siteConcern()
	}
	if c.r.Own != nil && c.r.Own.Behavior == Ask {
		d := c.byTool()
		return &d
	}
	return nil
}

// pathConcern returns the concern about the call's path, or nil.
func (c *call) pathConcern() *Decision {
	secret, isSecret := c.secret()
	if _, kernel := c.inKernel(); !kernel && !c.confined() {
		d := c.outside()
		if d.Secret = isSecret; isSecret {
			d.Reason += " and may hold credentials (" + secret.Reason + ")"
		}
		return &d
	}
	if isSecret {
		return c.secretConcern(secret)
	}
	if name := c.protected(); name != "" {
		return &Decision{
			Layer: LayerPath, Reason: c.by(c.real.path, "is under the protected name "+plain.Quote(name)+", which decides what programs run or trust"),
			Next: c.ruleFor(c.real.path),
		}
	}
	return nil
}

// unknownParts returns the question about a call that a rule may cover although its
// parts do not show it, or nil if there is none. No mode, allow rule or stored
// approval answers this question.
func (c *call) unknownParts() *Decision {
	parts := c.r.Parts
	switch {
	case parts != nil:
		if d := c.unresolvedParts(); d != nil {
			return d
		}
	case c.r.Typed != nil && (c.p.lists[Deny].onCommands(c) || c.p.lists[Ask].onCommands(c)):
		parts = c.r.Typed
		if why := cmp.Or(parts.Unresolved, parts.Incomplete); why != "" {
			return &Decision{
				Behavior: Ask, Layer: LayerDefault, Reason: "not every command that it types is known: " + plain.Quote(why),
				Next: "type whole lines, with the commands written out",
			}
		}
	default:
		return nil
	}
	for i := range parts.List {
		if d := c.unknownPart(&parts.List[i]); d != nil {
			return d
		}
	}
	return nil
}

// unresolvedParts is the half of unknownParts for parts, or files that parts name,
// that are unknown.
func (c *call) unresolvedParts() *Decision {
	parts := c.r.Parts
	ruled := c.p.lists[Deny].onCommands(c) || c.p.lists[Ask].onCommands(c)
	why := parts.Unresolved
	if lenient := parts.Harmless || c.p.mode == ModeBypass; lenient && !ruled {
		why = ""
	}
	if why == "" && ruled {
		why = parts.Incomplete
	}
	if why != "" {
		return &Decision{
			Behavior: Ask, Layer: LayerDefault, Reason: "not every command in it is known: " + plain.Quote(why),
			Next: "write the commands out, one after the other",
		}
	}
	if parts.Unnamed != "" && !parts.Harmless && (c.p.lists[Deny].onFiles() || c.p.lists[Ask].onFiles()) {
		return &Decision{
			Behavior: Ask, Layer: LayerDefault,
			Reason: "not every file that it opens is known, and there are rules on some: " + plain.Quote(parts.Unnamed),
			Next:   "write the paths out, in one command of literal words",
		}
	}
	return nil
}

// unknownPart is the half of unknownParts for one known part.
func (c *call) unknownPart(p *Part) *Decision {
	if p.UnknownWrites && c.r.Parts != nil && !c.r.Parts.Harmless && (c.p.lists[Deny].onEdits() || c.p.lists[Ask].onEdits()) {
		return &Decision{
			Behavior: Ask, Layer: LayerDefault,
			Reason: "which files " + plain.Quote(p.Text) + " changes is only known when it runs, and there are rules on changing some",
			Next:   "write the paths out",
		}
	}
	for b := Deny; b <= Ask && p.uncertain(); b++ {
		if m := c.p.lists[b].findPossible(c, p); m.rule != nil {
			if program, _, _ := strings.Cut(p.Name, " "); program == "git" && p.KnownPrefix == "" {
				return &Decision{
					Behavior: Ask, Layer: LayerDefault,
					Reason: fmt.Sprintf("%s may be an alias, and the %s rule %s may cover what it stands for", plain.Quote(p.Text), b, plain.Quote(m.rule.text)),
					Next:   "use the git command itself",
				}
			}
			return &Decision{
				Behavior: Ask, Layer: LayerDefault,
				Reason: fmt.Sprintf("what %s does is only known when it runs, and the %s rule %s may cover it", plain.Quote(p.Text), b, plain.Quote(m.rule.text)),
				Next:   "write its words out",
			}
		}
	}
	for b := Deny; b <= Ask; b++ {
		for _, text := range p.Possible {
			if m := c.p.lists[b].findRun(c, text, p.Caseless); m.rule != nil {
				return &Decision{
					Behavior: Ask, Layer: LayerDefault,
					Reason: fmt.Sprintf("%s may run %s, which the %s rule %s covers", plain.Quote(p.Text), plain.Quote(text), b, plain.Quote(m.rule.text)),
					Next:   "leave that out, or ask the user to do it",
				}
			}
		}
	}
	return nil
}

// partsConcern returns the concern about the parts of the call, or nil.
func (c *call) partsConcern() *Decision {
	if d := c.targetsConcern(); d != nil {
		return d
	}
	for i := range c.r.Parts.List {
		if p := &c.r.Parts.List[i]; p.Risk != "" && !(p.Destroys && c.r.Parts.Covered) {
			d := c.risky(p)
			return &d
		}
	}
	return nil
}

func (c *call) risky(p *Part) Decision {
	return Decision{
		Layer: LayerDefault, Reason: fmt.Sprintf("%s needs approval: %s", plain.Quote(p.Text), p.Risk),
		Next: c.ruleForPart(p),
	}
}

// targetsConcern returns the concern about the files that the call names, or nil.
func (c *call) targetsConcern() *Decision {
	for _, t := range c.targets {
		if c.r.Parts.Harmless && t.r.Target.Access == Edit {
			continue
		}
		if t.real.path == "" || t.written() == "" {
			d := t.unresolved()
			return &d
		}
		if d := t.namedConcern(); d != nil && t.r.Target.By == "" {
			return d
		}
	}
	return c.unnamedConcern()
}

// unnamedConcern returns the concern about the protected files that a program in the call changes
// although the call does not name them, or nil.
func (c *call) unnamedConcern() (d *Decision) {
	var files []string
	for _, t := range c.targets {
		of := t.namedConcern()
		if t.r.Target.By == "" || of == nil || c.r.Parts.Harmless {
			continue
		}
		if of.Secret {
			return of
		}
		if files = append(files, plain.Quote(t.real.path)); d != nil {
			continue
		}
		d, of.Reason = of, t.r.Target.By
		d.Next = "leave these files out, or ask the user to run it"
		if rule, ok := t.suggestion(t.real.path); ok {
			d.Next += " or to add allow rules such as " + rule + " to " + c.file()
		}
	}
	if d == nil {
		return nil
	}
	if more := len(files) - maxFiles; more > 0 {
		files = append(files[:maxFiles], strconv.Itoa(more)+" more")
	}
	d.Reason += " would change " + listed(files) + "; protected names decide what programs run or trust"
	return d
}

// maxFiles is the number of files that a reason names.
const maxFiles = 10

// listed joins texts as in "a, b and c".
func listed(texts []string) string {
	last := len(texts) - 1
	if last == 0 {
		return texts[0]
	}
	return strings.Join(texts[:last], ", ") + " and " + texts[last]
}

// inputConcern reports whether there is a concern about a file that a redirect reads.
func (c *call) inputConcern() bool {
	return slices.ContainsFunc(c.r.Parts.Inputs, func(i int) bool {
		t := c.targets[i]
		return t.real.path == "" || t.written() == "" || t.namedConcern() != nil
	})
}

// guarded reports whether the call would change a file with a protected name.
func (c *call) guarded() bool {
	if c.r.Parts == nil {
		return c.r.Target != nil && c.protected() != ""
	}
	return !c.r.Parts.Harmless && slices.ContainsFunc(c.targets, func(t *call) bool { return t.protected() != "" })
}

// namedConcern returns the concern about a file that a command names, or nil. An allow
// rule that opens the path to the file tools removes the concern.
func (c *call) namedConcern() *Decision {
	d := c.closedConcern()
	if d == nil {
		return nil
	}
	may, _ := c.must()
	if c.p.lists[Allow].opening(c, may).rule != nil {
		return nil
	}
	return d
}

// closedConcern is namedConcern without regard to rules.
func (c *call) closedConcern() *Decision {
	path := c.real.path
	if c.plainDevice() {
		return nil
	}
	if path, kernel := c.inKernel(); kernel {
		d := c.inKernelFolder(path)
		return &d
	}
	if c.r.Target.Access == Read && within(systemFolders, path) != "" {
		return nil
	}
	return c.pathConcern()
}

// plainDevice reports whether the path is a device without side effects. It also
// checks the path as written, because /dev/stdin links to whatever this server reads
// as its input.
func (c *call) plainDevice() bool {
	return slices.ContainsFunc([]string{c.real.path, c.written()}, func(p string) bool { return plainDevices[p] || paths.Holds("/dev/fd", p) })
}

// onlyEdits reports whether the call only changes files, all of them where calls may
// write and none of them protected.
func (c *call) onlyEdits() bool {
	if c.r.Parts == nil {
		return c.r.Target != nil && c.r.Target.Access == Edit && c.pathConcern() == nil
	}
	if !c.r.Parts.Edits || c.r.Parts.Unresolved != "" {
		return false
	}
	changes := false
	for _, t := range c.targets {
		if t.real.path == "" || t.written() == "" || t.namedConcern() != nil {
			return false
		}
		changes = changes || t.r.Target.Access == Edit
	}
	return changes
}

func (c *call) byTool() Decision {
	d := *c.r.Own
	d.Layer = LayerTool
	if d.Suggest && c.r.Parts != nil {
		d.Next += c.suggested()
	}
	return d
}

func (c *call) byHook() Decision {
	o := c.r.Hook
	d := Decision{Behavior: o.Behavior, Layer: LayerHook, Reason: "a hook decided " + o.Behavior.String()}
	if o.By != "" {
		d.Reason = fmt.Sprintf("the hook %s decided %s", o.By, o.Behavior)
	}
	switch {
	case strings.HasPrefix(o.Reason, "the hook "):
		d.Reason = o.Reason // the reason names the hook already
	case o.Reason != "":
		d.Reason += ": " + o.Reason
	}
	switch {
	case o.Behavior == Allow:
	case o.Next != "":
		d.Next = o.Next
	default:
		d.Next = "do what the hook asks for, or ask the user to change the hook"
	}
	return d
}

// wrote returns the user's own words about a decline, as a part of a sentence.
func (r *Request) wrote() string {
	if r.Wrote == "" {
		return ""
	}
	return " and wrote: " + strconv.Quote(plain.Text(r.Wrote))
}

// Refused returns the decision on a call that the user declined. Its text never
// suggests another way to do the call.
func (r *Request) Refused() Decision {
	what, other := "this call", "do not try to do the same another way"
	switch {
	case r.Parts != nil:
		what = "this command"
	case r.Site != nil:
		what, other = "reaching "+plain.Quote(r.Site.String()), "do not try to reach it another way"
	case r.Target != nil:
		verb := map[Access]string{Read: "reading", Edit: "changing"}[r.Target.Access]
		what, other = verb+" "+plain.Quote(r.Target.Canonical), "do not try to reach it another way"
	}
	return Decision{
		Layer: LayerApproval, Reason: "the user declined " + what + r.wrote(),
		Next: other + "; continue without it or ask the user what to do",
	}
}

func (c *call) acceptedEdits() Decision {
	return Decision{Behavior: Allow, Layer: LayerMode, Reason: "the mode acceptEdits allows changes of files in the workspace"}
}

func (c *call) bypassed() Decision {
	return Decision{Behavior: Allow, Layer: LayerMode, Reason: "the mode bypassPermissions allows what no rule denies or asks about"}
}

func (c *call) planned() Decision {
	d := Decision{
		Layer: LayerMode, Reason: "plan mode is on: only read-only calls run, and this call may change something",
		Next: "explore, then present a plan; the user ends plan mode",
	}
	if c.p.planned {
		d.Next = "explore, then present the plan with ExitPlanMode; the user decides on it"
	}
	return d
}

// ruleFor returns the next step by which the user can permanently allow changes of
// path.
func (c *call) ruleFor(path string) string {
	if rule, ok := c.suggestion(path); ok {
		return "use another file, or ask the user to add an allow rule such as " + rule + " to " + c.file()
	}
	return "use another file, or ask the user to change it"
}

// ruleForPart returns the next step by which the user can permanently allow a part. It
// suggests a rule only if the rule covers exactly the text of the part.
func (c *call) ruleForPart(p *Part) string {
	rule := c.r.Tool + "(" + p.Text + ")"
	if !p.Allowable || p.Inner || strings.Contains(p.Text, "*") || rule != plain.Quote(rule) || c.broadPart(p) {
		return "do it another way; the user has to approve this one"
	}
	return "do it another way, or ask the user to add an allow rule such as " + rule + " to " + c.file()
}
