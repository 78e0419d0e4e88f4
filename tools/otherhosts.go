package tools

import (
	"fmt"
	"strings"
)

// Models call tools that they know from other hosts. Similar letters do not mean similar
// effects: TodoWrite is not Write. The advice below therefore takes the place of a
// suggestion by spelling.

// substitute is the advice for a call of another host's tool.
type substitute struct {
	tool string // tool that must be offered; "": none
	text string
}

// substitutes maps folded names to advice. The first entry whose tool is offered applies.
var substitutes = map[string][]substitute{}

// otherProperties maps folded names of properties of other hosts' tools to ours.
var otherProperties = map[string][]string{
	"cmd": {"command"}, "commandline": {"command"}, "script": {"command", "code"}, "workdir": {"path"}, "cwd": {"path"}, "directory": {"path"}, "dir": {"path"}, "dirpath": {"path"},
	"folder": {"path"}, "path": {"file_path", "notebook_path"}, "filepath": {"file_path", "notebook_path"}, "absolutepath": {"file_path"}, "filename": {"file_path"}, "file": {"file_path", "path"},
	"targetfile": {"file_path"}, "filetext": {"content"}, "contents": {"content"}, "text": {"content"}, "oldstr": {"old_string"}, "newstr": {"new_string"}, "oldtext": {"old_string"},
	"newtext": {"new_string"}, "search": {"old_string", "pattern", "query"}, "replace": {"new_string"}, "include": {"glob"}, "includepattern": {"glob"}, "query": {"pattern"}, "regex": {"pattern"},
	"startline": {"offset"}, "lineoffset": {"offset"}, "maxlines": {"limit"}, "timeoutms": {"timeout"}, "background": {"run_in_background"}, "isbackground": {"run_in_background"},
	"explanation": {"description"}, "instruction": {"description"}, "glob": {"pattern"}, "viewrange": {"offset"}, "endline": {"limit"}, "maxresults": {"head_limit"}, "maxmatches": {"head_limit"}, "totalmaxmatches": {"head_limit"},
	"casesensitive": {"-i"}, "ignorecase": {"-i"}, "caseinsensitive": {"-i"}, "allowmultiple": {"replace_all"}, "expectedreplacements": {"replace_all"}, "taskid": {"task_id", "taskId"}, "sessionid": {"task_id"}, "chars": {"text"}, "source": {"new_source"},
}

func init() {
	add := func(names string, list ...substitute) {
		for name := range strings.FieldsSeq(names) {
			substitutes[fold(name)] = list
		}
	}
	use := func(tool string) substitute { return substitute{tool, "use " + tool} }
	// run returns advice to use the tool that runs commands. The format contains its name.
	run := func(format string, otherwise ...substitute) []substitute {
		list := []substitute{{"Bash", fmt.Sprintf(format, "Bash")}, {"PowerShell", fmt.Sprintf(format, "PowerShell")}}
		return append(list, otherwise...)
	}
	add("LS list list_dir list_directory list_files", run("use Glob, or %s with ls", use("Glob"))...)
	add("delete_file remove_file move_file rename_file copy_file create_directory", run("use %s with rm, mv, cp or mkdir")...)
	add("read_file cat view view_file view_image open_file NotebookRead read_many_files", use("Read"))
	add("search search_files search_file_content grep_search codebase_search search_code ripgrep", use("Grep"))
	add("LSP go_to_definition find_references find_definition getDiagnostics get_diagnostics find_symbol list_code_definition_names", use("LSP"), use("Grep"))
	add("find find_files file_search glob_file_search", use("Glob"))
	add("write_file write_to_file create_file save_file", use("Write"))
	add("edit_file replace_string_in_file str_replace str_replace_editor str_replace_based_edit_tool apply_patch patch replace replace_in_file search_replace insert_edit_into_file", use("Edit"))
	add("MultiEdit", substitute{"Edit", "send one Edit for each change; they run in the order in which they are sent"})
	add("sh shell shell_command local_shell exec exec_command run_command run_shell_command execute_command execute_bash run_bash run_terminal_cmd run_in_terminal REPL PowerShell", run("use %s")...)
	noList := substitute{"", "there is no work list here; keep the list in your answer"}
	add("TodoWrite TaskCreate TaskUpdate update_plan write_todos manage_todo_list", use("TodoWrite"), noList)
	add("TodoRead TaskGet", use("TaskList"), noList)
	add("Monitor", run("start the command with %s and run_in_background; TaskOutput waits for it")...)
	add("WebFetch fetch fetch_url web_fetch read_url fetch_webpage", append([]substitute{use("WebFetch")}, run("nothing here reads web pages except %s with curl, if commands may use the network",
		substitute{"", "nothing here reads web pages; ask the user for the content"})...)...)
	add("WebSearch web_search google_web_search", use("WebSearch"), substitute{"", "nothing here searches the web; ask the user"})
	add("Agent Task spawn_agent new_task SendMessage TeamCreate TeamDelete", substitute{"", "there are no other agents here; do the work with the tools that you have"})
	add("bash_output AgentOutputTool", use("TaskOutput"))
	add("kill_shell kill_bash", use("TaskStop"))
	add("write_stdin", use("TaskInput"))
	add("exit_plan_mode plan_exit", use("ExitPlanMode"))
	add("enter_plan_mode plan_enter", use("EnterPlanMode"))
	add("ask_user question request_user_input ask_followup_question", use("AskUserQuestion"), substitute{"", "ask the user in your answer"})
	add("AskUserQuestion", substitute{"", "ask the user in your answer"})
	add("activate_skill load_skill", use("Skill"))
	add("js_repl python ipython jupyter execute_python run_python", append([]substitute{use("REPL")}, run("use %s")...)...)
	add("undo_edit undo", use("Undo"))
	add("wait", use("Sleep"))
	add("attempt_completion complete_task finish submit task_complete", substitute{"", "nothing is called at the end; give the result in your answer"})
	add("think", substitute{"", "think without a tool"})
	add("Skill SlashCommand", substitute{"", "there are no skills here; if the skill is a file, read it"})
	add("EnterWorktree ExitWorktree", run("use %s with git worktree")...)
	noTimes := substitute{"", "nothing here runs at a later time; ask the user"}
	add("ScheduleWakeup", use("CronCreate"), noTimes)
	add("CronCreate CronDelete CronList RemoteTrigger", noTimes)
	add("Config", substitute{"", "no tool changes the settings; ask the user"})
	add("WebBrowser Browser", substitute{"WebFetch", "WebFetch reads a page; a browser is an upstream server that the user can add, such as @playwright/mcp"})
	add("MCPTool", substitute{"CallTool", "use CallTool with the tool's own name, mcp__SERVER__TOOL"}, substitute{"", "call the tool by its own name, mcp__SERVER__TOOL"})
	add("ListAgents", use("ListSessions"))
	add("Workflow", substitute{"Agent", "use Agent for each part of the work"}, substitute{"", "do the steps of the workflow with the tools that you have"})
	add("SuggestBackgroundPR Tungsten TestingPermission", substitute{"", "it belongs to another host, and there is nothing like it here; go on without it"})
	add("StructuredOutput SyntheticOutput", substitute{"", "give the result in your answer"})
}

// fold returns a name in lower case without separators.
func fold(name string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "", ".", "").Replace(name))
}

// adviceFor returns advice for a call of another host's tool, or "" if the name is not known.
// named reports whether the advice names one of our tools.
func (c *Catalogue) adviceFor(name string) (text string, named bool) {
	for _, s := range substitutes[fold(name)] {
		if s.tool == "" || c.byName[s.tool] != nil {
			return s.text, s.tool != ""
		}
	}
	return "", false
}
