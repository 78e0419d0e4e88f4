package cli

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// The sections of a command's help, in the order of output. Flags without a section are the
// command's own and come first.
const (
	inWorkspace   = "Workspace"
	inPermissions = "Permissions"
	inSandbox     = "Sandbox"
	inSearch      = "Search"
	inCalls       = "Calls"
	inOutput      = "Output"
	inHTTP        = "HTTP"
	inAudit       = "Audit"
	inDebug       = "Debug"
)

var sections = []string{"", inWorkspace, inPermissions, inSandbox, inSearch, inCalls, inOutput, inHTTP, inAudit, inDebug}

// sectionKey is the annotation that holds the section of a flag.
const sectionKey = "section"

// flagSection defines flags in one section of a command's help. It defines each flag in one place:
// name, value, usage and completion.
type flagSection struct {
	cmd   *cobra.Command
	title string // one of sections
}

// add puts a defined flag into the section.
func (s flagSection) add(name string) {
	s.cmd.Flags().Lookup(name).Annotations = map[string][]string{sectionKey: {s.title}}
}

func (s flagSection) text(to *string, name, def, usage string) {
	s.cmd.Flags().StringVar(to, name, def, usage)
	s.add(name)
}

func (s flagSection) list(to *[]string, name, usage string) {
	s.cmd.Flags().StringArrayVar(to, name, nil, usage)
	s.add(name)
}

func (s flagSection) on(to *bool, name, usage string) {
	s.cmd.Flags().BoolVar(to, name, false, usage)
	s.add(name)
}

func (s flagSection) choice(to *string, name, def string, of []string, usage string) {
	*to = def
	s.cmd.Flags().Var(&choice{to, of, def == ""}, name, usage)
	s.add(name)
	complete(s.cmd, name, of, cobra.ShellCompDirectiveNoFileComp)
}

func (s flagSection) number(to *int, name string, def, least int, usage string) {
	*to = def
	s.cmd.Flags().Var(&number{to, least}, name, usage)
	s.add(name)
}

func (s flagSection) duration(to *time.Duration, name string, def time.Duration, usage string) {
	*to = def
	s.cmd.Flags().Var(&duration{to}, name, usage)
	s.add(name)
}

// choice is a flag whose value is one of a few words, case-insensitively.
type choice struct {
	to       *string
	of       []string
	optional bool // whether "" is allowed, which leaves the choice to the settings
}

func (c *choice) String() string { return *c.to }
func (c *choice) Type() string   { return "string" }

// Set implements pflag.Value. The texts of its errors continue "--flag is".
func (c *choice) Set(text string) error {
	if text == "" && c.optional {
		*c.to = ""
		return nil
	}
	at := slices.IndexFunc(c.of, func(word string) bool { return strings.EqualFold(word, text) })
	if at < 0 {
		return fmt.Errorf("%q; use %s", text, oneOf(c.of))
	}
	*c.to = c.of[at]
	return nil
}

// number is a flag whose value is a whole number.
type number struct {
	to    *int
	least int
}

// unset is the shown default of a number whose default is below the least. Users cannot give it.
const unset = "unset"

func (n *number) String() string {
	if *n.to < n.least {
		return unset
	}
	return strconv.Itoa(*n.to)
}

func (n *number) Type() string { return "int" }

// Set implements pflag.Value; see choice.Set.
func (n *number) Set(text string) error {
	value, err := strconv.Atoi(text)
	switch {
	case err != nil:
		return fmt.Errorf("%q; use a number", text)
	case value < n.least:
		return fmt.Errorf("%d; the least is %d", value, n.least)
	}
	*n.to = value
	return nil
}

// duration is a flag whose value is a time that is not negative.
type duration struct{ to *time.Duration }

func (d *duration) String() string { return shortDuration(*d.to) }
func (d *duration) Type() string   { return "duration" }

// Set implements pflag.Value; see choice.Set.
func (d *duration) Set(text string) error {
	value, err := time.ParseDuration(text)
	switch {
	case err != nil:
		return fmt.Errorf("%q; use a time such as 90s or 5m", text)
	case value < 0:
		return fmt.Errorf("%v; it cannot be negative", value)
	}
	*d.to = value
	return nil
}

// shortDuration formats a duration as users write it, without zero parts.
func shortDuration(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// oneOf lists words, with "or" before the last.
func oneOf(words []string) string {
	last := len(words) - 1
	if last < 1 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// valueError returns the error for an invalid value of a flag.
func valueError(err *pflag.InvalidValueError) error {
	flag := err.GetFlag()
	if flag.Value.Type() == "bool" { // the type is pflag's own
		return usagef("--%s is %q; use true or false", flag.Name, err.GetValue())
	}
	return usagef("--%s is %w", flag.Name, err.Unwrap())
}
