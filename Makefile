# The commands of everyday work. `make ci` is what has to pass.
.PHONY: build test update goldens style bench ci

build: ## one static binary
	CGO_ENABLED=0 go build -trimpath -ldflags "-s -w" -o mcp-toolset .

test: ## needs only Go and git
	go test ./...

update: ## rewrite what is generated from definitions of tools, flags and settings; read the diff
	go test ./tools/builtin ./internal/cli ./e2e . -run '^(TestSnapshots|TestToolTable|TestReference|TestWire|TestDocumentExamples)$$' -update

goldens: ## rewrite all goldens, which takes minutes; read the diff
	go test ./tools/... ./toolsearch ./e2e ./internal/cli ./internal/file/textfile ./internal/exec/sandbox . -run '^Test' -update

style: ## comments that resemble what AGENTS.md advises against
	go run ./internal/style

bench: ## beside a peer, which needs npm
	go run -C bench .

ci:
	.ci/run
