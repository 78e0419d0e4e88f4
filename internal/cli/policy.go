package cli

import (
	"github.com/spf13/cobra"

	"mcp-toolset/internal/settings"
)

func policyCommand(host *Host) *cobra.Command {
	return group(&cobra.Command{
		Use:   "policy",
		Short: "Show the decisions of the rules, and check the rules for errors",
		Long:  "Shows what rules and tools decide on calls, without running any, compares that with a table of expected decisions, checks settings, and prints their JSON schema.",
	}, explainCommand(host), checkCommand(host), testCommand(host), schemaCommand(host))
}

func schemaCommand(host *Host) *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON schema of the settings, for editors",
		Long:  "Prints the JSON schema of settings files. Save it, and name the file in the key $schema: editors then complete and check the keys.",
		Example: `  mcp-toolset policy schema > settings.schema.json
  {"$schema": "./settings.schema.json", "permissions": {"defaultMode": "plan"}}`,
		Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := host.Out.Write(settings.Schema())
			return err
		},
	}
}
