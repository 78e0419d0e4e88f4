package policy

import (
	"slices"
	"strings"
)

// Parts are what a call consists of that does several things at once: the
// simple commands of a shell command, and the files they name.
type Parts struct {
	List []Part
	// Unresolved is why List may not have all; "" if it has. Such a call is asked
	// about at least, whatever allows it.
	Unresolved string
	// Doubtful is why List may not have all that programs are told to run by what
	// is only known when they run. Such a call is asked about where there are rules
	// on commands that deny or ask; "" if it has.
	Doubtful string
	// Unnamed is why Targets may not include all files that the text names, where no
	// containment keeps commands from the others. Such a call is asked about where
	// there are rules on paths that deny or ask; "" if they do.
	Unnamed string
	// Targets are the files that are named, whoever names them.
	Targets []Target
	// Inputs are the indexes of Targets that a redirect reads. The text of a
	// command does not have them, so a rule that allows the command does not open
	// them.
	Inputs []int
	// Readable and Writable are folders beyond the roots that the call may read,
	// or read and write, unasked: absolute, canonical.
	Readable, Writable []string
	// Edits says that the call does nothing but make, remove or move Targets.
	Edits bool
	// Harmless says that the kernel keeps the call from changing anything,
	// whatever its parts are.
	Harmless bool
}

// Part is one simple command.
type Part struct {
	Text string // its words joined by one blank, unquoted
	Name string // Text with the name of the program in place of its path
	// Forms are other spellings of Text, such as without flags ahead of a
	// subcommand. Rules that deny or ask cover them too.
	Forms []Form
	// Allowable says that a rule may allow it as it stands; one that denies or
	// asks covers it in any case.
	Allowable bool
	Inner     bool // it is what an earlier part runs, which a rule allows together
	ReadOnly  bool // it only reads
	// Sure is what Text begins with for certain, where the rest is only known
	// when it runs; "": Text is all there is. Name begins as surely.
	Sure string
	// Blind says that it changes files which are only known when it runs.
	Blind bool
	// Caseless reports whether the shell ignores case: rules that deny or ask then
	// ignore it too, rules that allow do not.
	Caseless bool
	// Risk is why it is not done unasked, as a clause: it destroys, or it shows
	// secrets. "": nothing is known of that.
	Risk string
}

// Form is a spelling of a Part.
type Form struct {
	Text string
	Sure string // as Part.Sure
}

// uncertain reports whether the end of a spelling is only known when it runs.
func (p *Part) uncertain() bool {
	return p.Sure != "" || slices.ContainsFunc(p.Forms, func(f Form) bool { return f.Sure != "" })
}

// commandTools run shell commands: a rule on the first covers all of them.
var commandTools = []string{"Bash", "BashReadOnly"}

// otherShell runs commands of another shell. Rules on the first of commandTools
// that deny or ask cover it too; those that allow do not, since the same text may
// do something else there.
const otherShell = "PowerShell"

func isOtherShell(name string) bool { return name == otherShell }

func isCommandTool(name string) bool { return slices.Contains(commandTools, name) }

// commandPattern is the pattern of a rule on commands: * stands for any
// characters, and a blank or colon before a last one is the boundary of a word,
// so that "npm run *" and "npm run:*" cover "npm run" and not "npm runner".
type commandPattern struct {
	parts []string // with any characters between them
	bare  string   // covered too: the pattern without its " *"; "" is none
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

// word is the first word of every text that the pattern covers, "" if that is
// not one and the same.
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

// commandIndex is a list of rules on commands, sorted so that few of them have
// to be held against a command.
type commandIndex struct {
	byWord   map[string][]*rule // by the first word of what they cover, each in the order of the list
	byFolded map[string][]*rule // the same rules, by that word in lower case
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

// find keeps the first rule that covers a part. One that allows sees the part
// as it is written, any other the bare name of its program as well.
func (x *commandIndex) find(m *match, p *Part, b Behavior) {
	if b == Allow {
		x.search(m, p.Text)
		return
	}
	search := x.search
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

// searchCaseless is search for a text in which case does not matter.
func (x *commandIndex) searchCaseless(m *match, text string) {
	text = strings.ToLower(text)
	word, _, _ := strings.Cut(text, " ")
	covers := func(r *rule) (string, bool) { return "", r.folded.covers(text) }
	m.search(x.byFolded[word], covers)
	m.search(x.rest, covers)
}

// perhaps keeps the first rule that may cover a part whose end is not known.
func (x *commandIndex) perhaps(m *match, p *Part) {
	for i := range p.Forms {
		if sure := p.Forms[i].Sure; sure != "" {
			x.guess(m, sure, true, p.Caseless)
		}
	}
	if p.Sure == "" {
		return
	}
	x.guess(m, p.Sure, false, p.Caseless)
	if cut := len(p.Text) - len(p.Name); cut > 0 && cut <= len(p.Sure) && strings.HasSuffix(p.Text, p.Name) {
		x.guess(m, p.Sure[cut:], false, p.Caseless)
	}
}

// guess keeps the first rule that may cover a text which begins with sure. In a
// form, what follows is no flag: these were left out.
func (x *commandIndex) guess(m *match, sure string, form, caseless bool) {
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

func (x *commandIndex) search(m *match, text string) {
	word, _, _ := strings.Cut(text, " ")
	covers := func(r *rule) (string, bool) { return "", r.command.covers(text) }
	m.search(x.byWord[word], covers)
	m.search(x.rest, covers)
}
