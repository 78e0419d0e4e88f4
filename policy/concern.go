package policy

import "fmt"

// This file is about calls that no rule decides: what speaks against doing them
// unasked, and how that is worded.

// systemFolders hold programs and what comes with them. A command may name what
// is there to read; that is the same on any such system.
var systemFolders = folders([]string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/opt", "/nix/store"})

// plainDevices are what commands read from and write to without any effect.
var plainDevices = map[string]bool{
	"/dev/null": true, "/dev/zero": true, "/dev/full": true, "/dev/random": true, "/dev/urandom": true,
	"/dev/stdin": true, "/dev/stdout": true, "/dev/stderr": true, "/dev/tty": true,
}

// concern is why a person is asked about the call; nil if nothing speaks
// against it.
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
	if c.r.Own != nil && c.r.Own.Behavior == Ask {
		d := c.byTool()
		return &d
	}
	return nil
}

// pathConcern is the concern about the call's path.
func (c *call) pathConcern() *Decision {
	if _, kernel := c.inKernel(); !kernel && !c.confined() {
		d := c.outside()
		return &d
	}
	if name := c.protected(); name != "" {
		return &Decision{
			Layer: LayerPath, Reason: c.by(c.real.path, "is under the protected name "+show(name)+", by which programs run something or are told whom to trust"),
			Next: c.ruleFor(c.real.path),
		}
	}
	return nil
}

// partsUnknown reports whether the call may have parts that a rule could cover
// and that are not known.
func (c *call) partsUnknown() bool {
	parts := c.r.Parts
	return parts != nil && parts.Unresolved != "" && !(parts.Harmless && !c.p.lists[Deny].onCommands() && !c.p.lists[Ask].onCommands())
}

func (c *call) partsConcern() *Decision {
	for _, t := range c.targets {
		if c.r.Parts.Harmless && t.r.Target.Access == Edit {
			continue
		}
		if t.real.path == "" || t.written() == "" {
			d := t.unresolved()
			return &d
		}
		if d := t.namedConcern(); d != nil {
			return d
		}
	}
	for i := range c.r.Parts.List {
		if p := &c.r.Parts.List[i]; p.Risk != "" {
			return &Decision{
				Layer: LayerDefault, Reason: fmt.Sprintf("%s is not done unasked: %s", show(p.Text), p.Risk),
				Next: "a person can allow it by a rule such as " + show(c.r.Tool+"("+p.Text+")") + " in " + c.file(),
			}
		}
	}
	return nil
}

// namedConcern is the concern about a file that a command names.
func (c *call) namedConcern() *Decision {
	path := c.real.path
	if plainDevices[path] || holds("/dev/fd", path) {
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

// onlyEdits reports whether the call only changes files where calls may, none of
// them protected.
func (c *call) onlyEdits() bool {
	if c.r.Parts == nil {
		return c.r.Target != nil && c.r.Target.Access == Edit && c.pathConcern() == nil
	}
	if !c.r.Parts.Edits || c.r.Parts.Unresolved != "" {
		return false
	}
	for _, t := range c.targets {
		if t.real.path == "" || t.written() == "" || t.namedConcern() != nil {
			return false
		}
	}
	return true
}

func (c *call) byTool() Decision {
	d := *c.r.Own
	d.Layer = LayerTool
	return d
}

func (c *call) byHook() Decision {
	o := c.r.Hook
	d := Decision{Behavior: o.Behavior, Layer: LayerHook, Reason: "a hook says " + o.Behavior.String()}
	if o.By != "" {
		d.Reason = fmt.Sprintf("the hook %s says %s", o.By, o.Behavior)
	}
	if o.Reason != "" {
		d.Reason += ": " + o.Reason
	}
	switch {
	case o.Behavior == Allow:
	case o.Next != "":
		d.Next = o.Next
	default:
		d.Next = "do as the hook says, or have a person change the hook"
	}
	return d
}

func (c *call) declined() Decision {
	return Decision{
		Layer: LayerApproval, Reason: "a person declined this",
		Next: "do it another way; a person finds what was declined, and lifts it, with mcp-toolset approvals",
	}
}

func (c *call) planned() Decision {
	return Decision{
		Layer: LayerMode, Reason: "in the mode plan only what reads is done, and this call may change something",
		Next: "look at what is there and say what you would do; a person ends the mode",
	}
}

func (c *call) unknownParts() Decision {
	return Decision{
		Behavior: Ask, Layer: LayerDefault, Reason: "not every command in it is known: " + show(c.r.Parts.Unresolved),
		Next: "write the commands out, one after the other",
	}
}

// ruleFor is how a person can allow changes of a path for good.
func (c *call) ruleFor(path string) string {
	if rule, ok := c.suggestion(path); ok {
		return "use another file, or have a person add an allow rule such as " + rule + " to " + c.file()
	}
	return "use another file, or have a person do it"
}
