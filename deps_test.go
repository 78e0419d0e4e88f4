package main

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// rule lists the packages that one package may import, besides the standard library.
type rule struct {
	pkg   string   // below the module; a trailing /* stands for any one name
	ours  []string // packages of ours; a trailing /... stands for all below
	third []string // third-party modules
	why   string   // the purpose of the package, which is the reason for its imports
}

// rules is the package graph. Nothing points up: data flows from the
// transports down to the tools. Files of tests may import more.
var rules = []rule{
	{"", []string{"internal/cli"}, nil, "the binary"},
	{"internal/cli", []string{"..."}, []string{"github.com/spf13/cobra", "github.com/spf13/pflag", "github.com/aymanbagabas/go-udiff", "golang.org/x/sys"}, "commands and flags; the width of terminals"},
	{"clients", []string{"internal/host", "clients/edit", "internal/file/workspace", "internal/text/plain"}, nil, "the configuration files of MCP clients, which install and uninstall change"},
	{"clients/edit", nil, []string{"github.com/tailscale/hujson", "github.com/pelletier/go-toml/v2", "go.yaml.in/yaml/v3"}, "a leaf: one value of a JSON, TOML or YAML file, with every other byte as it is"},
	{"release", []string{"internal/cli"}, []string{"github.com/spf13/cobra", "github.com/spf13/pflag", "github.com/google/jsonschema-go", "go.yaml.in/yaml/v3"}, "a command for maintainers: man pages, licenses, npm packages, bundles"},
	{"internal/assembly", []string{"internal/host", "models", "models/engine", "console/feed", "internal/exec/agent", "internal/exec/publish", "internal/exec/spool", "web/endpoint", "server", "skills", "internal/record/journal", "internal/record/schedule", "internal/record/undo", "session", "pipeline", "internal/event", "internal/event/trigger", "tools", "tools/*", "toolsearch", "policy", "concurrency", "upstream", "upstream/pin", "internal/consent/approval", "internal/record/audit", "internal/consent/classifier", "internal/exec/command", "internal/file/document", "internal/file/filelock", "internal/consent/hook", "internal/text/nearest", "internal/text/plain", "lsp", "internal/record/results", "internal/exec/gitconfig", "internal/exec/sandbox", "internal/search", "internal/settings", "internal/file/snapshot", "internal/record/state", "internal/exec/task", "internal/exec/worktree", "internal/record/peers", "internal/record/trace", "internal/record/worklist", "web/fetch", "web/registry", "web/search", "web/site", "internal/file/workspace"}, nil, "puts a server together; the only package that makes tools with the services they use"},
	{"console", []string{"console/feed", "console/page", "internal/text/plain"}, nil, "the console in the browser: page, login, guard and events"},
	{"console/page", nil, nil, "the files of the page"},
	{"console/feed", []string{"concurrency", "pipeline", "policy", "session", "internal/consent/approval", "internal/consent/question", "internal/consent/socket", "internal/event", "internal/exec/spool", "internal/exec/task", "internal/record/audit", "internal/record/journal", "internal/record/undo", "internal/record/worklist", "internal/text/plain"}, nil, "one running server as data for the console, in its process or through its private socket"},
	{"server", []string{"internal/host", "internal/identity", "internal/consent/question", "internal/event", "skills", "pipeline", "tools", "session", "concurrency", "internal/text/plain", "internal/record/results", "internal/text/strictjson", "internal/file/workspace"},
		[]string{"github.com/mark3labs/mcp-go", "golang.org/x/net", "golang.org/x/sys"}, "the only package that knows the MCP library's server"},
	{"pipeline", []string{"internal/host", "tools", "web/registry", "web/site", "internal/record/undo", "internal/consent/question", "internal/record/journal", "policy", "concurrency", "session", "internal/event", "internal/record/results", "internal/file/workspace", "internal/text/plain", "internal/consent/approval", "internal/record/audit", "internal/bounded", "internal/consent/classifier", "internal/text/fault", "internal/consent/hook", "internal/memory", "internal/file/ospath", "internal/file/snapshot"}, []string{"golang.org/x/sync"}, "the one path of a call"},
	{"tools", []string{"policy", "web/site", "session", "internal/consent/question", "internal/file/workspace", "internal/text/nearest", "internal/text/fault", "internal/text/plain", "internal/text/strictjson"},
		[]string{"github.com/google/jsonschema-go"}, "the contract; Env hands tools an opener of files"},
	{"tools/builtin", []string{"tools", "tools/*", "toolsearch"}, nil, "the list of tools"},
	{"tools/toolstest", []string{"tools", "internal/consent/question", "session", "internal/file/workspace", "internal/record/results", "internal/file/filelock", "internal/file/snapshot"}, []string{"github.com/google/go-cmp", "golang.org/x/tools"}, "the harness of tool tests"},
	{"tools/file", []string{"tools", "session", "internal/bounded", "internal/text/fault", "internal/file/filelock", "internal/text/nearest", "internal/text/plain", "internal/file/snapshot", "internal/file/textfile", "internal/file/workspace"},
		[]string{"github.com/aymanbagabas/go-udiff", "golang.org/x/text"}, "what the tools on one file share"},
	{"tools/edit", []string{"tools", "tools/file", "session", "internal/text/fault", "internal/file/notebook", "internal/file/textfile", "internal/text/plain"}, []string{"golang.org/x/text"}, "the Edit tool; a notebook that cannot be parsed is text, and texts differ in Unicode form"},
	{"tools/notebook", []string{"tools", "tools/file", "session", "internal/text/fault", "internal/file/notebook", "internal/text/plain"}, nil, "the NotebookEdit tool"},
	{"tools/read", []string{"tools", "tools/file", "internal/file/snapshot", "session", "internal/bounded", "internal/file/document", "internal/file/document/*", "internal/text/fault", "internal/file/notebook", "internal/text/nearest", "internal/text/plain", "internal/file/textfile", "internal/file/workspace"},
		[]string{"github.com/gabriel-vasile/mimetype", "golang.org/x/text"}, "the Read tool: what a file is, and old encodings"},
	{"tools/grep", []string{"tools", "tools/file", "internal/bounded", "internal/file/textfile", "internal/text/fault", "internal/text/nearest", "internal/text/plain", "internal/search", "internal/search/*", "internal/file/workspace"}, nil, "the Grep tool"},
	{"tools/glob", []string{"tools", "tools/file", "internal/bounded", "internal/text/fault", "internal/text/nearest", "internal/text/plain", "internal/search", "internal/search/ignore", "internal/search/walk", "internal/file/workspace"}, []string{"github.com/bmatcuk/doublestar/v4"}, "the Glob tool"},
	{"tools/task", []string{"tools", "policy", "session", "internal/event", "internal/text/fault", "internal/text/plain", "internal/exec/spool", "internal/exec/task", "internal/text/terminal", "internal/text/nearest"}, nil, "the TaskOutput and TaskStop tools"},
	{"tools/brief", []string{"tools", "session", "internal/exec/task", "internal/record/audit", "internal/record/journal", "internal/record/undo", "internal/text/fault", "internal/text/plain"}, nil, "the Brief tool"},
	{"internal/record/journal", []string{"session", "tools"}, nil, "the calls of sessions, in memory"},
	{"tools/ask", []string{"tools", "internal/consent/question", "internal/text/fault", "internal/text/plain"}, nil, "the AskUserQuestion tool"},
	{"tools/plan", []string{"tools", "session", "policy", "internal/consent/question", "internal/text/fault", "internal/text/plain"}, nil, "the tools EnterPlanMode and ExitPlanMode"},
	{"tools/output", []string{"tools", "session", "internal/file/filelock", "internal/record/state", "internal/text/fault", "internal/text/plain"}, nil, "the SyntheticOutput tool"},
	{"tools/monitor", []string{"tools", "tools/bash", "tools/file", "tools/task", "policy", "session", "internal/bounded", "internal/event", "internal/text/fault", "internal/text/plain", "internal/exec/spool", "internal/exec/task"}, nil, "the Monitor tool, whose commands run under the rules of Bash"},
	{"tools/repl", []string{"tools", "tools/bash", "policy", "session", "internal/exec/command", "internal/exec/shellsafe", "internal/exec/spool", "internal/exec/task", "internal/file/document", "internal/text/fault", "internal/text/plain"}, nil, "the REPL tool, whose interpreters are commands"},
	{"tools/cron", []string{"tools", "internal/record/schedule", "internal/text/plain"}, nil, "the CronCreate, CronDelete and CronList tools"},
	{"internal/record/schedule", []string{"session", "internal/event", "internal/file/filelock", "internal/record/durable", "internal/text/fault", "internal/text/plain"}, []string{"github.com/adhocore/gronx"}, "schedules of sessions, which fire as events; those in the file of the state folder survive a restart"},
	{"tools/websearch", []string{"tools", "policy", "session", "internal/text/fault", "internal/text/plain", "web/search"}, nil, "the WebSearch tool"},
	{"web/endpoint", []string{"web/site", "internal/record/state", "internal/text/plain"}, nil, "keys, base URLs and waits of services that the user names"},
	{"models/engine", []string{"models", "internal/exec/launch", "internal/text/plain", "internal/text/strictjson", "web/dial", "web/endpoint", "web/site"}, []string{"github.com/anthropics/anthropic-sdk-go", "github.com/sashabaranov/go-openai"}, "reaches language models; the only package that knows the libraries of providers"},
	{"models/modelstest", []string{"models"}, nil, "for tests: plays the APIs of models"},
	{"models", []string{"session", "internal/file/filelock", "internal/record/durable", "internal/text/fault", "internal/text/plain", "web/endpoint"}, nil, "language models: conversations, limits, budgets"},
	{"web/search", []string{"web/endpoint", "web/site", "internal/text/fault", "internal/text/plain"}, []string{"golang.org/x/net"}, "search providers over HTTP; HTML of snippets"},
	{"lsp", []string{"internal/search/walk", "session", "internal/text/fault", "internal/text/plain"}, []string{"github.com/sourcegraph/jsonrpc2", "github.com/bmatcuk/doublestar/v4"}, "language servers: starts them, asks them, and announces changes of files; patterns of watched files"},
	{"tools/lsp", []string{"tools", "tools/file", "lsp", "policy", "session", "internal/event", "internal/file/workspace", "internal/text/fault", "internal/text/nearest", "internal/text/plain"}, nil, "the LSP and LSPApply tools"},
	{"skills", []string{"session", "internal/bounded", "internal/text/nearest", "internal/text/plain"}, []string{"go.yaml.in/yaml/v3", "github.com/bmatcuk/doublestar/v4"}, "finds, checks and serves skills and agent files; front matter in YAML, patterns of paths"},
	{"tools/skill", []string{"tools", "policy", "session", "skills", "internal/bounded", "internal/text/fault"}, nil, "the Skill tool; policy, since rules are on names, beside the file"},
	{"tools/sleep", []string{"tools", "internal/event"}, nil, "the Sleep tool"},
	{"internal/record/durable", []string{"session", "internal/file/filelock", "internal/record/state", "internal/text/fault", "internal/text/plain"}, nil, "files of the state folder with what outlives a server: durable schedules and triggers"},
	{"tools/trigger", []string{"tools", "policy", "session", "internal/event", "internal/event/trigger", "internal/text/fault"}, nil, "the RemoteTrigger tool"},
	{"internal/event/trigger", []string{"internal/event", "session", "internal/file/filelock", "internal/record/durable", "internal/text/fault", "internal/text/plain"}, []string{"golang.org/x/net"}, "webhooks, whose requests become events; a limit on connections"},
	{"internal/host", nil, nil, "a leaf: the table of agent clients that were tried, and what each needs"},
	{"internal/identity", []string{"internal/text/strictjson"}, []string{"github.com/golang-jwt/jwt/v5", "github.com/MicahParks/keyfunc/v3"}, "who sends an HTTP request, by its token; the only package that knows signed tokens"},
	{"internal/identity/identitytest", nil, []string{"github.com/golang-jwt/jwt/v5"}, "for tests: an identity provider"},
	{"internal/front", []string{"policy", "internal/event/trigger", "internal/exec/sandbox", "internal/identity", "internal/record/state", "internal/text/plain", "internal/text/strictjson"}, []string{"golang.org/x/sys", "golang.org/x/time"}, "a process for each workspace: rules, folders, limits, and the requests passed on; policy for the names of modes, sandbox for the folders that commands read"},
	{"internal/event", []string{"session", "internal/text/fault", "internal/text/plain"}, nil, "events of sessions, which answers deliver"},
	{"tools/worktree", []string{"tools", "policy", "session", "internal/exec/worktree", "internal/file/workspace", "internal/text/fault", "internal/text/plain"}, nil, "the EnterWorktree and ExitWorktree tools"},
	{"internal/exec/worktree", []string{"session", "internal/exec/launch", "internal/exec/shellsafe", "internal/file/filelock", "internal/file/workspace", "internal/record/state", "internal/text/fault", "internal/text/plain"}, nil, "git worktrees of sessions; git runs as the server, without programs of the repository"},
	{"tools/work", []string{"tools", "session", "internal/text/fault", "internal/text/plain", "internal/exec/task", "internal/record/peers", "internal/record/worklist"}, nil, "the TaskCreate, TaskGet, TaskUpdate, TaskList and TodoWrite tools"},
	{"internal/exec/agent", []string{"models", "session", "tools", "internal/event", "internal/exec/spool", "internal/exec/task", "internal/exec/worktree", "internal/file/filelock", "internal/record/audit", "internal/record/journal", "internal/record/state", "internal/text/fault", "internal/text/plain"}, []string{"github.com/coder/acp-go-sdk"}, "loops of a model with the tools, and programs that ask for them; their transcripts are redacted like the audit log"},
	{"tools/agent", []string{"tools", "tools/bash", "tools/task", "internal/exec/agent", "internal/exec/task", "policy", "session", "internal/text/fault", "internal/text/plain"}, nil, "the Agent tool"},
	{"tools/message", []string{"tools", "internal/event", "internal/record/peers", "internal/text/fault", "internal/text/plain"}, nil, "the ListSessions, SendMessage, TeamCreate and TeamDelete tools"},
	{"internal/record/peers", []string{"session", "internal/event", "internal/record/worklist", "internal/text/fault", "internal/text/plain"}, nil, "names of sessions and teams; delivers messages as events"},
	{"upstream/pin", []string{"internal/file/filelock", "internal/record/state", "internal/text/strictjson"}, nil, "a leaf: the listings of other servers, and those that the user has seen"},
	{"upstream", []string{"tools", "policy", "internal/text/fault", "internal/text/nearest", "internal/text/plain", "internal/exec/process"},
		[]string{"github.com/mark3labs/mcp-go"}, "other MCP servers' tools; knows the library's client"},
	{"toolsearch", []string{"tools", "session", "internal/text/fault", "internal/text/nearest", "internal/text/plain"}, nil, "the ToolSearch and CallTool tools, which find and call unlisted tools"},
	{"concurrency", nil, nil, "decides when, knows nothing of what"},
	{"internal/file/ospath", nil, nil, "a leaf: paths by the rules of any system"},
	{"policy", []string{"web/site", "internal/text/nearest", "internal/file/ospath", "internal/text/plain"}, []string{"github.com/bmatcuk/doublestar/v4", "golang.org/x/text"}, "decides whether, does nothing"},
	{"web/site", []string{"internal/text/fault", "internal/text/plain"}, []string{"golang.org/x/net", "code.dny.dev/ssrf"}, "a leaf: hosts of web pages, their addresses, and patterns of rules"},
	{"web/dial", []string{"web/site"}, []string{"golang.org/x/net"}, "connects to sites, with every address judged, or through the proxy of the environment"},
	{"web/proxy", []string{"web/site", "internal/text/fault", "internal/text/plain"}, []string{"golang.org/x/sync"}, "the proxy of contained commands; knows no rules"},
	{"web/fetch", []string{"web/dial", "web/site", "internal/record/store", "internal/text/fault", "internal/text/plain"}, []string{"golang.org/x/net", "golang.org/x/sync"}, "gets web pages"},
	{"web/registry", []string{"web/site"}, []string{"github.com/pelletier/go-toml/v2"}, "hosts of package managers; the configuration of cargo is TOML"},
	{"tools/webfetch", []string{"tools", "models", "session", "tools/read", "web/fetch", "web/site", "internal/file/document", "internal/file/document/page", "internal/text/fault", "internal/text/plain"}, []string{"github.com/gabriel-vasile/mimetype"}, "the WebFetch tool: what a page is"},
	{"session", []string{"internal/file/workspace"}, nil, "state, no behaviour; a record of a read has the file's identity"},
	{"internal/file/document", []string{"internal/file/document/*", "internal/text/fault", "internal/exec/launch", "internal/file/notebook", "internal/record/state"}, []string{"golang.org/x/sync", "golang.org/x/sys"}, "reads risky files in a process of its own"},
	{"internal/file/document/pdf", []string{"internal/file/document/picture", "internal/text/fault", "internal/text/plain"},
		[]string{"github.com/pdfcpu/pdfcpu", "github.com/klippa-app/go-pdfium", "github.com/tetratelabs/wazero"}, "PDF files"},
	{"internal/file/document/office", []string{"internal/text/fault"}, []string{"golang.org/x/text"}, "word processor documents, workbooks and presentations; their XML has any encoding"},
	{"internal/file/document/page", []string{"internal/file/textfile"},
		[]string{"codeberg.org/readeck/go-readability/v2", "github.com/JohannesKaufmann/html-to-markdown/v2", "golang.org/x/net"}, "web pages: decoding, and HTML as Markdown"},
	{"internal/file/document/picture", []string{"internal/text/fault"}, []string{"golang.org/x/image"}, "pictures a model can take"},
	{"internal/file/notebook", []string{"internal/file/document/picture", "internal/text/fault", "internal/text/nearest", "internal/text/plain", "internal/text/terminal"}, nil, "Jupyter notebooks"},
	{"internal/record/audit", []string{"internal/bounded", "internal/file/filelock", "internal/record/state"}, []string{"golang.org/x/sys"}, "a leaf: the log of calls"},
	{"internal/consent/classifier", []string{"policy", "session", "internal/exec/launch", "internal/text/plain", "internal/text/strictjson"}, nil, "asks for an opinion on a call"},
	{"internal/text/strictjson", nil, []string{"github.com/go-json-experiment/json"}, "a leaf: JSON that no two readers understand differently"},
	{"internal/memory", nil, nil, "a leaf: the soft limit on memory, and giving it back"},
	{"internal/style", nil, nil, "a command for maintainers: comments to rewrite"},
	{"internal/testscale", nil, nil, "a leaf, for tests: how many cases they run"},
	{"internal/exec/mounttest", nil, nil, "a leaf, for tests: a mount namespace for one test"},
	{"internal/file/silentfs", []string{"internal/exec/mounttest"}, []string{"golang.org/x/sys"}, "for tests: a file system that does not answer"},
	{"internal/bounded", nil, nil, "a leaf: waiting for what cannot be broken off"},
	{"internal/exec/launch", nil, nil, "a leaf: starting a program that may hang before it runs, and ending its group"},
	{"internal/text/fault", nil, nil, "a leaf: one fact, one next step"},
	{"internal/record/results", []string{"internal/record/store"}, nil, "stored results"},
	{"internal/record/undo", []string{"internal/bounded", "internal/file/filelock", "internal/file/workspace", "internal/record/state", "internal/text/plain", "session"}, []string{"github.com/aymanbagabas/go-udiff", "github.com/klauspost/compress", "golang.org/x/sys"}, "what calls changed in the workspace, with the contents before, and its undo"},
	{"tools/undo", []string{"tools", "tools/file", "session", "policy", "internal/record/undo", "internal/text/fault", "internal/text/plain"}, nil, "the Undo tool"},
	{"internal/record/worklist", []string{"internal/file/filelock", "internal/record/state", "internal/text/fault", "internal/text/plain", "session"}, nil, "lists of work items, of one session or shared in a file"},
	{"internal/exec/process", []string{"internal/text/plain"}, []string{"golang.org/x/sys"}, "a leaf: one command and all it starts, ended for sure"},
	{"internal/exec/spool", []string{"internal/record/store", "internal/text/terminal"}, []string{"golang.org/x/sys"}, "what a command prints"},
	{"internal/exec/publish", []string{"internal/event", "internal/exec/task", "session"}, nil, "ports of background tasks: reports them, and forwards those that are published from this machine"},
	{"tools/publish", []string{"tools", "internal/exec/publish", "internal/exec/task", "policy", "internal/text/fault", "internal/text/plain"}, nil, "the PublishPort tool"},
	{"internal/exec/task", []string{"internal/text/fault", "internal/exec/spool", "session", "internal/text/terminal"}, nil, "what runs in the background, and whose it is"},
	{"internal/file/filelock", []string{"internal/record/state"}, []string{"golang.org/x/sys"}, "a leaf: locks between processes"},
	{"internal/consent/question", []string{"internal/text/fault", "internal/text/plain"}, nil, "questions with choices to the user, and their answers"},
	{"internal/consent/approval", []string{"internal/consent/question", "internal/consent/socket", "internal/text/fault", "internal/file/filelock", "internal/text/plain", "internal/record/state"}, nil, "the user's approvals of calls, given outside of the client"},
	{"internal/consent/socket", []string{"internal/exec/process", "internal/record/state", "internal/record/store"}, []string{"golang.org/x/sys"}, "the private socket of a server; asks process who is a command on Windows"},
	{"internal/file/snapshot", nil, nil, "a leaf: contents of files as they were read"},
	{"internal/file/textfile", []string{"internal/text/fault", "internal/text/plain"}, []string{"golang.org/x/text"}, "a leaf: the text of a file and edits of it, with every byte kept"},
	{"internal/search", []string{"internal/bounded", "internal/search/*"}, []string{"golang.org/x/sys"}, "finds lines and files in a tree"},
	{"internal/search/match", []string{"internal/search/dfa", "internal/search/index", "internal/search/pattern"}, nil, "which lines match"},
	{"internal/search/watch", nil, []string{"golang.org/x/sys"}, "a leaf: what the system tells of changes"},
	{"internal/search/walk", []string{"internal/search/ignore", "internal/search/watch"}, []string{"golang.org/x/sys"}, "which files there are"},
	{"internal/search/source", []string{"internal/search/index"}, nil, "how bytes are read"},
	{"internal/search/pattern", []string{"internal/text/fault", "internal/text/nearest"}, nil, "a leaf: ripgrep's syntax"},
	{"internal/search/filetype", []string{"internal/text/fault", "internal/text/nearest"}, nil, "a leaf: ripgrep's types of files"},
	{"internal/search/dfa", nil, []string{"golang.org/x/sys"}, "a leaf: lines that match, quickly"},
	{"internal/search/ignore", nil, nil, "a leaf: ignore rules"},
	{"internal/search/index", nil, nil, "a leaf: what need not be read"},
	{"internal/file/workspace", []string{"internal/file/filelock", "internal/file/ospath"}, []string{"golang.org/x/sys"}, "a leaf: where files are and how to open them"},
	{"internal/exec/sandbox", nil, []string{"github.com/landlock-lsm/go-landlock", "golang.org/x/sys"}, "a leaf: what a command may touch"},
	{"internal/record/state", nil, nil, "a leaf: the state folder"},
	{"internal/record/store", []string{"internal/record/state"}, nil, "folders of servers in the state folder, with a lock, a quota and an age limit"},
	{"internal/settings", []string{"models", "web/endpoint", "policy", "internal/consent/classifier", "internal/file/filelock", "internal/consent/hook", "internal/text/nearest", "internal/text/plain", "internal/record/state", "internal/text/strictjson", "internal/record/worklist", "internal/file/workspace", "lsp", "web/search"}, []string{"golang.org/x/sys"}, "parses, merges, explains and trusts settings; makes the rules, hooks and stages that policy, hook and classifier receive"},
	{"internal/text/nearest", nil, []string{"golang.org/x/text"}, "a leaf: near misses, and names that look the same"},
	{"internal/consent/hook", []string{"policy", "internal/exec/launch", "internal/text/plain", "internal/text/strictjson"}, []string{"golang.org/x/sys"}, "runs the hooks of a call and makes one verdict of what they say"},
	{"internal/exec/gitfront", nil, []string{"golang.org/x/sys"}, "a leaf: git for commands, in repositories with hidden or protected files"},
	{"internal/exec/gitconfig", nil, nil, "a leaf: which settings of git run a program, and what they name"},
	{"internal/exec/command", []string{"internal/exec/gitconfig", "internal/exec/gitfront", "internal/file/workspace", "internal/exec/launch", "internal/text/plain", "internal/exec/process", "internal/exec/sandbox", "internal/exec/spool", "internal/record/state", "internal/text/fault", "internal/text/terminal"}, []string{"golang.org/x/sys"}, "starts shell commands, contained"},
	{"tools/bash", []string{"tools", "session", "policy", "internal/exec/command", "internal/text/fault", "internal/text/plain", "internal/exec/powershell", "internal/exec/process", "internal/exec/shellsafe", "internal/exec/spool", "internal/exec/task", "web/dial", "web/proxy", "web/site", "internal/text/terminal"}, []string{"golang.org/x/sys"}, "the tools that run commands; their connections to the network"},
	{"internal/exec/powershell", nil, nil, "a leaf: which PowerShell commands are one simple command, and what any other may run"},
	{"internal/exec/helper", []string{"internal/exec/command", "internal/exec/gitfront", "internal/exec/process"}, nil, "runs the processes that supervise commands, before the libraries of the server are initialized"},
	{"internal/exec/shellsafe", nil, []string{"mvdan.cc/sh/v3"}, "a leaf: what a shell command holds and whether it only reads"},
	{"internal/record/trace", []string{"concurrency"}, nil, "calls as Chrome trace events"},
	{"internal/record/metrics", []string{"concurrency", "internal/text/plain"}, nil, "figures of the scheduler, as Prometheus text and as a live view"},
	{"internal/text/terminal", []string{"internal/text/plain"}, []string{"golang.org/x/text"}, "a leaf: output as a terminal shows it, and the screen of one"},
	{"internal/text/plain", nil, nil, "a leaf: text safe to show"},
	{"internal/record/lossy", nil, nil, "a leaf: a log that never waits for its reader"},
	{"tools/internal/wordcount", []string{"tools", "tools/file", "internal/text/plain"}, nil, "the example of ARCHITECTURE.md; only its test uses it"},
	{"tools/edit", []string{"tools", "tools/file", "session", "internal/file/textfile", "internal/text/fault", "internal/text/plain"}, []string{"golang.org/x/text"}, "the Edit tool, which knows the Unicode forms of a text"},
	{"tools/*", []string{"tools", "tools/file", "policy", "session", "internal/bounded", "internal/text/fault", "internal/text/nearest", "internal/text/plain", "internal/file/textfile", "internal/file/workspace"}, nil, "a tool; one that imports more has a line of its own before"},
	{"e2e/conformance", []string{"internal/assembly", "server", "tools"}, nil, "a test-only server of the conformance suite's tools"},
	{"e2e/upstream", nil, []string{"github.com/mark3labs/mcp-go"}, "a test-only server to stand behind ours"},
	{"e2e/soak", nil, nil, "drives one server with many clients for minutes"},
	{"e2e", nil, nil, "tests of the binary"},
}

// TestDependencies fails on an import that the graph does not allow.
func TestDependencies(t *testing.T) {
	used := map[string]bool{}
	err := filepath.WalkDir(".", func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "testdata" || d.Name() == "node_modules" || strings.HasPrefix(d.Name(), ".") && file != ".") {
			return filepath.SkipDir
		}
		if d.IsDir() && file != "." && isModule(file) {
			return filepath.SkipDir // bench has requirements of its own
		}
		if !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return nil
		}
		pkg := filepath.ToSlash(filepath.Dir(file))
		if pkg == "." {
			pkg = ""
		}
		i := slices.IndexFunc(rules, func(r rule) bool { return covers(r.pkg, pkg) })
		if i < 0 {
			t.Errorf("package %s has no rule: say here what it may import and why", pkg)
			return nil
		}
		used[rules[i].pkg] = true
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, spec := range f.Imports {
			name, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			if !allowed(rules[i], name) {
				t.Errorf("%s imports %s, which package %q may not (%s)", file, name, pkg, rules[i].why)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rules {
		if !used[r.pkg] && r.pkg != "e2e" {
			t.Errorf("there is a rule for %s and no such package", r.pkg)
		}
	}
}

// isModule reports whether a folder has a go.mod of its own.
func isModule(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "go.mod"))
	return err == nil
}

func allowed(r rule, name string) bool {
	if ours, ok := strings.CutPrefix(name, "mcp-toolset/"); ok {
		return slices.ContainsFunc(r.ours, func(p string) bool { return covers(p, ours) })
	}
	first, _, _ := strings.Cut(name, "/")
	if !strings.Contains(first, ".") {
		return true // the standard library
	}
	return slices.ContainsFunc(r.third, func(m string) bool { return name == m || strings.HasPrefix(name, m+"/") })
}

// covers reports whether a package pattern of the table covers a package.
func covers(pattern, pkg string) bool {
	if pattern == "..." {
		return true
	}
	if dir, ok := strings.CutSuffix(pattern, "/*"); ok {
		return path.Dir(pkg) == dir
	}
	return pattern == pkg
}
