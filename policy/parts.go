package policy

import (
	"slices"
	"strings"
)

// Parts describes a call that does several things at once: the simple commands of a
// shell text and the files they name.
type Parts struct {
	List []Part
	// Unresolved is the reason why List may be incomplete; "" if it is complete. The user
	// is asked about such a call even if a rule or hook allows it. A call that is Harmless,
	// or is made in the mode bypassPermissions, is exempt if there are no deny or ask rules
	// on commands.
	Unresolved string
	// Incomplete is the reason why List may lack commands that programs run because of data
	// only known at run time; "" if it lacks none. The user is asked about such a call if
	// there are deny or ask rules on commands.
	Incomplete string
	// Unnamed is the reason why Targets may lack files that the text names, if no sandbox
	// hides other files from the command; "" if it lacks none. The user is asked about such a
	// call if there are deny or ask rules on paths.
	Unnamed string
	// Targets lists the files that any part names.
	Targets []Target
	// Inputs holds the indexes of the Targets that a redirect reads. The text of a part does
	// not contain them, so a rule that allows the part does not open them.
	Inputs []int
	// Readable and Writable list folders outside of the roots that the call may read, or read
	// and write, without asking. They are absolute and canonical.
	Readable, Writable []string
	// Scratch lists the folders for temporary files that the call shares with the machine. It
	// may read and write there without asking if there is a preset. They are absolute and canonical.
	Scratch []string
	// Edits reports whether the call only creates, removes or moves Targets.
	Edits bool
	// Harmless reports whether the kernel prevents the call from changing anything, whatever
	// its parts are.
	Harmless bool
	// Covered reports whether all files that the call may destroy could be restored.
	Covered bool
}

// Part is one simple command.
type Part struct {
	Text string // its words without quotes, joined by one space
	Name string // Text with the program's base name in place of its path
	// Forms holds other spellings of Text, such as one without the flags before a subcommand.
	// Deny and ask rules cover them too.
	Forms []Form
	// Possible lists the commands that the part runs if its program, which is not known, is a
	// wrapper. The user is asked if a deny or ask rule covers one.
	Possible []string
	// Allowable reports whether a rule may allow the part. Deny and ask rules cover it in any
	// case.
	Allowable bool
	// Repeated reports whether a rule of a preset may allow the part, although it is not Allowable:
	// it is in a loop.
	Repeated bool
	Inner    bool // whether an earlier part runs it; a rule that allows that part allows both
	ReadOnly bool // whether it only reads
	Edits    bool // whether it only creates, removes, changes or moves files that it names
	// Reads reports whether it only reads, but for programs that settings of its program may
	// name, as those of a repository do for git. Beside a part that a rule allows, it needs no
	// rule of its own.
	Reads bool
	// Local reports whether it only talks to servers on this machine.
	Local bool
	// Outputs lists the files that its redirects write. A rule that allows the part does not
	// allow them: each needs one that covers "tee FILE".
	Outputs []string
	// KnownPrefix is the certain beginning of Text if its rest is only known at run time; "" if Text
	// is complete. The beginning of Name is as certain.
	KnownPrefix string
	// UnknownWrites reports whether the part changes files that are only known at run time.
	UnknownWrites bool
	// Caseless reports whether the shell ignores case. Deny and ask rules then ignore it too.
	// Allow rules do not.
	Caseless bool
	// Risk is the reason to ask about the part, as a clause: it destroys something or shows
	// secrets. It is "" if no risk is known.
	Risk string
	// Publishes is the kind of the part if it shows something to others, as in "git push". The
	// caller of Decide makes it a Risk if the user has not agreed to the kind in the session.
	Publishes string
	// Destroys reports whether the risk is only that files on this machine are destroyed.
	Destroys bool
}

// Form is another spelling of a Part.
type Form struct {
	Text        string
	KnownPrefix string // see Part.KnownPrefix
}

// uncertain reports whether the end of any spelling is only known at run time.
func (p *Part) uncertain() bool {
	return p.KnownPrefix != "" || slices.ContainsFunc(p.Forms, func(f Form) bool { return f.KnownPrefix != "" })
}

// commandTools lists the tools that run shell commands. A rule on the first covers all
// of them.
var commandTools = []string{"Bash", "BashReadOnly"}

// otherShell is the tool that runs commands of another shell. Deny and ask rules on
// the first of commandTools cover it too. Allow rules do not, since the same text may
// do something else in that shell.
const otherShell = "PowerShell"

func isOtherShell(name string) bool { return name == otherShell }

func isCommandTool(name string) bool { return slices.Contains(commandTools, name) }

// commandPattern is the pattern of a rule on commands. * matches any characters. A
// space or colon before a * at the end marks the end of a word, so "npm run *" and
// "npm run:*" cover "npm run" but not "npm runner".
type commandPattern struct {
	parts []string // literals, with any characters between them
	bare  string   // another text that is covered: the pattern without its " *"; "" if there is none
}

func compileCommand(pattern string) *commandPattern {
	if prefix, ok := strings.CutSuffix(pattern, ":*"); ok {
		pattern = prefix + " *"
	}
	c := &commandPattern{parts: strings.Split(pattern, "*")}
	if prefix, ok := strings.CutSuffix(pattern, " *"); ok && !strings.Contains(prefix, "*") {
		c.bare = prefix
	}
	return c
}

// word returns the first word of all texts that the pattern covers, or "" if they have
// no common first word.
func (c *commandPattern) word() string {
	word, _, whole := strings.Cut(c.parts[0], " ")
	if !whole && len(c.parts) > 1 {
		return ""
	}
	return word
}

func (c *commandPattern) covers(text string) bool {
	if c.bare != "" && text == c.bare {
		return true
	}
	if len(c.parts) == 1 {
		return text == c.parts[0]
	}
	text, ok := strings.CutPrefix(text, c.parts[0])
	if !ok {
		return false
	}
	last := len(c.parts) - 1
	for _, part := range c.parts[1:last] {
		_, rest, ok := strings.Cut(text, part)
		if !ok {
			return false
		}
		text = rest
	}
	return strings.HasSuffix(text, c.parts[last])
}

// mayCover reports whether the pattern covers some text that begins with sure.
func (c *commandPattern) mayCover(sure string) bool {
	head := c.parts[0]
	if len(sure) <= len(head) {
		return strings.HasPrefix(head, sure)
	}
	return len(c.parts) > 1 && strings.HasPrefix(sure, head)
}

// commandIndex indexes rules on commands, so that a command is compared with few of
// them.
type commandIndex struct {
	byWord   map[string][]*rule // by first word; lists are in the order of the settings
	byFolded map[string][]*rule // the same rules, by this word in lower case
	rest     []*rule
}

func (x *commandIndex) add(r *rule) {
	word := r.command.word()
	if word == "" {
		x.rest = append(x.rest, r)
		return
	}
	if x.byWord == nil {
		x.byWord, x.byFolded = map[string][]*rule{}, map[string][]*rule{}
	}
	x.byWord[word] = append(x.byWord[word], r)
	folded := r.folded.word()
	x.byFolded[folded] = append(x.byFolded[folded], r)
}

// find puts the first rule that covers a part into m. Allow rules are compared with
// the part as written. Deny and ask rules are also compared with the bare name of its
// program and its other forms.
func (x *commandIndex) find(m *match, p *Part, b Behavior) {
	if b == Allow {
		x.search(m, p, p.Text)
		return
	}
	search := func(m *match, text string) { x.search(m, p, text) }
	if p.Caseless {
		search = x.searchCaseless
	}
	search(m, p.Text)
	if p.Name != p.Text {
		search(m, p.Name)
	}
	for i := range p.Forms {
		search(m, p.Forms[i].Text)
	}
}

// searchCaseless is search without regard to case.
func (x *commandIndex) searchCaseless(m *match, text string) {
	text = strings.ToLower(text)
	word, _, _ := strings.Cut(text, " ")
	covers := func(r *rule) (string, bool) { return "", r.folded.covers(text) }
	m.search(x.byFolded[word], covers)
	m.search(x.rest, covers)
}

// findPossible puts the first rule into m that may cover a part whose end is unknown.
func (x *commandIndex) findPossible(m *match, p *Part) {
	for i := range p.Forms {
		if sure := p.Forms[i].KnownPrefix; sure != "" {
			x.findPrefix(m, sure, true, p.Caseless)
		}
	}
	if p.KnownPrefix == "" {
		return
	}
	x.findPrefix(m, p.KnownPrefix, false, p.Caseless)
	if cut := len(p.Text) - len(p.Name); cut > 0 && cut <= len(p.KnownPrefix) && strings.HasSuffix(p.Text, p.Name) {
		x.findPrefix(m, p.KnownPrefix[cut:], false, p.Caseless)
	}
}

// findPrefix puts the first rule into m that may cover a text beginning with sure. If form
// is true, the text after sure does not begin with a flag, because forms leave flags
// out.
func (x *commandIndex) findPrefix(m *match, sure string, form, caseless bool) {
	byWord, pattern := x.byWord, func(r *rule) *commandPattern { return r.command }
	if caseless {
		sure = strings.ToLower(sure)
		byWord, pattern = x.byFolded, func(r *rule) *commandPattern { return r.folded }
	}
	word, _, _ := strings.Cut(sure, " ")
	covers := func(r *rule) (string, bool) {
		c := pattern(r)
		return "", c.mayCover(sure) && !(form && strings.HasPrefix(c.parts[0], sure+"-"))
	}
	m.search(byWord[word], covers)
	m.search(x.rest, covers)
}

func (x *commandIndex) search(m *match, p *Part, text string) {
	word, _, _ := strings.Cut(text, " ")
	covers := func(r *rule) (string, bool) {
		return "", r.command.covers(text) && (r.preset == nil || !r.preset.covers(p))
	}
	m.search(x.byWord[word], covers)
	m.search(x.rest, covers)
}
