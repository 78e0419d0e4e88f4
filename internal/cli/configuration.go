package cli

import (
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"mcp-toolset/tools/config"
)

// hiddenFlags lists flags whose values are the places of secrets.
var hiddenFlags = []string{"tls-key", "token-file"}

// consoleVariables lists variables that have no effect on a server.
var consoleVariables = []string{"NO_COLOR", "TERM"}

// flagDefaults holds defaults that the flags themselves leave to the settings or the system.
var flagDefaults = map[string]string{"mode": "default", "shell": "bash, else sh"}

// configuration returns the flags of a server and the environment variables that are set, for the
// tool Config. roots are the folders that it serves.
func (c *common) configuration(host *Host, roots []string) []config.Setting {
	var out []config.Setting
	if c.flags == nil {
		return nil
	}
	c.flags.VisitAll(func(f *pflag.Flag) {
		if section := f.Annotations[sectionKey]; len(section) == 0 || section[0] == "" || f.Name == "feature" {
			return
		}
		metavar, usage := pflag.UnquoteUsage(f)
		s := config.Setting{Name: "--" + f.Name, Meaning: usage, Default: flagDefaults[f.Name], Change: strings.TrimSuffix("To change it, the user starts the server with --"+f.Name+" "+metavar, " ") + "."}
		if def := f.DefValue; s.Default == "" && def != "[]" && def != unset {
			s.Default = map[string]string{"false": "off"}[def]
			if s.Default == "" {
				s.Default = def
			}
		}
		value := f.Value.String()
		if slices.Contains(hiddenFlags, f.Name) {
			value = ""
		}
		switch from := variableOf(f.Name); {
		case f.Name == "root":
			for _, dir := range roots {
				s.Values = append(s.Values, config.Value{Text: dir, Source: c.rootsFrom})
			}
		case f.Changed:
			if list, ok := f.Value.(pflag.SliceValue); ok {
				value = strings.Join(list.GetSlice(), ", ")
			}
			s.Values = []config.Value{{Text: value, Source: config.FromFlag}}
		case from != "" && host.Getenv(from) != "" && host.Getenv(from) == value:
			s.Values = []config.Value{{Text: value, Source: "environment, " + from}}
		}
		out = append(out, s)
	})
	for _, v := range environment {
		value := host.Getenv(v.name)
		if value == "" || v.flag != "" || slices.Contains(consoleVariables, v.name) {
			continue
		}
		if _, err := strconv.Atoi(value); !v.number || err != nil {
			value = ""
		}
		out = append(out, config.Setting{
			Name: v.name, Meaning: v.meaning, Values: []config.Value{{Text: value, Source: "environment"}},
			Change: "To change it, the user starts the server with another value of this environment variable, or without it.",
		})
	}
	return out
}

// variableOf returns the environment variable that holds the default of a flag, or "".
func variableOf(flag string) string {
	for _, v := range environment {
		if v.flag == flag {
			return v.name
		}
	}
	return ""
}
