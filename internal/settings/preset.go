package settings

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"mcp-toolset/policy"
)

// Preset is the name of the layer of rules that this program brings along. Any file is more
// authoritative.
const Preset = "preset"

// presetGroup lists commands that a preset allows.
type presetGroup struct {
	commands []string
	except   string // the flags and names of policy.Except
	edits    bool   // whether they must only change the files they name
}

// Words of commands that install outside of the project, and of tasks with effects on others.
const (
	elsewhere = "-g --global --location --prefix -C --dir --cwd --root --target -t --user --system --break-system-packages --install-dir --bindir --path"
	others    = "deploy publish release upload push ship destroy install archive gh-pages .. :// fastlane kamal twine ansible kubectl helm terraform pulumi wrangler vercel netlify firebase heroku flyctl serverless"
)

// presets holds the commands that a preset allows, by name.
//
// The rules of a preset lift no concern (policy.Rules.AddPreset): files outside of the workspace,
// protected names, credentials, and what cannot be undone ask as before. Most commands run what
// the project defines, so a preset is for projects that the user trusts. None publishes, deploys,
// or installs outside of the project.
var presets = map[string][]presetGroup{"dev": {
	// Files of the workspace. A redirect to a file counts as tee.
	{commands: []string{"mkdir *", "touch *", "rm *", "rmdir *", "mv *", "cp *", "sed *"}, edits: true},
	{commands: []string{"tee *", "chmod +x *", "chmod 644 *", "chmod 755 *"}},
	// git: reads and everyday writers. What loses or publishes something is a risk.
	{commands: []string{"git add *", "git blame *", "git branch *", "git cat-file *", "git check-ignore *", "git checkout *", "git cherry-pick *", "git commit *", "git config --get *", "git describe *", "git diff *", "git fetch *", "git grep *", "git init", "git log *", "git ls-files *", "git ls-tree *", "git merge *", "git merge-base *", "git mv *", "git pull *", "git rebase *", "git reflog *", "git remote", "git remote -v", "git remote get-url *", "git remote show *", "git reset", "git reset HEAD *", "git reset --soft *", "git restore *", "git rev-list *", "git rev-parse *", "git revert *", "git rm *", "git shortlog *", "git show *", "git stash *", "git status *", "git switch *", "git tag *", "git worktree list *"},
		except: "--upload-pack --exec -x -O --open-files-in-pager --ext-diff --output --template"},
	// Tasks that the project defines.
	{commands: []string{"make *", "gmake *", "just *", "task *", "mise run *", "rake *", "bin/rake *", "ninja *", "cmake *", "ctest *", "meson *",
		"npm run *", "npm run-script *", "npm test *", "npm start *", "pnpm run *", "pnpm test *", "pnpm build *", "pnpm dev *", "pnpm lint *", "pnpm format *", "pnpm typecheck *", "pnpm check *", "pnpm -r run *", "pnpm -r build *", "pnpm -r test *", "pnpm -r lint *", "pnpm --filter * run", "pnpm --filter * run *", "pnpm --filter * build", "pnpm --filter * build *", "pnpm --filter * test", "pnpm --filter * test *", "pnpm --filter * lint", "pnpm --filter * lint *", "pnpm --filter * typecheck", "pnpm --filter * typecheck *",
		"yarn run *", "yarn test *", "yarn build *", "yarn dev *", "yarn lint *", "yarn format *", "yarn typecheck *", "yarn check *", "bun run *", "deno task *", "turbo run *", "npx turbo run *", "nx *", "npx nx *", "composer run *", "composer test *", "poetry run *", "uv run *", "pdm run *", "hatch run *", "pipenv run *", "tox *", "nox *",
		"mix *", "mvn *", "./mvnw *", "gradle *", "./gradlew *", "bin/rails *", "rails *", "bundle exec *"},
		except: others + " hex.pub local.hex local.rebar escript nexus sonatype docker jib bootbuildimage db:drop db:reset ecto.drop ecto.reset runner credentials secrets -f --file --makefile --eval -e -E -C --directory --with --init-script -I --working-dir --justfile --global -g"},
	// Build, test, lint and format.
	{commands: []string{"./configure *", "cargo bench *", "cargo build *", "cargo check *", "cargo clippy *", "cargo doc *", "cargo fmt *", "cargo metadata *", "cargo nextest *", "cargo run *", "cargo test *", "cargo tree *", "rustfmt *",
		"go build *", "go clean -testcache", "go doc *", "go fmt *", "go generate *", "go list *", "go mod *", "go run . *", "go run ./*", "go test *", "go vet *", "go work *", "gofmt *", "gofumpt *", "goimports *", "golangci-lint *", "staticcheck *",
		"node --check *", "node --test *", "node -c *", "vitest *", "jest *", "mocha *", "tsc *", "eslint *", "prettier *", "biome *", "vite *", "next build *", "next lint *", "next dev *", "playwright test *", "svelte-check *", "vue-tsc *", "oxlint *",
		"npx vitest *", "npx jest *", "npx mocha *", "npx tsc *", "npx eslint *", "npx prettier *", "npx biome *", "npx @biomejs/biome *", "npx vite *", "npx next build *", "npx next lint *", "npx next dev *", "npx playwright test *", "npx svelte-check *", "npx vue-tsc *", "npx prisma generate *", "npx prisma validate *", "npx prisma format *", "npx drizzle-kit generate *",
		"pnpm vitest *", "pnpm jest *", "pnpm tsc *", "pnpm eslint *", "pnpm prettier *", "pnpm exec vitest *", "pnpm exec jest *", "pnpm exec tsc *", "pnpm exec eslint *", "pnpm exec prettier *", "yarn vitest *", "yarn jest *", "yarn tsc *", "yarn eslint *", "yarn prettier *", "bunx vitest *", "bunx tsc *", "bunx eslint *", "bunx prettier *", "bun test *", "bun build *", "deno test *", "deno lint *", "deno fmt *", "deno check *",
		"pytest *", "py.test *", "python -m pytest *", "python3 -m pytest *", "python -m unittest *", "python3 -m unittest *", "python -m py_compile *", "python3 -m py_compile *", "python -m compileall *", "python3 -m compileall *", "python -m mypy *", "python3 -m mypy *", "python -m ruff *", "python3 -m ruff *", "python -m black *", "python3 -m black *", "python -m json.tool *", "python3 -m json.tool *", "python -m build", "python3 -m build", "python manage.py test *", "python manage.py check *", "python manage.py makemigrations *", "python manage.py showmigrations *", "mypy *", "pyright *", "ruff *", "black *", "isort *", "flake8 *", "pylint *", "coverage *", "pre-commit run *",
		"ruby -c *", "rspec *", "bin/rspec *", "rubocop *", "bin/rubocop *", "standardrb *", "php -l *", "phpunit *", "vendor/bin/phpunit *", "./vendor/bin/phpunit *", "vendor/bin/pest *", "./vendor/bin/pest *", "vendor/bin/phpstan *", "vendor/bin/pint *", "php artisan test *", "php artisan route:list *", "php artisan migrate:status *",
		"dotnet build *", "dotnet clean *", "dotnet format *", "dotnet restore *", "dotnet run *", "dotnet test *", "swift build *", "swift test *", "swift package resolve", "javac *", "zig build *", "dart analyze *", "dart format *", "dart test *", "flutter analyze *", "flutter test *", "shellcheck *", "shfmt *", "hadolint *", "yamllint *", "actionlint *", "bash -n *", "sh -n *", "clang-format *", "clang-tidy *", "gcc *", "g++ *", "clang *", "clang++ *", "cc *"},
		except: "publish deploy -toolexec"},
	// Programs and scripts of the project.
	{commands: []string{"./*", "bin/*", "scripts/*", "script/*", "node *.js", "node *.js *", "node *.mjs", "node *.mjs *", "node *.cjs", "node *.cjs *", "node *.ts", "node *.ts *", "npx tsx *.ts", "npx tsx *.ts *", "tsx *.ts", "tsx *.ts *", "npx ts-node *.ts", "npx ts-node *.ts *", "python *.py", "python *.py *", "python3 *.py", "python3 *.py *", "ruby *.rb", "ruby *.rb *", "elixir *.exs", "elixir *.exs *", "bash *.sh", "bash *.sh *", "sh *.sh", "sh *.sh *", "php *.php", "php *.php *",
		".venv/bin/*", "venv/bin/*", "node_modules/.bin/*", "vendor/bin/*", "source .venv/bin/activate", "source venv/bin/activate", ". .venv/bin/activate", ". venv/bin/activate"},
		except: others + " -c -e --eval -p --print -r --require --import"},
	// Packages of the project.
	{commands: []string{"npm install *", "npm i *", "npm ci *", "npm uninstall *", "npm audit", "npm dedupe", "npm ls *", "npm list *", "npm outdated *", "npm view *", "npm info *", "pnpm install *", "pnpm i *", "pnpm add *", "pnpm remove *", "pnpm list *", "yarn", "yarn install *", "yarn add *", "yarn remove *", "bun install *", "bun add *", "bun remove *", "deno install", "deno add *", "deno cache *",
		"uv sync *", "uv add *", "uv remove *", "uv lock *", "uv venv", "uv venv .venv", "uv tree *", "poetry install *", "poetry add *", "poetry remove *", "poetry lock *", "poetry update *", "poetry show *", "pdm install *", "pdm add *", "pipenv install *", "python -m venv .venv", "python3 -m venv .venv", "python -m venv venv", "python3 -m venv venv", ".venv/bin/pip install *", "venv/bin/pip install *", "./.venv/bin/pip install *", "pip list *", "pip show *", "pip3 list *", "pip3 show *",
		"go get *", "cargo add *", "cargo remove *", "cargo update *", "cargo fetch *", "bundle", "bundle install *", "bundle add *", "bundle check", "bundle list", "bundle show *", "composer install *", "composer require *", "composer update *", "composer dump-autoload *", "composer validate *", "dotnet add *", "flutter pub get", "dart pub get"},
		except: elsewhere},
}}

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
		i := 0
		for _, group := range presets[name] {
			except := policy.Except{Others: group.edits}
			for _, word := range strings.Fields(group.except) {
				if strings.HasPrefix(word, "-") {
					except.Flags = append(except.Flags, word)
				} else {
					except.Names = append(except.Names, word)
				}
			}
			for _, command := range group.commands {
				i++
				rule := shell + "(" + command + ")"
				s.rules.AddPreset(rule, except, s.at(i))
				s.entries = append(s.entries, Entry{Origin: s.at(i), Key: key, Meaning: meaning(key), Value: strconv.Quote(rule), unit: unit(key, "")})
			}
		}
	}
	return s
}
