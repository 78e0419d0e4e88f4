package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"

	"github.com/spf13/cobra"

	"mcp-toolset/internal/assembly"
	"mcp-toolset/internal/text/plain"
	"mcp-toolset/skills"
)

func skillsCommand(host *Host) *cobra.Command {
	var c common
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "skills [flags] [DIR ...]",
		Short: "List and check the skills and agent files that a server would use",
		Long: "Lists the skills of the machine, of --skills DIR, of the user and of the trusted projects in DIR ..., then faults of files: " +
			"\"error\" is not used, \"note\" is used, or gives way to another of its name.\n\n" +
			"Exit status: 0 if all files can be used, 1 if not, 2 for a wrong command line.",
		Example:           "  mcp-toolset skills\n  mcp-toolset skills --skills ./drafts ~/src/app",
		ValidArgsFunction: completeDirs,
		RunE: func(_ *cobra.Command, args []string) error {
			plan, err := c.plan(host, args, slog.New(slog.DiscardHandler))
			if err != nil {
				return err
			}
			l := listSkills(plan)
			if asJSON {
				enc := json.NewEncoder(host.Out)
				enc.SetEscapeHTML(false)
				enc.SetIndent("", "  ")
				err = enc.Encode(l)
			} else {
				err = l.print(host.Out, screenOf(host, host.Out))
			}
			if err == nil && l.errors() > 0 {
				return failedResult{}
			}
			return err
		},
	}
	c.add(cmd, host, inWorkspace)
	flagSection{cmd, ""}.on(&asJSON, "json", "print one JSON object, for programs")
	return cmd
}

// skillList holds the skills of a server. Its JSON is for programs; keys are only added.
type skillList struct {
	Skills    []listedSkill `json:"skills"`
	Profiles  []string      `json:"profiles"`
	Issues    []skillIssue  `json:"issues"`
	Untrusted []string      `json:"untrusted"` // projects whose skills and agent files are not used
}

type listedSkill struct {
	Name        string   `json:"name"`
	Layer       string   `json:"layer"`
	Dir         string   `json:"dir"`
	Description string   `json:"description"`
	Paths       []string `json:"paths,omitempty"`
	Extension   bool     `json:"extension"` // whether skills/list has it
}

type skillIssue struct {
	Path  string `json:"path"`
	Line  int    `json:"line,omitempty"`
	Text  string `json:"text"`
	Error bool   `json:"error"` // whether the file is not used because of it
	text  string
}

func listSkills(plan *assembly.Plan) *skillList {
	l := &skillList{Skills: []listedSkill{}, Profiles: []string{}, Issues: []skillIssue{}, Untrusted: []string{}}
	set := skills.Scan(plan.SkillSources(), plan.DeniedSkill(plan.Settings))
	for _, k := range set.Skills {
		l.Skills = append(l.Skills, listedSkill{k.Name, k.Layer, plain.Text(k.Dir), k.Description, k.Paths, k.Served()})
	}
	profiles, issues := plan.FindProfiles()
	for _, p := range profiles {
		l.Profiles = append(l.Profiles, p.Name)
	}
	for _, i := range append(set.Issues, issues...) {
		l.Issues = append(l.Issues, skillIssue{i.Path, i.Line, plain.Text(i.Text), !i.Loaded, i.String()})
	}
	for _, root := range plan.Untrusted() {
		l.Untrusted = append(l.Untrusted, plain.Text(root))
	}
	return l
}

func (l *skillList) errors() (n int) {
	for _, i := range l.Issues {
		if i.Error {
			n++
		}
	}
	return n
}

func (l *skillList) print(out io.Writer, c screen) error {
	w := new(bytes.Buffer)
	list := table{cut: []int{3}}
	list.row("SKILL", "OF", "FOLDER", "DESCRIPTION")
	for _, k := range l.Skills {
		list.row(k.Name, k.Layer, k.Dir, plain.Cut(k.Description, 200))
	}
	if len(l.Skills) > 0 {
		list.write(w, c)
	} else {
		fmt.Fprintln(w, "there is no skill; see docs/skills.md for the folders")
	}
	for _, i := range l.Issues {
		kind := "note"
		if i.Error {
			kind = "error"
		}
		fmt.Fprintf(w, "%s: %s\n", kind, i.text)
	}
	for _, root := range l.Untrusted {
		fmt.Fprintf(w, "not trusted, so that its skills and agent files are not used: %s; mcp-toolset trust %s shows them\n", root, root)
	}
	_, err := w.WriteTo(out)
	return err
}
