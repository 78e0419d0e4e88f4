package sandbox

import "strings"

// harmless lists the hidden names of a home folder that hold no credentials, except
// those in secrets, cacheSecrets and settingsFiles. They are toolchains and
// settings that builds read. A * in the last name of a path matches any characters.
var harmless = fields(`
	.cache .ccache .local/bin .local/lib .local/include .local/man .local/libexec .local/opt .local/go .local/pipx

	.asdf .asdfrc .tool-versions .mise .mise.toml .rtx .nix-profile .nix-defexpr .nix-channels .local/state/nix .local/share/nix .config/nix/nix.conf
	.local/share/mise .config/mise .local/share/rtx .config/rtx .local/share/aquaproj-aqua .proto .config/aqua .linuxbrew .homebrew .devbox

	.go .goenv .gvm .gopath .config/go .config/gopls .config/golangci-lint .golangci.yml .golangci.yaml .local/share/go
	.cargo .rustup .rustfmt.toml .config/rustfmt .local/share/cargo .local/share/rustup .config/cargo .xargo .wasmer .wasmtime
	.npm .npm-global .npm-packages .npm-init.js .node-gyp .node_modules .nvm .nvmrc .node-version .fnm .n .nodenv .volta .bun .bunfig.toml .deno .esmrc .yarn .pnpm
	.pnpm-store .pnpm-state .corepack .tsserver .ts-node .local/share/pnpm .local/state/pnpm .config/pnpm .local/share/fnm .local/share/nvm .config/nvm .local/share/volta
	.config/yarn .config/configstore .local/share/yarn .config/turborepo .nx .angular-config.json .eslintrc .eslintrc.* .prettierrc .prettierrc.* .babelrc .stylelintrc
	.config/prettier .config/eslint .config/tsc .config/bun .config/deno .cypress .ms-playwright .puppeteer .browserslistrc .bower .bowerrc .mocharc.* .swcrc .esbuild
	.pip .config/pip .pyenv .python-version .pythonrc .pythonrc.py .pythonstartup.py .pydistutils.cfg .virtualenvs .venv .venvs .poetry .pdm .hatch .rye .uv .conda .condarc .mambarc .mamba
	.anaconda .miniconda3 .miniforge3 .mambaforge .micromamba .matplotlib .ipython .pylintrc .pylint.d .flake8 .isort.cfg .mypy.ini .mypy_cache .ruff.toml .ruff_cache .style.yapf
	.pytest_cache .coveragerc .keras .torch .theano .theanorc .nltk_data .spacy .cookiecutters .cookiecutterrc .copier .jupyterlab .dask .config/dask .config/matplotlib .config/pypoetry
	.config/uv .config/pdm .config/hatch .config/ruff .config/flake8 .config/pycodestyle .config/mypy .config/yapf .config/conda .config/pudb .config/rye .local/share/uv .local/share/virtualenv
	.local/share/virtualenvs .local/share/pypoetry .local/share/pdm .local/share/hatch .local/share/pipx .local/share/rye .local/pipx .local/share/mamba .local/share/jupyter .local/share/pip
	.local/share/python .local/state/python .config/pre-commit .local/share/pre-commit .pre-commit-config.yaml

	.java .jenv .sdkman .jbang .m2 .mvn .mavenrc .gradle .ivy2 .sbt .sbtopts .jvmopts .coursier .bloop .metals .ammonite .scala .scalafmt.conf .kotlin .konan .lein .clojure .boot .groovy .config/clojure
	.local/share/coursier .config/scala .config/scala-cli .local/share/scalacli .config/bleep .antrc .ant .jdks .swt .openjfx .config/lein .takari .mono
	.dotnet .nuget .templateengine .omnisharp .config/NuGet .local/share/NuGet .config/dotnet .local/share/dotnet .aspnet .vs-kubernetes .local/share/Microsoft .local/share/powershell .config/powershell
	.android .flutter .flutter-devtools .flutter_tool_state .flutter_settings .dart .dart-tool .dartServer .pub-cache .config/flutter .config/dart .fvm .fvm_flutter .cocoapods .swiftpm .swift-version .swiftenv .local/share/swiftly .config/swiftpm
	.gem .gemrc .bundle .rbenv .rbenv-version .rvm .rvmrc .ruby-version .chruby .irbrc .pryrc .rspec .rubocop.yml .rubocop .solargraph .local/share/gem .local/share/rbenv .local/share/rvm .config/rubocop .config/irb .config/ruby
	.composer .config/composer .local/share/composer .phpenv .phpbrew .php-cs-fixer.* .phpunit .config/php .phive .config/valet
	.perl5 .cpan .cpanm .cpanreporter .plenv .perlbrew .perltidyrc .perlcriticrc .perldb .proverc
	.ghc .ghci .ghcup .cabal .stack .stack-work .haskeline .hlint.yaml .hoogle .config/cabal .local/state/cabal .local/share/stack .config/stack .config/hls .config/fourmolu.yaml .local/share/ghcup .ghcid
	.opam .ocamlinit .ocamlformat .esy .dune .config/dune .config/ocaml .elan .lean .coq .coqrc .config/coq .agda .idris2 .isabelle
	.mix .hex .iex.exs .erlang .erlang.crypt .kerl .kerlrc .kiex .evm .elixir .elixir_ls .config/rebar3 .local/share/elixir .exenv .gleam .config/gleam
	.julia .juliaup .juliarc.jl .config/julia .R .Rprofile .Rbuildignore .octaverc .config/octave .config/R .sage .maxima .wolframengine .nimble .nim .config/nim .choosenim .crystal .config/crystal .shards
	.zig .zvm .zigup .config/zls.json .zls .v .vmodules .vlang .dmd .dub .dubrc .racket .local/share/racket .guile .local/share/guile .roswell .sbclrc .quicklisp .config/common-lisp .lua .luarocks .luarc.json .config/luarocks
	.luaenv .hererocks .fpm .roc .grain .purs .spago .pulp .elm .config/elm .fpc .lazarus .gnat .alire .config/alire .local/share/alire .odin .unison .foundry .svm .solc-select .config/solc .huff .noir .nargo .starkli .scarb
	.bazel .bazelrc .bazelisk .bazeliskrc .buck .buckconfig .pants.rc .earthly .please .cmake .config/cmake .config/ccache .conan .conan2 .vcpkg .local/share/vcpkg .config/vcpkg .hunter .xmake .ninja_log .scons .config/sccache .meson .local/share/meson
	.clang-format .clang-tidy .clangd .config/clangd .gdbinit .gdbinit.d .config/gdb .lldbinit .lldb .valgrindrc .config/lldb .cgdb .distcc .platformio .platformio-home .arduino15 .arduinoIDE .espressif .pico-sdk .zephyrrc .keil .stm32cubemx .segger
	.emscripten .emscripten_cache .emscripten_ports .emsdk .wine .protoc .buf .config/buf .local/share/buf .terraform.d .terraform-version .tfenv .tfswitch .tofu.d .terragrunt-cache .tflint.d .tflint.hcl .helm .local/share/helm .config/helm .krew .asdf-vm
	.docker .local/share/containers .config/containers .config/docker .local/share/docker .ansible .ansible.cfg .vagrant.d .packer.d .pulumi .kube-cache .kind .arkade .k8slens-none .lima .colima .orbstack

	.dotfiles .local/share/chezmoi .config/home-manager .config/nixpkgs .config/chezmoi .git .gitconfig .gitconfig* .gitignore .gitignore_global .gitattributes .gitattributes_global .gitmodules .gitmessage .gitmessage.txt .gitk .git-templates .git-template .git_template .git_hooks .githooks .config/git
	.git-completion.bash .git-prompt.sh .git-blame-ignore-revs .mailmap .tigrc .config/tig .hgrc .hgignore .hgignore_global .config/hg .jjconfig.toml .config/jj .subversion .svn .bazaar .config/lazygit .config/git-cola .pre-commit .husky .config/husky
	.github .gitlab .gitlab-ci.yml .travis.yml .circleci/config.yml .editorconfig .ignore .rgignore .fdignore .dockerignore .npmignore .ripgreprc .config/ripgrep .ackrc .agignore .ctags .ctags.d .globalrc .config/fd .config/bat .config/delta

	.bashrc .bashrc.d .bash_profile .bash_login .bash_logout .bash_aliases .bash_completion .bash_completion.d .bash_functions .bash_prompt .bash_it .bash-it .oh-my-bash .blerc .profile .login .logout .inputrc .config/bash .config/readline .local/share/bash-completion
	.zshrc .zshenv .zprofile .zlogin .zlogout .zsh .zshrc.d .zcompdump* .zsh_aliases .zsh_plugins* .oh-my-zsh .zinit .zplug .zgen .zim .zimrc .zpreztorc .zprezto .antigen .antigenrc .antidote .p10k.zsh .config/zsh .local/share/zinit .local/share/zsh .config/zim
	.kshrc .mkshrc .cshrc .tcshrc .shrc .ashrc .aliases .functions .exports .path .config/fish .local/share/fish .config/omf .local/share/omf .fisher .config/nushell .config/elvish .xonshrc .config/xonsh .config/starship.toml .config/starship .hushlogin .sudo_as_admin_successful
	.dircolors .dir_colors .config/dircolors .terminfo .termcap .screenrc .tmux .tmux.conf .config/tmux .local/share/tmux .config/zellij .config/screen .config/htop .config/btop .config/bottom .toprc .config/procps .lesskey .less .lessfilter .config/lesskey .wgetrc .curlrc .config/curlrc .nanorc .nano .config/nano .selected_editor
	.vim .vimrc .gvimrc .ideavimrc .exrc .config/vim .config/nvim .local/share/nvim .local/state/nvim .vimspector.json .config/coc .config/lvim .local/share/lunarvim .emacs .emacs.d .emacs.el .doom.d .spacemacs .spacemacs.d .config/emacs .config/doom .local/share/emacs
	.config/helix .config/kak .config/micro .config/sublime-text .config/kate .joerc .joe .vscode .vscode-server .vscode-oss .vscode-remote .vscodium-server .config/Code/User/settings.json .config/Code/User/keybindings.json .config/Code/User/snippets .cursor .cursor-server .idea .fleet
	.psqlrc .sqliterc .config/sqlite3 .direnvrc .config/direnv .local/share/direnv .local/share/zoxide .config/zoxide .z .fasd .autojump .fzf .fzf.bash .fzf.zsh .config/fzf .local/share/autojump .local/share/broot .config/broot .config/ranger .config/lf .config/yazi .config/just .justfile .envrc

	.config/fontconfig .fonts .fonts.conf .fonts.conf.d .local/share/fonts .local/share/icons .icons .themes .local/share/themes .local/share/mime .local/share/applications .config/mimeapps.list .config/user-dirs.dirs .config/user-dirs.locale .config/user-dirs.conf .local/share/man .local/share/info .local/share/locale .local/share/doc .local/share/glib-2.0
	.config/gtk-2.0 .config/gtk-3.0 .config/gtk-4.0 .gtkrc .gtkrc-2.0 .config/qt5ct .config/qt6ct .config/Trolltech.conf .config/QtProject.conf .config/QtProject .config/dconf .config/locale.conf .config/environment.d .config/alacritty .config/kitty .config/wezterm .config/foot .config/ghostty .Xresources .Xdefaults .xinitrc .xprofile .xsession .XCompose .pam_environment .local/share/desktop-directories
	.texlive* .texmf .texmf-var .texmf-config .latexmkrc .config/latexmk .config/texstudio .config/chktexrc .pandoc .local/share/pandoc .config/pandoc .local/share/typst .config/typst .gnuplot .gnuplotrc .config/gnuplot .config/mpv .config/ffmpeg .ffmpeg .gimp-2.8 .config/inkscape .magick .config/ImageMagick .graphviz .plantuml .config/yt-dlp .aspell.* .hunspell_default .config/enchant .vale.ini .config/vale .vale .config/cspell .markdownlint.* .markdownlintrc .yamllint .config/yamllint .shellcheckrc .config/shellcheckrc .hadolint.yaml .config/hadolint.yaml .sqlfluff .taplo.toml
	.claude .codex .gemini .mcp.json .cursorrules .agents .config/mcp-toolset .mcp-toolset .config/systemd/user .config/environment .lynxrc .plan .project .face .face.icon .parallel .config/parallel .gitpod.yml .devcontainer .dir-locals.el .lldbinit-Xcode .CFUserTextEncoding .DS_Store
`)

// settingsFiles lists files that tools need and that include credentials only for
// some users. credential decides by their content whether they are secrets.
var settingsFiles = fields(`
	.config/chezmoi/* .gitconfig* .config/git/* .git/config .hgrc .jjconfig.toml .config/jj/config.toml
	.npmrc .yarnrc .yarnrc.yml .bunfig.toml .config/pnpm/rc .config/configstore/* .config/yarn/*
	.pip/pip.conf .config/pip/pip.conf .pydistutils.cfg .config/pypoetry/config.toml .config/uv/uv.toml .condarc .mambarc .conda/.condarc .config/conda/.condarc
	.nuget/NuGet/NuGet.Config .nuget/NuGet/*.config .config/NuGet/* .m2/settings.xml .mavenrc .gradle/gradle.properties .gradle/init.gradle .gradle/init.gradle.kts .gradle/init.d/* .sbt/repositories .sbt/*.sbt .sbt/1.0/*.sbt .lein/profiles.clj .lein/credentials.clj .coursier/*.properties
	.bundle/config .gemrc .composer/config.json .config/composer/config.json .cargo/config .cargo/config.toml .cabal/config .config/cabal/config .stack/config.yaml .config/dart/pub-tokens.json .conan/remotes.json .conan2/remotes.json .opam/config .config/nix/nix.conf .Rprofile .luarocks/upload_config.lua .luarocks/config*
	.bashrc .bashrc.d/* .bash_profile .bash_login .bash_aliases .profile .login .zshrc .zshenv .zprofile .zlogin .kshrc .cshrc .tcshrc .aliases .functions .exports .config/fish/config.fish .config/fish/conf.d/* .config/fish/fish_variables .config/zsh/.zshrc .config/zsh/.zshenv .envrc .direnvrc .config/direnv/* .pam_environment .config/environment.d/* .zsh_aliases .bash_functions
	.config/turborepo/* .config/systemd/user/* .config/helm/repositories.yaml .helm/repository/repositories.yaml .cpan/CPAN/MyConfig.pm .gemini/*.json
	.wgetrc .curlrc .config/curlrc .ripgreprc .ansible.cfg .vagrant.d/Vagrantfile .docker/daemon.json .psqlrc .mcp.json .claude/settings*.json .claude/*.json .codex/config.toml .gemini/settings.json .gemini/.env .cursor/*.json .vscode/*.json .config/Code/User/settings.json .config/mcp-toolset/settings.json .mcp-toolset/settings.json .config/mise/config.toml .mise.toml .pulumi/*.json .terraform.d/*.rc .config/containers/registries.conf .android/*.properties
`)

// fields splits a table into names.
func fields(table string) []string { return strings.Fields(table) }
