package sandbox

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// The limits of the output that Blocked examines. The reason of a failure is at the
// end.
const (
	blockedLines = 40
	blockedBytes = 4096 // per line
	blockedFacts = 3
)

var (
	denied = lazy(`(?i)permission denied|operation not permitted|read-only file system|EACCES|EPERM|EROFS|` +
		// A file that is a mount point cannot be replaced by another file.
		`device or resource busy|EBUSY`)
	// A masked folder looks empty to a command, so its files seem absent.
	absent  = lazy(`(?i)no such file or directory|ENOENT`)
	offline = lazy(`(?i)network is unreachable|could ?n[o']t resolve host|could not connect|couldn't connect|failed to connect|` +
		`temporary failure in name resolution|name or service not known|EAI_AGAIN|ENETUNREACH|` +
		`(socket|connect|dial tcp|dial udp|lookup|getaddrinfo|listen|bind)\b.*(permission denied|operation not permitted|EACCES|EPERM)|` +
		`/dev/(tcp|udp)/.*(permission denied|operation not permitted|no such file)`)
	// What programs print that use the network directly where there is no route.
	unrouted = lazy(`(?i)network is unreachable|could ?n[o']t resolve host|temporary failure in name resolution|` +
		`name or service not known|EAI_AGAIN|ENETUNREACH|UnknownHostException|UnresolvedAddressException|^ping: .*(not permitted|denied)|\blookup \S+.*(connection refused|server misbehaving)`)
	// Words that may be a path, in the order of the attempts: words in quotes, then
	// words between colons, then any word with a slash.
	quoted = lazy("['\"`‘“]([^'\"`’”\n]+)['\"`’”]")
	bare   = lazy(`[^\s'"‘’“”:(),=]*/[^\s'"‘’“”:(),=]*`)
	// Names of system calls in the messages of programs.
	callNames = lazy(`(?i)\b(ptrace|unshare|setns|mount|umount|chroot|pivot_root|bpf|perf_event_open|io_uring\w*|keyctl|sethostname|reboot|swapon|shmget|semget|msgget|mq_open|userfaultfd|` +
		`set(res|re|e|fs)?[ug]id|setgroups)\b`)
	// Sockets of services in the messages of programs, such as Docker's.
	socketNames = lazy(`unix://(/[^\s"'\x60?]+[^\s"'\x60?.:,;])`)
	making      = lazy(`(?i)\bmkdir\b|cannot create directory`)
	nodes       = lazy(`\bENOENT\b`)
	// frozen matches errors of a read-only file system, and not texts that only speak of one.
	frozen = lazy(`(?i)(^|: |\()read-only file system([):]|\.?$)|\[Errno 30\]|\bEROFS\b`)
	// nameless matches errors of Python that name no file.
	nameless = lazy(`(?i)^\S*(Error|Exception): (\[Errno \d+\] )?no such file or directory$`)
	unsigned = lazy(`gpg failed to (sign|write)|^gpg: (signing|decryption|skipped|no default secret key).*(failed|[Nn]o secret key)`)
)

// lazy compiles a pattern at its first use, since every start of the program would
// otherwise pay for it.
func lazy(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
}

// Blocked returns facts about what the sandbox blocked, guessed from the last lines
// of a failed command's output: a path, the network or a system call. Each fact
// includes how the user can allow it. dir is the command's folder, to which
// relative paths refer. The text of the command is searched only for sockets, which
// some clients do not name in their messages. Blocked returns no fact about
// anything that the policy allows, nor about a file that this process itself could
// not open: then file permissions are the reason.
//
// Blocked interprets messages of programs. It can miss a reason, and a command can
// print anything. So facts only explain; nothing may be decided by them. A fact about a
// path says that it comes from the output, and none recommends to open a credential.
func Blocked(p Policy, dir, command, output string) (facts []string) {
	lines := strings.Split(strings.TrimRight(output, "\n"), "\n")
	if len(lines) > blockedLines {
		lines = lines[len(lines)-blockedLines:]
	}
	add := func(fact string) {
		if fact != "" && !slices.Contains(facts, fact) && len(facts) < blockedFacts {
			facts = append(facts, fact)
		}
	}
	j := sync.OnceValue(func() judge { return newJudge(p) }) // resolves hundreds of links
	socket := sync.OnceValue(func() string { return j().socketIn(command) })
	for _, line := range lines {
		line = line[:min(len(line), blockedBytes)]
		if fact := programFact(line); fact != "" {
			add(fact)
			continue
		}
		if unsigned().MatchString(line) {
			add(j().keys())
			continue
		}
		if m := socketNames().FindStringSubmatch(line); m != nil {
			add(j().socket(m[1]))
			continue
		}
		if p.OwnNetwork && !p.ReadOnly {
			if fact := localServer(line); fact != "" {
				add(fact)
				continue
			}
		}
		if offline().MatchString(line) || p.OwnNetwork && unrouted().MatchString(line) {
			fact := j().network(line)
			if fact == "" {
				fact = socket()
			}
			add(fact)
			continue
		}
		if !denied().MatchString(line) {
			if absent().MatchString(line) {
				fact := ""
				for _, path := range mentioned(line, dir) {
					if fact = j().masked(path, line); fact != "" {
						break
					}
				}
				if fact == "" && nameless().MatchString(line) {
					fact = socket()
				}
				add(fact)
			}
			continue
		}
		fact := ""
		if at := callNames().FindStringIndex(line); at != nil && at[0] == 0 {
			fact = j().call(line) // as in "mount: /mnt: permission denied"
		}
		for _, path := range mentioned(line, dir) {
			if fact != "" {
				break
			}
			fact = j().path(path, line)
		}
		if fact == "" {
			fact = j().call(line)
		}
		if fact == "" {
			fact = socket()
		}
		if fact == "" {
			fact = j().moved(line, dir, command)
		}
		add(fact)
	}
	return facts
}

// Unnamed returns the fact that a failed command wanted to change something that may not be
// changed, for output of which Blocked makes no fact, or "". The output then names no path, or one
// relative to a folder that is not known. Only the mounts of the sandbox make files read-only where
// dir is writable.
func Unnamed(p Policy, dir, output string) string {
	lines := strings.Split(strings.TrimRight(output, "\n"), "\n")
	for _, line := range lines[max(0, len(lines)-blockedLines):] {
		if !frozen().MatchString(line[:min(len(line), blockedBytes)]) || !may(dir, true) {
			continue
		}
		if p.ReadOnly {
			return "something outside of $TMPDIR was to be changed, and this command runs read-only; use Bash for what changes files"
		}
		return "something was to be changed that commands may only read, and the output does not name it in full: commands change the workspace and $TMPDIR; write there, or " + allowFolder
	}
	return ""
}

// mentioned lists the paths that a line may refer to, the most likely ones first.
func mentioned(line, dir string) []string {
	var words []string
	for _, m := range quoted().FindAllStringSubmatch(line, -1) {
		words = append(words, m[1])
	}
	parts := strings.Split(line, ": ")
	for i, part := range slices.Backward(parts[:len(parts)-1]) {
		// A part of several words is a sentence more often than a name, and the first is a program.
		several := strings.ContainsRune(part, ' ')
		if !several && (i > 0 || strings.ContainsRune(part, '/')) || filepath.IsAbs(part) || exists(filepath.Join(dir, part)) {
			words = append(words, part)
		}
		if several {
			words = append(words, part[strings.LastIndexByte(part, ' ')+1:])
		}
	}
	words = append(words, bare().FindAllString(line, -1)...)
	var out []string
	for _, w := range words {
		if w == "" || strings.ContainsRune(w, 0) {
			continue
		}
		if !filepath.IsAbs(w) {
			w = filepath.Join(dir, w)
		}
		if w = filepath.Clean(w); !slices.Contains(out, w) {
			out = append(out, w)
		}
	}
	return out
}

// judge holds a policy with its links resolved.
type judge struct {
	p                          Policy
	write, read, hide, protect []string
}

func newJudge(p Policy) judge {
	return judge{p, canonical(p.writable()), canonical(p.readable()), canonical(p.Hide), canonical(p.Protect)}
}

func canonical(paths []string) []string {
	out := make([]string, len(paths))
	for i, p := range paths {
		out[i] = follow(p)
	}
	return out
}

// follow resolves the links of the existing part of a path.
func follow(path string) string {
	path = filepath.Clean(path)
	for at, rest := path, ""; ; at, rest = filepath.Dir(at), filepath.Join(filepath.Base(at), rest) {
		if real, err := filepath.EvalSymlinks(at); err == nil {
			return filepath.Join(real, rest)
		}
		if at == filepath.Dir(at) {
			return path
		}
	}
}

const (
	allowRead    = "ask the user to add it to sandbox.allowRead in the settings"
	allowWrite   = "ask the user to add it to sandbox.allowWrite in the settings"
	allowFolder  = "ask the user to add the folder to sandbox.allowWrite in the settings"
	notTemporary = " may not be read or changed: it is outside of the folders of this session; use $TMPDIR for temporary files, or " + allowWrite
	allowNothing = "no setting of the sandbox allows it; dangerouslyDisableSandbox asks the user to run it outside of the sandbox"
)

// path returns the fact about a path that the output names, or "" if the policy does not
// block the path or the file permissions would block it too.
func (j judge) path(named, line string) string {
	real := follow(named)
	fact := j.refusal(named, real, line)
	for _, i := range installs {
		if strings.Contains(real+"/", i.part) {
			fact = strings.Replace(fact, allowWrite, i.next+", or "+allowWrite, 1)
		}
	}
	return said(fact, named, real)
}

// installs lists the folders into which package managers install programs of the user, with a way
// that needs no setting.
var installs = []struct{ part, next string }{
	{"/go/bin/", "install into the workspace, as with GOBIN=$PWD/bin go install"},
	{"/.cargo/bin/", "install into the workspace, as with cargo install --root $PWD/tools"},
	{"/.local/lib/python", "install into a virtual environment of the workspace"},
	{"/lib/node_modules/", "install into the project, without -g"},
	{"/var/lib/apt/", systemPackages},
	{"/var/lib/dpkg/", systemPackages},
	{"/var/cache/apt/", systemPackages},
}

const systemPackages = "set dangerouslyDisableSandbox to install packages of the system, which asks the user"

func (j judge) refusal(named, real, line string) string {
	temporary := below(real, "/tmp") || below(real, "/var/tmp")
	switch {
	case belowAny(real, j.hide) && temporary && !j.p.ReadOnly && !exists(real) && may(real, true):
		return named + notTemporary
	case belowAny(real, j.hide):
		if may(real, false) || !exists(real) && may(real, true) && frozen().MatchString(line) {
			return named + " is hidden from commands: name it in the command, which asks the user, or " + allowRead
		}
	case j.p.ReadOnly && belowAny(real, j.write):
		return j.metadata(named, line)
	case belowAny(real, j.write) && belowAny(real, j.protect):
		if may(real, true) {
			return named + " is protected from commands: " + allowNothing
		}
	case belowAny(real, j.write):
		return j.writable(named, real, line)
	case belowAny(real, j.read):
		switch {
		case !may(real, true) || reading().MatchString(line) && !writing().MatchString(line):
		case j.p.ReadOnly:
			return named + " may not be changed: this command runs read-only, and only its TMPDIR is writable; use Bash for what changes files"
		default:
			return named + " may be read but not changed: it is outside of the folders that commands may write to; " + allowWrite
		}
	case !exists(real) && !may(real, true), exists(real) && !may(real, false) && !may(real, true):
	case j.p.ReadOnly:
		return named + " may not be read: it is outside of the folders that commands may read; " + allowRead
	case temporary:
		return named + notTemporary
	case reading().MatchString(line) && !writing().MatchString(line):
		return named + " may not be read: it is outside of the folders of this session; " + allowRead
	default:
		return named + " may not be read or changed: it is outside of the folders of this session; " + allowWrite + ", or to sandbox.allowRead to only read it"
	}
	return ""
}

// masked returns the fact about a path that the command did not find although it
// exists, or about a folder that could not be made; "" if there is none.
func (j judge) masked(named, line string) string {
	unseen := func(path string) bool {
		leads := func(to string) bool { return belowAny(to, []string{path}) }
		return exists(path) && !belowAny(path, j.write) && !belowAny(path, j.read) && !slices.ContainsFunc(j.write, leads) && !slices.ContainsFunc(j.read, leads)
	}
	real := follow(named)
	if isSocket(real) {
		return j.socket(named)
	}
	if unseen(real) || unseen(filepath.Dir(real)) {
		return j.path(named, line)
	}
	// Node reports a read-only file system as an absent folder when it makes one with those above
	// it.
	if making().MatchString(line) && !exists(real) && !belowAny(real, j.write) {
		for nodes().MatchString(line) && !exists(filepath.Dir(real)) && real != filepath.Dir(real) {
			named, real = filepath.Dir(named), filepath.Dir(real)
		}
		return j.path(named, line)
	}
	return ""
}

// maxFolders is the limit of folders in the text of a command that moved tries.
const maxFolders = 10

// moved returns the fact about a name that the output gives relative to a folder that the command
// names, as in cd DIR or make -C DIR, or "".
func (j judge) moved(line, dir, command string) string {
	var names []string
	for _, path := range mentioned(line, dir) {
		if rel, err := filepath.Rel(dir, path); err == nil && filepath.IsLocal(rel) && !exists(path) {
			names = append(names, rel)
		}
	}
	if len(names) == 0 {
		return ""
	}
	tried := 0
	for word := range strings.FieldsFuncSeq(command, func(r rune) bool { return strings.ContainsRune(" \t\n'\"`=,;&|()\\", r) }) {
		if !strings.ContainsRune(word, '/') && word != ".." {
			continue
		}
		folder := word
		if rest, ok := strings.CutPrefix(word, "~/"); ok {
			home, _ := os.UserHomeDir()
			folder = filepath.Join(home, rest)
		} else if !filepath.IsAbs(word) {
			folder = filepath.Join(dir, word)
		}
		if info, err := os.Stat(folder); err != nil || !info.IsDir() || belowAny(follow(folder), j.write) {
			continue
		}
		for _, name := range names {
			path := filepath.Join(folder, name)
			if !frozen().MatchString(line) && !exists(path) {
				continue
			}
			if fact := j.path(path, line); fact != "" {
				return fact
			}
		}
		if tried++; tried == maxFolders {
			break
		}
	}
	return ""
}

// keys returns the fact about the keys of gpg if commands cannot read them and there are some, or
// "".
func (j judge) keys() string {
	home, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	folder := filepath.Join(home, ".gnupg")
	real := follow(folder)
	entries, _ := os.ReadDir(filepath.Join(real, "private-keys-v1.d"))
	if len(entries) == 0 || belowAny(real, j.write) || belowAny(real, j.read) && !belowAny(real, j.hide) {
		return ""
	}
	return folder + ", with the keys of gpg, is hidden from commands, so they neither sign nor decrypt: commit with git -c commit.gpgsign=false if the user agrees, or ask the user to do it"
}

func isSocket(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode()&os.ModeSocket != 0
}

// socket returns the fact about the socket of a service, or "".
func (j judge) socket(named string) string {
	if real := follow(named); !exists(real) || belowAny(real, j.write) {
		return ""
	}
	return named + " is a socket of a service, which commands may not use: " + allowNothing
}

// socketIn returns the fact about a service's socket that the text of a command
// names, or "".
func (j judge) socketIn(command string) string {
	bound := map[string]bool{} // base names of bound sockets
	for _, path := range listening() {
		bound[filepath.Base(path)] = true
	}
	for word := range strings.FieldsFuncSeq(command, func(r rune) bool { return strings.ContainsRune(" \t\n'\"`=,;()", r) }) {
		word = strings.TrimPrefix(word, "unix:")
		if !filepath.IsAbs(word) || !bound[filepath.Base(word)] {
			continue // no Stat on other paths: their file system may not answer
		}
		if info, err := os.Stat(word); err == nil && info.Mode()&os.ModeSocket != 0 {
			if fact := j.socket(filepath.Clean(word)); fact != "" {
				return fact
			}
		}
	}
	return ""
}

var (
	// Programs that only read are recognised by their names. A message that names a
	// failed change takes precedence.
	reading = lazy(`^(cat|head|tail|less|more|grep|rg|ls|find|du|wc|diff|cmp|stat|file|sort|sed: can't read|sed: couldn't open)\b`)
	writing = lazy(`(?i)read-only file system|EROFS|cannot (create|touch|remove|move|make|overwrite|open .* for writing)|setting|changing|creat|writ|mkdir|unlink|rename`)
)

var (
	busy        = lazy(`(?i)device or resource busy|EBUSY`)
	settingMode = lazy(`(?i)(permissions (of|for)|change mode|writable by group|chmod).*(not permitted)|EPERM.*chmod`)
)

// writable returns the fact about a failed change of a path that commands may
// otherwise change, or "".
func (j judge) writable(named, real, line string) string {
	if busy().MatchString(line) {
		for _, inside := range slices.Concat(j.hide, j.protect) {
			if below(inside, real) && exists(inside) {
				return named + " may not be moved or removed: " + inside + " in it is hidden or protected from commands; " + allowNothing
			}
		}
	}
	if settingMode().MatchString(line) && owned(real) {
		return named + " may not get the bits setuid and setgid from commands, nor another mode if it is a folder that has the latter: " + allowNothing
	}
	return ""
}

// metadata returns the fact about a file in TMPDIR of a read-only command. Mode,
// owner and times of such a file cannot be changed.
func (j judge) metadata(named, line string) string {
	if strings.Contains(strings.ToLower(line), "not permitted") || strings.Contains(line, "EPERM") {
		return named + " keeps its mode, owner, times and attributes in a read-only command; use Bash for what changes files"
	}
	return ""
}

// network returns the fact about a line that shows a failed use of the network.
func (j judge) network(line string) string {
	switch {
	case j.p.ReadOnly:
		return "the network is closed to read-only commands; use Bash for what needs it"
	case !j.p.Network:
		return "the network is closed to commands; ask the user to set sandbox.network to allow in the settings"
	case j.p.OwnNetwork && unrouted().MatchString(line):
		return "commands reach the network only through the proxy in HTTPS_PROXY (HTTP and SOCKS5): use it (with git, an https:// URL instead of ssh), or ask the user to set sandbox.network to \"allow\" in the settings"
	}
	return ""
}

func (j judge) call(line string) string {
	name := callNames().FindString(line)
	if name == "" || name == "ptrace" && !j.p.ReadOnly {
		return ""
	}
	return name + " is a system call that commands may not make: " + allowNothing
}
