package cli

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/spf13/cobra"

	"mcp-toolset/internal/consent/approval"
	"mcp-toolset/internal/consent/question"
	"mcp-toolset/internal/exec/command"
	"mcp-toolset/internal/file/workspace"
	"mcp-toolset/internal/record/state"
	"mcp-toolset/internal/text/plain"
)

// approvalsFolder returns the state folder for the commands that handle approvals. It fails if this
// process is a command of a tool, which command.Marker in the environment shows: approvals belong
// to the user. Package approval guards against commands that unset the variable.
func approvalsFolder(host *Host) (string, error) {
	if host.Getenv(command.Marker) != "" {
		return "", fmt.Errorf("this runs as a command of a tool (%s is set); only the user can approve calls, in a terminal of their own", command.Marker)
	}
	dir, err := state.Dir(host.Getenv, host.Home)
	if err != nil {
		return "", err
	}
	// Use the same spelling as the server: the length of a socket path is limited.
	folder, err := workspace.Canonical(dir)
	if err != nil {
		return "", fmt.Errorf("resolving the state folder: %w", err)
	}
	return folder, nil
}

// approvalNumber parses the number of an approval.
func approvalNumber(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return 0, usagef("%q is no number of an approval; `mcp-toolset approvals` has the numbers", text)
	}
	return n, nil
}

// oneNumber checks that the only argument of a command is the number of an approval.
func oneNumber(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return usagef("%s takes the number of an approval; `mcp-toolset approvals` has the numbers", cmd.Name())
	}
	_, err := approvalNumber(args[0])
	return err
}

func approvalsCommand(host *Host) *cobra.Command {
	var lift, forget int
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "approvals [flags] [N]",
		Short: "Show the calls that wait for the user, and earlier decisions",
		Long: "Shows the calls that wait for the user in all their servers, the calls that the user declined, and those that are always allowed.\n" +
			"The list has one line for each. With N it shows that approval alone: a change of a file as a diff of up to 40 lines, any other call with all of its input.\n\n" +
			"With --json it prints one JSON object with: servers, approvals, declined, always, and problems in words.",
		Example: "  mcp-toolset approvals 7\n  mcp-toolset approvals --lift 7",
		Args: func(cmd *cobra.Command, args []string) error {
			changes := 0
			for _, flag := range []string{"lift", "forget"} {
				if cmd.Flags().Changed(flag) {
					changes++
				}
			}
			switch {
			case len(args) > 1, changes > 1, changes == 1 && (len(args) > 0 || asJSON):
				return usagef("approvals takes one of N, --lift N and --forget N")
			case len(args) == 1:
				_, err := approvalNumber(args[0])
				return err
			}
			return nil
		},
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			folder, err := approvalsFolder(host)
			switch {
			case err != nil:
				return err
			case cmd.Flags().Changed("lift"):
				return liftDeclined(cmd.Context(), host.Out, folder, lift)
			case cmd.Flags().Changed("forget"):
				return forgetAlways(host.Out, folder, forget)
			}
			number := 0
			if len(args) == 1 {
				number, _ = strconv.Atoi(args[0])
			}
			return showApprovals(cmd.Context(), screenOf(host, host.Out), folder, number, asJSON)
		},
	}
	own := flagSection{cmd, ""}
	own.number(&lift, "lift", 0, 1, "lift the decline with number `N`")
	own.number(&forget, "forget", 0, 1, "remove the permanent approval with number `N`")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object, for programs")
	return cmd
}

func approveCommand(host *Host) *cobra.Command {
	var always bool
	cmd := &cobra.Command{
		Use:   "approve N",
		Short: "Approve a call that waits for the user: it runs once",
		Long: "Approves the call with number N, which `mcp-toolset approvals N` shows. It runs once, when the model sends it again.\n" +
			"The approval of a web page also allows further calls to its host and port in that session.\n" +
			"With --always exactly the command, path, host or input that is shown there is always allowed in that workspace, for that tool and in all servers.",
		Example:           "  mcp-toolset approve 7",
		Args:              oneNumber,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			folder, err := approvalsFolder(host)
			if err != nil {
				return err
			}
			number, _ := strconv.Atoi(args[0])
			item, err := approval.Approve(cmd.Context(), folder, number, always)
			if err != nil {
				return shownError(err)
			}
			text := fmt.Sprintf("Approved %d: %s. The same call, sent again in the next %v minutes, runs once.\n", number, approval.CallText(item), approval.GrantedFor.Minutes())
			if further := approval.FurtherText(item); further != "" {
				text += "Also allowed: " + further + ".\n"
			}
			if always {
				text += fmt.Sprintf("Always allowed: %s, in the workspace %s.", approval.SubjectText(item.Tool, item.Subject), plain.Text(item.Root))
				if e, ok := approval.EntryOf(folder, item); ok {
					text += fmt.Sprintf(" `mcp-toolset approvals --forget %d` takes it back.", e.Number)
				}
				text += "\n"
			}
			return say(host.Out, text)
		},
	}
	cmd.Flags().BoolVar(&always, "always", false, "always allow exactly this command, path, host or input")
	return cmd
}

func denyCommand(host *Host) *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use:   "deny N",
		Short: "Decline a call that waits for the user",
		Long: "Declines the call with number N, and the same command, path, host or input for the rest of that conversation.\n" +
			"It also takes back an approval that was not used yet. `mcp-toolset approvals --lift N` lifts a decline.",
		Example:           "  mcp-toolset deny 7\n  mcp-toolset deny 7 --reason \"use pnpm\"",
		Args:              oneNumber,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			folder, err := approvalsFolder(host)
			if err != nil {
				return err
			}
			number, _ := strconv.Atoi(args[0])
			item, err := approval.Deny(cmd.Context(), folder, number, reason)
			if err != nil {
				return shownError(err)
			}
			return say(host.Out, fmt.Sprintf("Declined %d: %s.\n", number, approval.CallText(item)))
		},
	}
	flagSection{cmd, ""}.text(&reason, "reason", "", "give the model this `TEXT` as the reason")
	return cmd
}

func answerCommand(host *Host) *cobra.Command {
	return &cobra.Command{
		Use:   "answer N [ANSWER ...]",
		Short: "Answer a question that waits for the user",
		Long: "Answers the questions with number N, which `mcp-toolset approvals N` shows: one ANSWER for each question.\n" +
			"An ANSWER is the number or label of an option, several with commas between them where the question allows it, other words, or - for none.\n" +
			"Without an ANSWER it shows the questions and reads a line for each from the standard input. `mcp-toolset deny N` declines to answer.",
		Example: "  mcp-toolset answer 7 2\n  mcp-toolset answer 7 1,3 \"as in the last release\"",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("answer takes the number of a question; `mcp-toolset approvals` has the numbers")
			}
			_, err := approvalNumber(args[0])
			return err
		},
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			folder, err := approvalsFolder(host)
			if err != nil {
				return err
			}
			number, _ := strconv.Atoi(args[0])
			var text string
			_, err = approval.Reply(cmd.Context(), folder, number, func(questions []question.Question) (question.Reply, error) {
				texts := args[1:]
				if len(texts) == 0 {
					texts, err = readAnswers(host, questions)
				}
				if err != nil {
					return question.Reply{}, err
				}
				answers, err := question.Parse(questions, texts)
				if err != nil {
					return question.Reply{}, usagef("%v; `mcp-toolset approvals %d` shows the questions", err, number)
				}
				reply := question.Reply{Answers: answers}
				text = fmt.Sprintf("Answered %d:\n%s\n", number, plain.Lines(reply.Lines(questions)))
				return reply, nil
			})
			var usage usageError
			switch {
			case errors.As(err, &usage):
				return err
			case err != nil:
				return shownError(err)
			}
			return say(host.Out, text)
		},
	}
}

// readAnswers shows questions and reads a line for each.
func readAnswers(host *Host, questions []question.Question) ([]string, error) {
	if err := say(host.Out, question.Text(questions)); err != nil {
		return nil, err
	}
	var texts []string
	in := bufio.NewScanner(host.In)
	for i := range questions {
		if err := say(host.Out, fmt.Sprintf("Answer %d: ", i+1)); err != nil {
			return nil, err
		}
		if !in.Scan() {
			_ = say(host.Out, "\n")
			return nil, errors.Join(in.Err(), fmt.Errorf("the input ended before answer %d; nothing was answered", i+1))
		}
		texts = append(texts, in.Text())
	}
	return texts, nil
}

func liftDeclined(ctx context.Context, out io.Writer, folder string, number int) error {
	d, err := approval.Lift(ctx, folder, number)
	if err != nil {
		return shownError(err)
	}
	return say(out, fmt.Sprintf("No longer declined: %s.\n", approval.SubjectText(d.Tool, d.Subject)))
}

func forgetAlways(out io.Writer, folder string, number int) error {
	e, err := approval.ForgetEntry(folder, number)
	if err != nil {
		return shownError(err)
	}
	return say(out, fmt.Sprintf("No longer allowed: %s.\n", approval.SubjectText(e.Tool, e.Subject)))
}

func showApprovals(ctx context.Context, c screen, folder string, number int, asJSON bool) error {
	o, err := approval.List(ctx, folder, number)
	if err != nil {
		return shownError(err)
	}
	shown := approvalList{Overview: o, whole: number != 0, screen: c}
	if number == 0 {
		var problem error
		if shown.always, problem = approval.Entries(folder); problem != nil {
			shown.Silent = append(shown.Silent, "nothing is always allowed: "+problem.Error())
		}
	} else {
		shown.Declined = nil
	}
	var b bytes.Buffer
	if asJSON {
		err = shown.json(&b)
	} else {
		shown.text(&b)
	}
	if err != nil {
		return fmt.Errorf("printing: %w", err)
	}
	return say(c.out, b.String())
}

func say(out io.Writer, text string) error {
	if _, err := io.WriteString(out, text); err != nil {
		return fmt.Errorf("printing: %w", err)
	}
	return nil
}

// shownError returns err, which a server worded, with its text made safe to show.
func shownError(err error) error { return errors.New(plain.Text(err.Error())) }
