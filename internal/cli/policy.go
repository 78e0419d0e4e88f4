package cli

import "github.com/spf13/cobra"

func policyCommand(host *Host) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "policy",
		Short: "Show what the rules decide, and what is wrong with them",
		Long:  "Shows what rules and tools decide on calls, without running any, holds that to what is expected, and says what is wrong with settings.",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			return unknownCommand(cmd, args[0])
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(explainCommand(host), checkCommand(host), testCommand(host))
	return cmd
}
