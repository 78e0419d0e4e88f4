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
	local    bool   // whether they must only talk to servers on this machine
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
	{commands: []string{"tee *", "chmod +x *", "chmod 644 *", "chmod 755 *", "chmod 600 *", "chmod 700 *", "chmod u+x *", "chmod a+x *"}},
	// The shell, which prints and waits; what runs on this machine, and servers of the project.
	{commands: []string{"true", "echo *", "cat", "sleep *", "wait *", "jobs", "jobs -l", "kill %*", "set -x", "set +x", "set +e", "break", "continue", "--version", "--help", "cd /tmp", "cd /tmp/*",
		"lsof *", "systemctl status *", "systemctl is-active *", "docker ps *", "docker images *", "docker logs *", "docker compose ps *", "docker compose logs *", "gh secret list *", "gh variable list *"}, except: "-D -H --host .."},
	{commands: []string{"printf *"}, except: "-v"},
	{commands: []string{"curl *"}, local: true},
	// git: reads and everyday writers. What loses or publishes something is a risk.
	{commands: []string{"git add *", "git blame *", "git branch *", "git cat-file *", "git check-ignore *", "git checkout *", "git cherry-pick *", "git commit *", "git config --get *", "git describe *", "git diff *", "git fetch *", "git grep *", "git init", "git log *", "git ls-files *", "git ls-tree *", "git merge *", "git merge-base *", "git mv *", "git pull *", "git rebase *", "git reflog *", "git remote", "git remote -v", "git remote add *", "git remote set-url *", "git remote get-url *", "git remote show *", "git reset", "git reset HEAD *", "git reset --soft *", "git restore *", "git rev-list *", "git rev-parse *", "git revert *", "git rm *", "git shortlog *", "git show *", "git stash *", "git status *", "git submodule status *", "git submodule update *", "git switch *", "git tag *", "git worktree add *", "git worktree list *", "git worktree prune"},
		except: "--upload-pack --exec -x -O --open-files-in-pager --ext-diff --output --template"},
	{commands: []string{"git config user.name *", "git config user.email *"}, except: "--global --system --file -f --blob"},
	{commands: []string{"git am *", "git apply *", "git clone *", "git format-patch *", "gh pr checkout *", "gh repo clone *"},
		except: "-u -c -o --upload-pack --config --template --output-directory --unsafe-paths"},
	// Tasks that the project defines.
	{commands: []string{"make *", "gmake *", "just *", "task *", "mise run *", "rake *", "bin/rake *", "ninja *", "cmake *", "ctest *", "meson *",
		"npm run *", "npm run-script *", "npm test *", "npm start *", "pnpm run *", "pnpm test *", "pnpm build *", "pnpm dev *", "pnpm lint *", "pnpm format *", "pnpm typecheck *", "pnpm check *", "pnpm -r run *", "pnpm -r build *", "pnpm -r test *", "pnpm -r lint *", "pnpm --filter * run", "pnpm --filter * run *", "pnpm --filter * build", "pnpm --filter * build *", "pnpm --filter * test", "pnpm --filter * test *", "pnpm --filter * lint", "pnpm --filter * lint *", "pnpm --filter * typecheck", "pnpm --filter * typecheck *",
		"yarn run *", "yarn test *", "yarn build *", "yarn dev *", "yarn lint *", "yarn format *", "yarn typecheck *", "yarn check *", "bun run *", "bun dev *", "bun start *", "deno task *", "composer run *", "composer test *", "dart run *", "poetry run *", "uv run *", "pdm run *", "hatch run *", "pipenv run *", "uvicorn *", "flask run *", "fastapi dev *", "streamlit run *", "alembic *", "tox *", "nox *",
		"mix *", "mvn *", "./mvnw *", "gradle *", "./gradlew *", "bin/rails *", "rails *", "bundle exec *"},
		except: others + " hex.pub local.hex local.rebar escript nexus sonatype docker jib bootbuildimage db:drop db:reset ecto.drop ecto.reset runner credentials secrets -f --file --makefile --eval -e -E -C --directory --with --init-script -I --working-dir --justfile --global -g"},
	// Build, test, lint and format.
	{commands: []string{"./configure *", "cargo bench *", "cargo build *", "cargo check *", "cargo clippy *", "cargo doc *", "cargo fmt *", "cargo metadata *", "cargo nextest *", "cargo run *", "cargo test *", "cargo tree *", "cargo llvm-cov *", "wasm-pack build *", "rustfmt *",
		"go build *", "go clean -testcache", "go doc *", "go fmt *", "go generate *", "go list *", "go mod *", "go run . *", "go run ./*", "go run *.go", "go run *.go *", "go tool cover *", "go test *", "go vet *", "go work *", "gofmt *", "gofumpt *", "goimports *", "golangci-lint *", "staticcheck *",
		"node --check *", "node --test *", "node -c *", "bun test *", "bun build *", "deno test *", "deno lint *", "deno fmt *", "deno check *",
		"pytest *", "py.test *", "python -m pytest *", "python3 -m pytest *", "python -m unittest *", "python3 -m unittest *", "python -m py_compile *", "python3 -m py_compile *", "python -m compileall *", "python3 -m compileall *", "python -m mypy *", "python3 -m mypy *", "python -m ruff *", "python3 -m ruff *", "python -m black *", "python3 -m black *", "python -m json.tool *", "python3 -m json.tool *", "python -m build", "python3 -m build", "python manage.py test *", "python manage.py check *", "python manage.py makemigrations *", "python manage.py showmigrations *", "mypy *", "pyright *", "ruff *", "black *", "isort *", "flake8 *", "pylint *", "coverage *", "pre-commit run *",
		"ruby -c *", "rspec *", "bin/rspec *", "rubocop *", "bin/rubocop *", "standardrb *", "php -l *", "phpunit *", "vendor/bin/phpunit *", "./vendor/bin/phpunit *", "vendor/bin/pest *", "./vendor/bin/pest *", "vendor/bin/phpstan *", "vendor/bin/pint *", "php artisan test *", "php artisan route:list *", "php artisan migrate:status *",
		"dotnet build *", "dotnet clean *", "dotnet format *", "dotnet restore *", "dotnet run *", "dotnet test *", "swift build *", "swift test *", "swift package resolve", "javac *", "zig build *", "dart analyze *", "dart format *", "dart test *", "dart fix *", "flutter analyze *", "flutter build *", "flutter clean", "flutter doctor", "flutter test *", "swift run *", "shellcheck *", "shfmt *", "hadolint *", "yamllint *", "actionlint *", "bash -n *", "sh -n *", "clang-format *", "clang-tidy *", "gcc *", "g++ *", "clang *", "clang++ *", "cc *"},
		except: "publish deploy -toolexec"},
	{commands: []string{"xcodebuild *"}, except: "archive -exportArchive"},
	// Other modules run what their words say, or publish and install.
	{commands: startedBy(pythonModules, "autopep8 *", "bandit *", "coverage *", "doctest *", "flake8 *", "isort *", "mkdocs build *", "nox *", "pip check", "pip freeze", "pip list *", "pip show *", "pycodestyle *", "pydocstyle *", "pyflakes *", "pylint *", "pyright *", "sphinx *", "tox *", "vulture *", "yapf *",
		"api *", "api.*", "app *", "app.*", "backend *", "backend.*", "cli *", "main *", "scripts.*", "server *", "server.*", "src *", "src.*", "tests.*", "tools.*"), except: others},
	{commands: startedBy(nodeRunners, "ava *", "astro *", "babel *", "biome *", "@biomejs/biome *", "c8 *", "cspell *", "cypress run *", "depcheck *", "drizzle-kit check *", "drizzle-kit generate *", "esbuild *", "eslint *", "expo lint *", "graphql-codegen *", "jest *", "knip *", "lint-staged *", "madge *", "markdownlint *", "mocha *", "next build *", "next dev *", "next lint *", "ng build *", "ng lint *", "ng serve *", "ng test *", "nuxi *", "nuxt *", "nyc *", "openapi-typescript *", "oxlint *", "parcel build *", "playwright test *", "prettier *", "prisma format *", "prisma generate *", "prisma validate *", "publint *", "react-scripts *", "rollup *", "shadcn add *", "shadcn@latest add *", "storybook build *", "stylelint *", "svelte-check *", "svelte-kit *", "swc *", "tailwindcss *", "tap *", "tsc *", "tsd *", "tsup *", "typedoc *", "ultracite *", "vite *", "vitest *", "vue-cli-service *", "vue-tsc *", "webpack *", "wxt *"),
		except: "deploy publish login"},
	{commands: startedBy(nodeRunners, "nx *", "turbo *", "tsx *.ts", "tsx *.ts *", "ts-node *.ts", "ts-node *.ts *"), except: others + " -e --eval -p --print -r --require --import"},
	// Programs and scripts of the project.
	{commands: []string{"./*", "bin/*", "scripts/*", "script/*", "node *.js", "node *.js *", "node *.mjs", "node *.mjs *", "node *.cjs", "node *.cjs *", "node *.ts", "node *.ts *", "bun *.ts", "bun *.ts *", "python *.py", "python *.py *", "python3 *.py", "python3 *.py *", "ruby *.rb", "ruby *.rb *", "elixir *.exs", "elixir *.exs *", "bash *.sh", "bash *.sh *", "sh *.sh", "sh *.sh *", "php *.php", "php *.php *",
		".venv/bin/*", "venv/bin/*", "node_modules/.bin/*", "vendor/bin/*", "source .venv/bin/activate", "source venv/bin/activate", ". .venv/bin/activate", ". venv/bin/activate"},
		except: others + " -c -e --eval -p --print -r --require --import"},
	// Packages of the project.
	{commands: []string{"npm install *", "npm i *", "npm ci *", "npm uninstall *", "npm audit", "npm dedupe", "npm update *", "npm prune", "npm rebuild *", "npm init -y", "npm pkg *", "npm config get *", "npm explain *", "npm why *", "npm root", "npm ls *", "npm list *", "npm outdated *", "npm view *", "npm info *", "pnpm install *", "pnpm i *", "pnpm add *", "pnpm remove *", "pnpm update *", "pnpm list *", "pnpm why *", "yarn", "yarn install *", "yarn add *", "yarn remove *", "yarn upgrade *", "bun install *", "bun add *", "bun remove *", "bun update *", "deno install", "deno add *", "deno cache *",
		"uv sync *", "uv add *", "uv remove *", "uv lock *", "uv venv", "uv venv .venv", "uv tree *", "poetry install *", "poetry add *", "poetry remove *", "poetry lock *", "poetry update *", "poetry show *", "pdm install *", "pdm add *", "pipenv install *", "python -m venv .venv", "python3 -m venv .venv", "python -m venv venv", "python3 -m venv venv", ".venv/bin/pip install *", "venv/bin/pip install *", "./.venv/bin/pip install *", "pip list *", "pip show *", "pip3 list *", "pip3 show *", "pip freeze", "pip check", "pip index versions *",
		"go get *", "cargo add *", "cargo remove *", "cargo update *", "cargo fetch *", "bundle", "bundle install *", "bundle add *", "bundle check", "bundle list", "bundle show *", "composer install *", "composer require *", "composer update *", "composer dump-autoload *", "composer validate *", "dotnet add *", "flutter pub get", "flutter pub add *", "flutter pub remove *", "flutter pub upgrade *", "flutter pub outdated", "flutter pub deps *", "dart pub get", "dart pub add *", "dart pub remove *", "dart pub upgrade *", "dart pub outdated", "dart pub deps *"},
		except: elsewhere},
	{commands: []string{"uv pip *"}, except: elsewhere + " --python -p"},
}}

// nodeRunners and pythonModules are the beginnings of commands that run a program of a package.
var (
	nodeRunners   = []string{"", "npx ", "npx --no-install ", "npx -y ", "npx --yes ", "npm exec ", "npm exec -- ", "bunx ", "pnpm ", "pnpm exec ", "yarn ", "yarn exec "}
	pythonModules = []string{"python -m ", "python3 -m "}
)

// startedBy returns each of the commands after each of the beginnings.
func startedBy(beginnings []string, commands ...string) (all []string) {
	for _, beginning := range beginnings {
		for _, command := range commands {
			all = append(all, beginning+command)
		}
	}
	return all
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
		i := 0
		for _, group := range presets[name] {
			except := policy.Except{Others: group.edits, Remote: group.local}
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
