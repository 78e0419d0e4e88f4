package shellsafe

import "slices"

// networkPrograms lists the programs that are known to use the network. The value lists the
// subcommands that do; "": all calls do. Builds are left out: they use it only when a package
// is missing, and asking about each would wear the user out.
var networkPrograms = map[string]string{
	"curl": "", "wget": "", "aria2c": "", "http": "", "https": "", "httpie": "", "xh": "", "lynx": "", "w3m": "", "links": "", "yt-dlp": "",
	"ssh": "", "scp": "", "sftp": "", "autossh": "", "mosh": "", "ssh-copy-id": "", "ssh-keyscan": "", "telnet": "", "ftp": "", "lftp": "", "rsync": "", "rclone": "",
	"nc": "", "ncat": "", "netcat": "", "socat": "", "nmap": "", "ping": "", "ping6": "", "traceroute": "", "tracepath": "", "mtr": "", "dig": "", "host": "", "nslookup": "", "whois": "", "openssl": "s_client",
	"git":  "clone fetch pull push ls-remote submodule archive remote svn p4 send-email lfs",
	"hg":   "clone pull push incoming outgoing",
	"svn":  "checkout co update up commit ci switch export import info log list ls",
	"npm":  "install i ci add update up publish exec x audit view info search outdated login init create pack",
	"pnpm": "install i add update up publish dlx audit view outdated fetch create", "yarn": "", "bun": "install i add update publish x create", "npx": "", "pnpx": "", "bunx": "", "corepack": "",
	"deno": "install add cache publish upgrade jupyter",
	"pip":  "install download wheel index search", "pip3": "install download wheel index search", "pipx": "", "uv": "", "uvx": "", "poetry": "install add update lock publish", "pipenv": "install update sync lock", "pdm": "install add update lock sync publish", "conda": "install create update search", "mamba": "install create update search", "twine": "",
	"go":    "get mod install",
	"cargo": "fetch install update add publish search",
	"gem":   "install update push search", "bundle": "install update add outdated", "composer": "install update require create-project",
	"dotnet": "restore add publish nuget tool", "cabal": "update install",
	"apt": "install update upgrade full-upgrade dist-upgrade download source", "apt-get": "install update upgrade dist-upgrade download source", "apk": "add update upgrade fetch", "dnf": "", "yum": "", "brew": "install update upgrade fetch search",
	"docker": "pull push build run login search compose buildx", "podman": "pull push build run login search", "kubectl": "", "helm": "", "terraform": "init plan apply destroy", "tofu": "init plan apply destroy", "ansible": "", "ansible-playbook": "",
	"gh": "", "glab": "", "aws": "", "gcloud": "", "gsutil": "", "az": "", "heroku": "", "fly": "", "flyctl": "", "vercel": "", "netlify": "", "wrangler": "", "firebase": "", "psql": "", "mysql": "", "redis-cli": "", "mongosh": "",
}

// Network reports whether the command is known to use the network, or may use it because its
// subcommand is only known when it runs. Scripts and other programs may use it, too.
func (c *Command) Network() bool {
	verbs, known := networkPrograms[c.Name]
	if !known || len(c.Words) == 0 {
		return false
	}
	words := c.Words[1:]
	if c.Name == "git" {
		words = afterGlobals(words)
	}
	if verbs == "" || dynamicVerb(words) {
		return !slices.ContainsFunc(words, func(w string) bool { return w == "--version" || w == "--help" })
	}
	plain := operands(words)
	return len(plain) > 0 && has(verbs, plain[0])
}
