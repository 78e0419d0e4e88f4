package cli

import "github.com/spf13/cobra"

func policyCommand(host *Host) *cobra.Command {
	return group(&cobra.Command{
		Use:   "policy",
		Short: "Show the decisions of the rules, and check the rules for errors",
		Long:  "Shows what rules and tools decide on calls, without running any, compares that with a table of expected decisions, and checks settings.",
	}, explainCommand(host), checkCommand(host), testCommand(host))
}
