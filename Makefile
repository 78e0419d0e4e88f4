# The commands of everyday work. `make ci` is what has to pass.
.PHONY: build test update style bench ci

build: ## one static binary
	CGO_ENABLED=0 go build -trimpath -ldflags "-s -w" -o mcp-toolset .

test: ## needs only Go and git
	go test ./...

update: ## rewrite goldens, snapshots, and what is generated or shown in the documents; read the diff
	go test ./tools/... ./e2e ./internal/cli ./internal/textfile . -update

style: ## comments that resemble what AGENTS.md advises against
	go run ./internal/style

bench: ## beside a peer, which needs npm
	go run -C bench .

ci:
	.ci/run
