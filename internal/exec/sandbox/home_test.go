package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// plantedSecrets lists the credential files of common tools.
var plantedSecrets = strings.Fields(`
	.ssh/id_rsa .ssh/config .gnupg/private-keys-v1.d/k .putty/key.ppk .pki/nssdb/key4.db .cert/me.p12 .age/key.txt .config/age/keys.txt .config/sops/age/keys.txt .password-store/a.gpg
	.local/share/keyrings/login.keyring .local/share/kwalletd/kdewallet.kwl .config/keepassxc/keepassxc.ini Passwords.kdbx Documents/Passwords.kdbx .config/Bitwarden/data.json .config/1Password/settings/settings.json .config/op/config .lastpass/blob
	.netrc _netrc .authinfo .authinfo.gpg .pgpass .my.cnf .mylogin.cnf .mongorc.js .dbt/profiles.yml .snowsql/config .local/share/DBeaverData/workspace6/General/.dbeaver/credentials-config.json .msmtprc .mbsyncrc .fetchmailrc .offlineimaprc .config/neomutt/neomuttrc .config/himalaya/config.toml
	.smbcredentials .vnc/passwd .config/filezilla/sitemanager.xml .local/share/remmina/a.remmina .config/rclone/rclone.conf .davfs2/secrets .git-credentials .config/git/credentials .subversion/auth/svn.simple/a
	.config/gh/hosts.yml .config/hub .config/github-copilot/hosts.json .config/glab-cli/config.yml .config/tea/config.yml .aws/credentials .aws/sso/cache/a.json .awsvault/keys/a .azure/accessTokens.json .azure/msal_token_cache.json .config/gcloud/credentials.db .config/gcloud/application_default_credentials.json
	.boto .s3cfg .mc/config.json .oci/config .aliyun/config.json .tccli/default.credential .bluemix/config.json .config/doctl/config.yaml .config/hcloud/cli.toml .config/scw/config.yaml .config/linode-cli .vultr-cli.yaml .config/exoscale/exoscale.toml .civo.json .ovh.conf .config/openstack/clouds.yaml .cf/config.json
	.fly/config.yml .config/netlify/config.json .local/share/com.vercel.cli/auth.json .config/configstore/firebase-tools.json .config/.wrangler/config/default.toml .wrangler/config/default.toml .config/ngrok/ngrok.yml .ngrok2/ngrok.yml .cloudflared/cert.pem .railway/config.json .expo/state.json .supabase/access-token .config/heroku/accounts .local/share/heroku/a .vercel/auth.json .surgerc
	.kube/config .minikube/profiles/minikube/client.key .k3d/kubeconfig .rancher/cli2.json .talos/config .config/argocd/config .argocd/config .config/helm/registry/config.json .config/k9s/clusters/a
	.config/stripe/config.toml .sentryclirc .circleci/cli.yml .travis/config.yml .twilio-cli/config.json .doppler/.doppler.yaml .infisical/config.json .dogrc .jira.d/config.yml .config/.jira/.config.yml .tsh/keys/a .step/config/defaults.json .step/secrets/key
	.docker/config.json .docker/contexts/tls/a/key.pem .config/containers/auth.json .dockercfg .pulumi/credentials.json .terraform.d/credentials.tfrc.json .terraformrc .vault-token .databrickscfg .kaggle/kaggle.json .huggingface/token .cache/huggingface/token .cache/huggingface/stored_tokens .wandb/settings .config/wandb/settings
	.jupyter/jupyter_server_config.json .local/share/jupyter/runtime/kernel-1.json .ansible/galaxy_token .vault_pass .chef/me.pem .env .env.local .secrets/a .ipython/profile_default/security/ipcontroller-client.json
	.claude/.credentials.json .claude.json .config/Claude/claude_desktop_config.json .codex/auth.json .gemini/oauth_creds.json .cursor/mcp.json .codeium/windsurf/mcp_config.json .continue/config.json .aider.conf.yml .qwen/oauth_creds.json .local/share/opencode/auth.json .config/opencode/opencode.json .config/goose/secrets.yaml .config/amp/settings.json .local/share/amp/secrets.json .config/io.datasette.llm/keys.json .ollama/id_ed25519
	.android/adbkey .config/borg/keys/a .pypirc .m2/settings-security.xml .config/pypoetry/auth.toml .cargo/credentials .cargo/credentials.toml .gem/credentials .local/share/gem/credentials .composer/auth.json .config/composer/auth.json .hex/hex.config .config/dart/pub-credentials.json .pub-cache/credentials.json .sbt/.credentials .ivy2/.credentials
	.mozilla/firefox/a/logins.json .librewolf/a/key4.db .config/google-chrome/Default/Cookies .config/google-chrome-beta/Default/Cookies .config/chromium/Default/Cookies .config/BraveSoftware/a .config/microsoft-edge/a .config/vivaldi/a .config/opera/a snap/firefox/common/.mozilla/a snap/chromium/a .var/app/org.mozilla.firefox/a .thunderbird/a/logins.json .local/share/evolution/a
	.config/Slack/Cookies .config/discord/a .config/Signal/config.json .local/share/TelegramDesktop/tdata/a .weechat/irc.conf .config/Code/User/globalStorage/state.vscdb .config/Cursor/User/globalStorage/state.vscdb .config/JetBrains/IntelliJIdea2024.1/c.kdbx .bitcoin/wallet.dat .ethereum/keystore/a .electrum/wallets/a .config/solana/id.json .foundry/keystores/a
	.Xauthority .ICEauthority .bash_history .zsh_history .local/share/fish/fish_history .local/share/atuin/history.db .python_history .node_repl_history .psql_history .mysql_history .rediscli_history .sqlite_history .viminfo .lesshst .claude/projects/a/s.jsonl .claude/history.jsonl
	.unknown-tool/config.toml .unknownrc .config/unknown/token .local/share/unknown/auth.json .local/state/unknown/log
`)

// plantedTools lists files that toolchains and shells need.
var plantedTools = strings.Fields(`
	.bashrc .profile .bash_profile .zshrc .zshenv .inputrc .vimrc .tmux.conf .gitconfig .gitignore_global .config/git/config .config/git/ignore .config/git/attributes .editorconfig .terminfo/x/xterm .config/fish/config.fish .config/nvim/init.lua .emacs.d/init.el .config/htop/htoprc
	.cargo/bin/cargo .cargo/env .cargo/config.toml .cargo/registry/index/a .rustup/toolchains/stable/bin/rustc .rustup/settings.toml .nvm/nvm.sh .nvm/versions/node/v22/bin/node .npmrc .npm/_cacache/a .yarnrc .yarnrc.yml .yarn/berry/cache/a .pnpm-store/a .local/share/pnpm/store/a .config/pnpm/rc .bun/bin/bun .deno/bin/deno .volta/bin/node .local/share/fnm/a .config/yarn/global/package.json .config/configstore/update-notifier-npm.json
	.pyenv/shims/python .pip/pip.conf .config/pip/pip.conf .cache/pip/a .cache/uv/a .local/share/uv/python/a .local/bin/uv .local/lib/python3.12/site-packages/a .config/pypoetry/config.toml .local/share/virtualenvs/a/bin/python .local/share/pypoetry/venv/bin/poetry .cache/pypoetry/a .conda/environments.txt .condarc .mambarc .matplotlib/fontlist.json .ipython/profile_default/ipython_config.py
	.m2/settings.xml .m2/repository/a.jar .gradle/gradle.properties .gradle/caches/a .gradle/wrapper/dists/a .sbt/boot/a .ivy2/cache/a .sdkman/candidates/java/current/bin/java .jenv/shims/java .java/fonts/a .cache/coursier/a .kotlin/a .konan/a
	.dotnet/tools/a .nuget/packages/a .nuget/NuGet/NuGet.Config .config/NuGet/NuGet.Config .local/share/NuGet/v3-cache/a .gem/ruby/3.3.0/a .gemrc .bundle/config .bundle/cache/a .rbenv/shims/ruby .rvm/scripts/rvm .composer/vendor/bin/a .composer/config.json .config/composer/config.json .cache/composer/a
	.ghcup/bin/ghc .cabal/packages/a .cabal/config .stack/config.yaml .local/state/cabal/store/a .opam/default/bin/ocaml .elan/bin/lean .julia/packages/a .mix/archives/a .hex/packages/a .kerl/a .pub-cache/hosted/a .config/flutter/settings .dart-tool/a .config/dart/pub-tokens.json .zig/a .swiftpm/a .cache/zig/a .android/avd/a .cpan/a .perl5/lib/a
	.asdf/shims/a .tool-versions .local/share/mise/shims/a .config/mise/config.toml .goenv/a .cache/go-build/a go/pkg/mod/a .config/go/env .cache/bazel/a .bazelrc .conan2/p/a .ccache/a .terraform.d/plugins/a .docker/cli-plugins/docker-compose .docker/daemon.json .local/share/fonts/a .local/share/applications/a.desktop .config/systemd/user/a.service
	Documents/a.txt projects/a.go proj/.env proj/.npmrc proj/.ssh/key dotfiles/ssh/config snap/hello/a .github/workflows/a.yml .vscode/settings.json .claude/CLAUDE.md .claude/skills/a .codex/config.toml
`)

// TestHome checks that of the files of common tools, those with credentials are
// hidden, by the policy and in commands, and those that toolchains need are not.
func TestHome(t *testing.T) {
	needUnix(t)
	if len(plantedSecrets) < 150 || len(plantedTools) < 60 {
		t.Fatalf("there are %d secrets and %d files of tools", len(plantedSecrets), len(plantedTools))
	}
	h := home(t, slices.Concat(plantedSecrets, plantedTools)...)
	for _, granted := range [][]string{nil, {h}, {filepath.Dir(h)}} {
		read, hide := Readable(h, granted)
		readable := func(path string) bool {
			return (len(granted) > 0 || belowAny(path, read)) && !belowAny(path, hide)
		}
		judge := NewHome(h, granted)
		for _, name := range plantedSecrets {
			path := filepath.Join(h, name)
			if _, ok := judge.Secret(path); !ok {
				t.Errorf("%s is no secret", name)
			}
			if readable(path) {
				t.Errorf("with %q granted, commands read %s", granted, name)
			}
		}
		for _, name := range plantedTools {
			path := filepath.Join(h, name)
			if s, ok := judge.Secret(path); ok {
				t.Errorf("%s is a secret: %+v", name, s)
			}
			if !readable(path) || !belowAny(path, read) {
				t.Errorf("with %q granted, commands do not read %s", granted, name)
			}
		}
	}
}

// TestHomeRoots checks that a root below the home folder grants hidden names in it,
// except names that are known to hold credentials.
func TestHomeRoots(t *testing.T) {
	needUnix(t)
	h := home(t, ".dotfiles/vim/.vimrc", ".dotfiles/x", ".config/foo/c", ".config/bar/c", ".ssh/key", ".tool/bin/run", ".tool/token")
	judge := NewHome(h, []string{h, h + "/.dotfiles", h + "/.config/foo", h + "/.ssh"})
	for name, want := range map[string]string{
		".dotfiles/x": "", ".dotfiles": "", ".config": "", ".config/foo/c": "", ".config/bar/c": ".config/bar", ".config/bar": ".config/bar",
		".ssh/key": ".ssh", ".tool/token": ".tool", "": "", "a": "", ".config/gh/hosts.yml": ".config/gh",
	} {
		s, ok := judge.Secret(filepath.Join(h, name))
		if want != "" {
			want = h + "/" + want
		}
		if ok != (want != "") || s.Path != want {
			t.Errorf("%q: %+v, want %q", name, s, want)
		}
	}
	_, hide := Readable(h, []string{h, h + "/.dotfiles", h + "/.config/foo", h + "/.tool/bin"})
	for name, want := range map[string]bool{
		".dotfiles/x": false, ".dotfiles/vim/.vimrc": false, ".config/foo/c": false, ".config/bar/c": true, ".ssh/key": true, ".tool/bin/run": false, ".tool/token": true,
	} {
		if got := belowAny(filepath.Join(h, name), hide); got != want {
			t.Errorf("%s: hidden is %v", name, got)
		}
	}
}

// TestOtherHomes checks that the names also apply in the home folders of other
// users, and nowhere else.
func TestOtherHomes(t *testing.T) {
	needUnix(t)
	judge := NewHome("/srv/me", nil)
	for path, want := range map[string]bool{
		"/srv/me/.aws/credentials": true, "/root/.aws/credentials": true, "/home/x/.aws/credentials": true, "/Users/x/.aws/credentials": true, "/Users/x/Library/Keychains/k": true,
		"/home/x/proj/.npmrc": false, "/home/.aws/credentials": false, "/srv/proj/.aws/credentials": false, "/rooted/.aws/x": false, "/home": false, "/home/x": false,
	} {
		if _, ok := judge.Secret(path); ok != want {
			t.Errorf("%s: %v", path, ok)
		}
	}
	for folder, want := range map[string]bool{
		"/": true, "/srv": true, "/srv/me": true, "/home": true, "/home/x": true, "/home/x/.config": true, "/home/x/.ssh": true, "/home/x/.cargo": true, "/home/x/.foo": true, "/home/x/snap": true, "/home/x/Documents": true,
		"/srv/proj": false, "/home/x/proj": false, "/home/x/.cargo/registry": false, "/usr": false,
	} {
		if got := judge.Below(folder); got != want {
			t.Errorf("below %s: %v", folder, got)
		}
	}
}

// TestCredential checks settings with and without a credential.
func TestCredential(t *testing.T) {
	for _, text := range []string{
		"[url \"https://u:tok3n@github.com/\"]\n\tinsteadOf = https://github.com/",
		"[url \"https://0123456789abcdef0123@github.com/\"]",
		"[http]\n\textraHeader = Authorization: Basic dTpw",
		"[http]\n\textraheader = PRIVATE-TOKEN: abc",
		"[github]\n\toauth-token = abc", "[sendemail]\n\tsmtpPass = abc", "[user]\n\ttoken = ghp_0123456789abcdefghij",
		"//registry.npmjs.org/:_authToken=abc", "_auth=dTpw", "//r/:_password=\"abc\"", "npmAuthToken: abc", "npmAuthIdent: \"u:p\"",
		"[global]\nindex-url = https://u:p@pypi.example.com/simple", "channels:\n  - https://conda.anaconda.org/t/x/y\nchannel_alias: https://u:p@c/",
		"<server><password>abc</password></server>", "<add key=\"ClearTextPassword\" value=\"abc\" />", "<packageSourceCredentials>\n<a/>", "<apikeys><add key=\"x\"/>",
		"BUNDLE_GEMS__CONTRIBSYS__COM: \"u:p\"", "BUNDLE_ENTERPRISE__EXAMPLE__COM: abc",
		"systemProp.gradle.wrapperPassword=abc", "signing.password=abc", "ossrhToken: 'abc'", "mavenPassword=abc",
		"export GITHUB_TOKEN=abc", "export OPENAI_API_KEY=\"abc\"", "set -gx GITHUB_TOKEN abc", "setenv API_KEY abc", "DB_PASSWORD=abc", "AWS_SECRET_ACCESS_KEY=abc",
		"user = me:abc", "--user me:abc", "proxy-user = \"me:abc\"", "password = abc", "\"apiKey\": \"abc\"", "{\"env\": {\"X_TOKEN\": \"abc\"}}", "-----BEGIN OPENSSH PRIVATE KEY-----",
		"[registry]\ntoken = \"abc\"", "AKIAIOSFODNN7EXAMPLE0", "{\"headers\": {\"Authorization\": \"Bearer abc\"}}",
	} {
		if !credential(text) {
			t.Errorf("no credential is seen in\n%s", text)
		}
		if credential(withoutCredentials(text)) {
			t.Errorf("a credential is left of\n%s", text)
		}
	}
	for _, text := range []string{
		"[user]\n\tname = A\n\temail = a@b.c\n[credential]\n\thelper = store --file ~/.x\n[core]\n\taskPass = /usr/bin/x", "[url \"git@github.com:\"]\n\tinsteadOf = https://github.com/",
		"[url \"ssh://git@github.com/\"]\n\tinsteadOf = https://github.com/", "[credential \"https://github.com\"]\n\tusername = me", "[gpg]\n\tprogram = gpg\n[user]\n\tsigningkey = 0123ABCD",
		"//registry.npmjs.org/:_authToken=${NPM_TOKEN}", "registry=https://registry.npmjs.org/\nfund=false", "nodeLinker: node-modules", "[global]\nindex-url = https://pypi.org/simple",
		"index-url = https://${U}:${P}@pypi.example.com/simple", "<password>${env.P}</password>", "<settings><localRepository>x</localRepository></settings>",
		"BUNDLE_PATH: \"vendor/bundle\"", "BUNDLE_BUILD__NOKOGIRI: \"--use-system-libraries\"", "org.gradle.jvmargs=-Xmx2g\norg.gradle.caching=true", "mavenPassword=$P",
		"export PATH=$HOME/bin:$PATH\nalias ll='ls -l'\nexport GITHUB_TOKEN=$(gh auth token)", "export EDITOR=vim", "password_file = /x\n", "channels:\n  - conda-forge", "[net]\ngit-fetch-with-cli = true", "# put the token here",
		"[build]\njobs = 4", "user = me", "no-token: true", "[registries.x]\nindex = \"sparse+https://r/index/\"", "",
	} {
		if credential(text) {
			t.Errorf("a credential is seen in\n%s", text)
		}
	}
}

// TestReadableLinks checks that links with harmless names grant settings stored
// under hidden names, and nothing else.
func TestReadableLinks(t *testing.T) {
	needUnix(t)
	h := home(t, ".mine/vimrc", ".mine/nvim/init.lua", ".mine/token", ".mine/x", ".ssh/key")
	touch(t, h+"/.mine/gitconfig", "[user]\n\tname = a\n")
	touch(t, h+"/.mine/npmrc", "//r/:_authToken=abc\n")
	touch(t, h+"/.config/a", "")
	touch(t, h+"/.cache/a", "")
	touch(t, h+"/.cargo/a", "")
	for link, to := range map[string]string{
		".vimrc": ".mine/vimrc", ".gitconfig": ".mine/gitconfig", ".npmrc": ".mine/npmrc", ".config/nvim": "../.mine/nvim", ".zshrc": ".ssh/key", ".odd": ".mine/x", "plain": ".mine/token", ".cache/l": "../.mine/x", ".cargo/l": "../.mine/x",
	} {
		if err := os.Symlink(to, filepath.Join(h, link)); err != nil {
			t.Fatal(err)
		}
	}
	for _, granted := range [][]string{nil, {h}} {
		read, hide := Readable(h, granted)
		for name, want := range map[string]bool{
			".mine/vimrc": true, ".mine/nvim/init.lua": true, ".mine/gitconfig": true, ".mine/npmrc": false, ".mine/token": false, ".mine/x": false, ".ssh/key": false,
		} {
			path := filepath.Join(h, name)
			want = want && granted == nil // a command could have made the link
			if got := (granted != nil || belowAny(path, read)) && !belowAny(path, hide); got != want {
				t.Errorf("with %q granted, %s is readable: %v", granted, name, got)
			}
		}
	}
}

func BenchmarkReadable(b *testing.B) {
	h := b.TempDir()
	for _, name := range slices.Concat(plantedSecrets, plantedTools) {
		path := filepath.Join(h, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(strings.Repeat("alias ll='ls -l' # a line of settings\n", 100)), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		Readable(h, []string{h})
	}
}

// TestHomeCase checks that names of secrets match in upper and lower case, since
// some file systems ignore case.
func TestHomeCase(t *testing.T) {
	h := NewHome("/home/u", []string{"/home/u"})
	for _, path := range []string{".SSH/id_rsa", ".cargo/Credentials.toml", ".claude/.Credentials.json", ".Unknown/x"} {
		if s, ok := h.Secret("/home/u/" + path); !ok || !strings.HasPrefix("/home/u/"+path, s.Path) {
			t.Errorf("%s: %+v, %v", path, s, ok)
		}
	}
	if _, ok := h.Secret("/home/u/.config/NuGet/x"); ok {
		t.Error("a folder of a tool is a secret")
	}
}
