package settings

import (
	"maps"
	"slices"
	"strconv"

	"mcp-toolset/policy"
)

// Preset is the name of the layer of rules that this program brings along. Any file is more
// authoritative.
const Preset = "preset"

// presets holds, by name, the commands that a preset allows.
var presets = map[string][]string{
	// The commands of a development day that run the project's own code, format it, or stage
	// and commit it. None names a program to fetch, publishes, or deletes. A tool that takes
	// several targets is allowed with one, so that no other follows: make test install. Each runs
	// what the project defines, so the preset is for projects that the user trusts.
	"dev": {
		"git add *", "git commit *",
		"make", "make all", "make build", "make check", "make fmt", "make lint", "make test", "cmake --build .", "cmake --build build", "ctest *",
		"go build *", "go fmt *", "go mod tidy", "go test *", "go vet *", "gofmt *",
		"npm test *", "npm run build *", "npm run check *", "npm run format *", "npm run lint *", "npm run test *", "npm run typecheck *",
		"pnpm test *", "pnpm run build *", "pnpm run format *", "pnpm run lint *", "pnpm run test *", "yarn build *", "yarn format *", "yarn lint *", "yarn test *", "node --test *",
		"pytest *", "python -m pytest *", "python3 -m pytest *", "uv run pytest *", "tox", "mypy *", "ruff check *", "ruff format *", "black *",
		"cargo build *", "cargo check *", "cargo clippy *", "cargo fmt *", "cargo test *",
		"mvn compile", "mvn package", "mvn test", "mvn verify", "gradle build", "gradle check", "gradle test", "./gradlew build", "./gradlew check", "./gradlew test",
		"dotnet build *", "dotnet format *", "dotnet test *", "bundle exec rspec *", "bundle exec rubocop *", "rake test", "swift build *", "swift test *",
	},
}

// Presets returns the names of the presets.
func Presets() []string { return slices.Sorted(maps.Keys(presets)) }

// preset returns the settings of a preset, which allow its commands in each shell among the
// tools.
func preset(name string, tools []string) *Settings {
	const key = "permissions.allow"
	s := &Settings{source: "the preset " + name}
	for _, shell := range []string{"Bash", "PowerShell"} {
		if !slices.Contains(tools, shell) {
			continue
		}
		for i, command := range presets[name] {
			rule := shell + "(" + command + ")"
			s.rules.Add(policy.Allow, rule, s.at(i+1), "")
			s.entries = append(s.entries, Entry{Origin: s.at(i + 1), Key: key, Meaning: meaning(key), Value: strconv.Quote(rule), unit: unit(key, "")})
		}
	}
	return s
}
