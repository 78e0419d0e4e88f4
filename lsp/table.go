package lsp

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
)

// Server describes a language server: a row of the table, or of the settings.
type Server struct {
	Name    string
	Command []string          // program and arguments; the program is searched for if it is no path
	Files   map[string]string // language of the files whose names match a pattern, such as *.go
	Markers []string          // names that a project's folder has, the most reliable first
	Options json.RawMessage   // initializationOptions; nil: none
	// Settings is the object whose members the server asks for by name; nil: none.
	Settings json.RawMessage
	Env      []string // NAME=value
	Install  string   // how a user installs it
	// Builds reports that the server runs programs of the project by design, such as build
	// scripts. It starts only in a project that the user trusts.
	Builds bool
	// Pulls reports that the server answers requests for diagnostics although it does not
	// announce that.
	Pulls bool
	// Resends reports that the server does not look at the files that an open document includes
	// before the document is sent again.
	Resends bool
	// Alone reports that the server answers wrongly about a new file while it is asked for
	// diagnostics, so that it is asked for them only if they are needed.
	Alone bool
	// TSServer reports that the server passes requests on to tsserver. Those for diagnostics are
	// answered about the present content, while what the server sends by itself has no version.
	// tsserver misses some changes, since it registers the watchers of new files late; it is
	// made to look for them.
	TSServer bool
	// Starts reports that a change of a file starts the server, for its diagnostics.
	Starts bool
}

func raw(text string) json.RawMessage { return json.RawMessage(text) }

// Table lists the servers that are known without settings. Of several for a file, the first
// that is installed is used.
var Table = []Server{
	{
		Name: "gopls", Command: []string{"gopls"}, Files: map[string]string{"*.go": "go", "go.mod": "go.mod", "go.work": "go.work", "*.gotmpl": "gotmpl"},
		Markers: []string{"go.work", "go.mod"}, Install: "go install golang.org/x/tools/gopls@latest", Pulls: true,
		// The collector runs more often as the memory gets near the limit at which it is stopped.
		Env:     []string{"GOTELEMETRY=off", "GOMEMLIMIT=1600MiB"},
		Options: raw(`{"symbolMatcher": "FastFuzzy", "semanticTokens": false}`),
	},
	{
		Name: "typescript-language-server", Command: []string{"typescript-language-server", "--stdio"},
		Files:   map[string]string{"*.ts": "typescript", "*.tsx": "typescriptreact", "*.mts": "typescript", "*.cts": "typescript", "*.js": "javascript", "*.jsx": "javascriptreact", "*.mjs": "javascript", "*.cjs": "javascript"},
		Markers: []string{"tsconfig.json", "jsconfig.json", "package.json"}, Install: "npm install -g typescript typescript-language-server",
		// The second server for syntax alone answers with the import of a name while the first
		// one loads the project. The typings installer needs a network.
		Options:  raw(`{"hostInfo": "mcp-toolset", "disableAutomaticTypingAcquisition": true, "tsserver": {"useSyntaxServer": "never"}, "preferences": {}}`),
		TSServer: true,
	},
	{
		Name: "tsc", Command: []string{"tsc", "--lsp", "--stdio"},
		Files:   map[string]string{"*.ts": "typescript", "*.tsx": "typescriptreact", "*.mts": "typescript", "*.cts": "typescript", "*.js": "javascript", "*.jsx": "javascriptreact", "*.mjs": "javascript", "*.cjs": "javascript"},
		Markers: []string{"tsconfig.json", "jsconfig.json", "package.json"}, Install: "npm install -g typescript@7",
	},
	{
		Name: "pyright", Command: []string{"pyright-langserver", "--stdio"}, Files: map[string]string{"*.py": "python", "*.pyi": "python"},
		Markers: pythonMarkers, Install: "npm install -g pyright", Alone: true, Settings: raw(`{"python": {"analysis": {"diagnosticMode": "openFilesOnly", "autoSearchPaths": true, "useLibraryCodeForTypes": true}}}`),
	},
	{
		Name: "basedpyright", Command: []string{"basedpyright-langserver", "--stdio"}, Files: map[string]string{"*.py": "python", "*.pyi": "python"},
		Markers: pythonMarkers, Install: "npm install -g basedpyright", Alone: true, Settings: raw(`{"basedpyright": {"analysis": {"diagnosticMode": "openFilesOnly"}}}`),
	},
	{
		Name: "pylsp", Command: []string{"pylsp"}, Files: map[string]string{"*.py": "python"},
		Markers: pythonMarkers, Install: "pipx install python-lsp-server",
	},
	{
		Name: "rust-analyzer", Command: []string{"rust-analyzer"}, Files: map[string]string{"*.rs": "rust"}, Markers: []string{"Cargo.toml", "rust-project.json"},
		Install: "rustup component add rust-analyzer", Builds: true,
		// With a folder of its own for results, it does not wait for builds of the user.
		Options: raw(`{"checkOnSave": false, "cargo": {"targetDir": true}}`),
	},
	{
		Name: "clangd", Command: []string{"clangd", "--background-index", "--log=error"},
		Files:   map[string]string{"*.c": "c", "*.h": "cpp", "*.cc": "cpp", "*.cpp": "cpp", "*.cxx": "cpp", "*.hpp": "cpp", "*.hh": "cpp", "*.hxx": "cpp", "*.m": "objective-c", "*.mm": "objective-cpp"},
		Markers: []string{"compile_commands.json", "compile_flags.txt", ".clangd"}, Install: "apt install clangd, or brew install llvm", Resends: true,
	},
	{
		Name: "jdtls", Command: []string{"jdtls"}, Files: map[string]string{"*.java": "java"}, Markers: []string{"pom.xml", "build.gradle", "build.gradle.kts", "settings.gradle"},
		Install: "brew install jdtls, or see github.com/eclipse-jdtls/eclipse.jdt.ls", Builds: true,
	},
	{Name: "kotlin-lsp", Command: []string{"kotlin-lsp", "--stdio"}, Files: map[string]string{"*.kt": "kotlin", "*.kts": "kotlin"}, Markers: []string{"settings.gradle.kts", "build.gradle.kts", "build.gradle", "pom.xml"}, Install: "brew install JetBrains/utils/kotlin-lsp", Builds: true},
	{Name: "csharp-ls", Command: []string{"csharp-ls"}, Files: map[string]string{"*.cs": "csharp"}, Markers: []string{"*.sln", "*.csproj"}, Install: "dotnet tool install -g csharp-ls", Builds: true},
	{Name: "lua-language-server", Command: []string{"lua-language-server"}, Files: map[string]string{"*.lua": "lua"}, Markers: []string{".luarc.json", ".luarc.jsonc"}, Install: "brew install lua-language-server"},
	{Name: "bash-language-server", Command: []string{"bash-language-server", "start"}, Files: map[string]string{"*.sh": "shellscript", "*.bash": "shellscript"}, Install: "npm install -g bash-language-server"},
	{Name: "yaml-language-server", Command: []string{"yaml-language-server", "--stdio"}, Files: map[string]string{"*.yaml": "yaml", "*.yml": "yaml"}, Install: "npm install -g yaml-language-server"},
	{Name: "vscode-json-language-server", Command: []string{"vscode-json-language-server", "--stdio"}, Files: map[string]string{"*.json": "json", "*.jsonc": "jsonc"}, Install: vscodeServers},
	{Name: "vscode-html-language-server", Command: []string{"vscode-html-language-server", "--stdio"}, Files: map[string]string{"*.html": "html", "*.htm": "html"}, Install: vscodeServers},
	{Name: "vscode-css-language-server", Command: []string{"vscode-css-language-server", "--stdio"}, Files: map[string]string{"*.css": "css", "*.scss": "scss", "*.less": "less"}, Install: vscodeServers},
	{Name: "ruby-lsp", Command: []string{"ruby-lsp"}, Files: map[string]string{"*.rb": "ruby", "*.rake": "ruby", "Rakefile": "ruby", "Gemfile": "ruby"}, Markers: []string{"Gemfile"}, Install: "gem install ruby-lsp", Builds: true},
	{Name: "intelephense", Command: []string{"intelephense", "--stdio"}, Files: map[string]string{"*.php": "php"}, Markers: []string{"composer.json"}, Install: "npm install -g intelephense"},
	{Name: "zls", Command: []string{"zls"}, Files: map[string]string{"*.zig": "zig", "*.zon": "zig"}, Markers: []string{"build.zig"}, Install: "see github.com/zigtools/zls", Builds: true},
	{Name: "sourcekit-lsp", Command: []string{"sourcekit-lsp"}, Files: map[string]string{"*.swift": "swift"}, Markers: []string{"Package.swift"}, Install: "it is part of Xcode and of the Swift toolchain", Builds: true},
	{Name: "dart", Command: []string{"dart", "language-server", "--protocol=lsp"}, Files: map[string]string{"*.dart": "dart"}, Markers: []string{"pubspec.yaml"}, Install: "it is part of the Dart SDK", Builds: true},
	{Name: "terraform-ls", Command: []string{"terraform-ls", "serve"}, Files: map[string]string{"*.tf": "terraform", "*.tfvars": "terraform-vars"}, Markers: []string{".terraform"}, Install: "brew install hashicorp/tap/terraform-ls", Builds: true},
	{Name: "elixir-ls", Command: []string{"elixir-ls"}, Files: map[string]string{"*.ex": "elixir", "*.exs": "elixir"}, Markers: []string{"mix.exs"}, Install: "brew install elixir-ls", Builds: true},
	{Name: "haskell-language-server", Command: []string{"haskell-language-server-wrapper", "--lsp"}, Files: map[string]string{"*.hs": "haskell", "*.lhs": "haskell"}, Markers: []string{"hie.yaml", "stack.yaml", "cabal.project", "*.cabal"}, Install: "ghcup install hls", Builds: true},
	{Name: "ocamllsp", Command: []string{"ocamllsp"}, Files: map[string]string{"*.ml": "ocaml", "*.mli": "ocaml.interface"}, Markers: []string{"dune-project", "dune-workspace"}, Install: "opam install ocaml-lsp-server", Builds: true},
}

const vscodeServers = "npm install -g vscode-langservers-extracted"

var pythonMarkers = []string{"pyrightconfig.json", "pyproject.toml", "setup.py", "setup.cfg", "requirements.txt", "Pipfile"}

// Merge returns the servers of the settings, then those of the table. One of the settings
// replaces that of the table with its name.
func Merge(own []Server) []Server {
	out := slices.Clone(own)
	for _, s := range Table {
		if !slices.ContainsFunc(own, func(o Server) bool { return o.Name == s.Name }) {
			out = append(out, s)
		}
	}
	return out
}

// Language returns the language of a file, or "" if it is none of the server's.
func (s *Server) Language(path string) string {
	name := filepath.Base(path)
	if language, ok := s.Files[name]; ok {
		return language
	}
	for pattern, language := range s.Files {
		if ok, _ := filepath.Match(pattern, name); ok {
			return language
		}
	}
	return ""
}

// knows reports whether a file is one of the server's language, or a marker of a project.
func (s *Server) knows(path string) bool {
	return s.Language(path) != "" || slices.ContainsFunc(s.Markers, func(marker string) bool {
		ok, _ := filepath.Match(marker, filepath.Base(path))
		return ok
	})
}

// project returns the folder of the project that a file belongs to: the nearest one above
// it that has a marker, or the root.
func (s *Server) project(root, path string, exists func(pattern string) bool) string {
	for _, marker := range s.Markers {
		for dir := filepath.Dir(path); strings.HasPrefix(dir, root); dir = filepath.Dir(dir) {
			if exists(filepath.Join(dir, marker)) {
				return dir
			}
			if dir == root || dir == filepath.Dir(dir) {
				break
			}
		}
	}
	return root
}
