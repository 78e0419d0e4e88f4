package gitconfig

import (
	"regexp"
	"slices"
	"strings"
)

// plain lists the settings by which git runs no program and reads no further settings, as
// SECTION NAME..., each in lower case. The sections of prefix * have any names. A name that is not
// in the list counts as one that runs something: later versions of git may have it.
var plain = parsePlain(`
core repositoryformatversion filemode bare logallrefupdates ignorecase precomposeunicode symlinks sparsecheckout sparsecheckoutcone autocrlf eol safecrlf
core sharedrepository abbrev quotepath whitespace compression loosecompression bigfilethreshold preloadindex untrackedcache commentchar commentstring
core checkstat trustctime splitindex multipackindex commitgraph warnambiguousrefs longpaths fscache deltabasecachelimit
core fsync fsyncmethod fsyncobjectfiles packedgitlimit packedgitwindowsize checkroundtripencoding maxtreedepth hidedotfiles createobject disambiguate
init defaultbranch defaultobjectformat defaultrefformat
user *
author *
committer *
extensions objectformat refstorage worktreeconfig partialclone noop preciousobjects relativeworktrees compatobjectformat
push default autosetupremote followtags useforceifincludes negotiate recursesubmodules
pull rebase ff
fetch prune prunetags parallel recursesubmodules fsckobjects writecommitgraph output all negotiationalgorithm showforcedupdates unpacklimit
merge ff conflictstyle log renames renamelimit directoryrenames stat autostash branchdesc suppressdest
rebase autosquash autostash updaterefs stat missingcommitscheck forkpoint rebasemerges abbreviatecommands backend reschedulefailedexec
commit template verbose status cleanup gpgsign
tag sort gpgsign forcesignannotated
gpg format
diff algorithm renames renamelimit mnemonicprefix noprefix srcprefix dstprefix colormoved colormovedws context interhunkcontext ignoresubmodules submodule
diff statgraphwidth statnamewidth wserrorhighlight indentheuristic suppressblankempty relative dirstat worderegex autorefreshindex
log date abbrevcommit decorate follow graphcolors showroot mailmap diffmerges initialdecorationset excludedecoration
color *
column *
advice *
status showuntrackedfiles short branch renames renamelimit relativepaths showstash aheadbehind submodulesummary displaycommentprefix
i18n commitencoding logoutputencoding
gc auto autodetach autopacklimit pruneexpire reflogexpire reflogexpireunreachable rerereresolved rerereunresolved packrefs bigpackthreshold
gc worktreepruneexpire logexpiry cruftpacks writecommitgraph aggressivedepth aggressivewindow
maintenance auto autodetach
pack threads windowmemory depth window compression packsizelimit deltacachesize deltacachelimit usesparse writebitmaphashcache writereverseindex indexversion usebitmaps
branch autosetupmerge autosetuprebase sort
index version threads skiphash sparse recordendofindexentries recordoffsettable
checkout defaultremote guess workers thresholdforparallelism
feature manyfiles experimental
rerere enabled autoupdate
blame ignorerevsfile date coloring showemail showroot blankboundary markignoredlines markunblamablelines
stash showpatch showstat showincludeuntracked
versionsort suffix
transfer fsckobjects hiderefs unpacklimit
receive denycurrentbranch denynonfastforwards denydeletes denydeletecurrent fsckobjects unpacklimit autogc
http postbuffer version lowspeedlimit lowspeedtime maxrequests minsessions
sparse expectfilesoutsideofpatterns
worktree guessremote userelativepaths
am keepcr threeway
apply whitespace ignorewhitespace
grep linenumber patterntype extendedregexp column fullname threads fallbacktonoindex
submodule active recurse fetchjobs alternatelocation alternateerrorstrategy propagatebranches
remote pushdefault
lfs repositoryformatversion fetchinclude fetchexclude allowincompletepush concurrenttransfers locksverify url pushurl
`)

// plainBelow is plain for sections with a name, as [remote "origin"].
var plainBelow = parsePlain(`
remote url pushurl fetch push tagopt prune prunetags mirror promisor partialclonefilter skipdefaultupdate skipfetchall followremotehead gh-resolved
branch *
submodule url update branch fetchrecursesubmodules ignore active shallow path
diff xfuncname funcname wordregex binary
gc reflogexpire reflogexpireunreachable
color *
gitflow *
lfs locksverify access
`)

func parsePlain(text string) map[string]bool {
	out := map[string]bool{}
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		for i, name := range words {
			if i > 0 {
				out[words[0]+" "+name] = true
			}
		}
	}
	return out
}

// notPlain lists exceptions of sections with *: options of a merge, among them strategies, which
// are programs; the folder of hooks of git-flow.
var notPlain = []string{"branch mergeoptions", "gitflow hooks"}

// programs lists the settings of Git LFS as git lfs install writes them. They name a program of
// the user's PATH.
var programs = map[string]string{
	"filter.lfs.clean": "git-lfs clean -- %f", "filter.lfs.smudge": "git-lfs smudge -- %f", "filter.lfs.process": "git-lfs filter-process", "filter.lfs.required": "true",
}

// remoteURL matches the URL of a repository on another machine.
var remoteURL = regexp.MustCompile(`^((https?|ssh|git)://[^-/]|[\w.][\w.-]*@[\w.][\w.-]*:[^:]|[\w.][\w.-]+:[^:/])`)

// Judge decides which changes of a repository's configuration may stay. The zero value refuses
// each local repository and each folder for core.worktree.
type Judge struct {
	// Local reports whether a local repository is one whose hooks no command could have made.
	Local func(path string) bool
	// Worktree reports whether core.worktree may have a value.
	Worktree func(value string) bool
	// BranchesOnly refuses all but settings of branches.
	BranchesOnly bool
}

// Allows reports whether a change of a key makes git run nothing. It has the form that Carry
// needs.
func (j Judge) Allows(from, to *File, k Key) bool {
	if j.BranchesOnly && (k.Section != "branch" || k.Sub == "") {
		return same(from.Values(k), to.Values(k))
	}
	before, now := from.Values(k), to.Values(k)
	if !j.plainKey(k) {
		return j.renamed(from, to, k) || !slices.ContainsFunc(now, func(e Entry) bool { return !j.special(e) }) && !slices.ContainsFunc(before, func(e Entry) bool { return !j.special(e) })
	}
	for _, e := range now {
		had := func(o Entry) bool { return o.Section == e.Section && o.Name == e.Name && o.Value == e.Value }
		if !slices.ContainsFunc(from.Entries, had) && !j.plainValue(e, from, to) {
			return false
		}
	}
	return true
}

func (j Judge) plainKey(k Key) bool {
	table := plain
	if k.Sub != "" {
		table = plainBelow
	}
	name := k.Section + " " + k.Name
	return !slices.Contains(notPlain, name) && (table[name] || table[k.Section+" *"])
}

// PlainSetting reports whether git runs no program of the text of a setting, as its flag -c takes
// it. Editors count as plain, since only what changes a repository runs them.
func PlainSetting(text string) bool {
	name, _, _ := strings.Cut(text, "=")
	first, last := strings.IndexByte(name, '.'), strings.LastIndexByte(name, '.')
	if first < 0 {
		return false
	}
	k := Key{Section: strings.ToLower(name[:first]), Name: strings.ToLower(name[last+1:])}
	if last > first {
		k.Sub = name[first+1 : last]
	}
	return (Judge{}).plainKey(k) || k.String() == "core.editor" || k.String() == "sequence.editor"
}

// special reports whether a setting is harmless with this value, although others of its key are
// not.
func (j Judge) special(e Entry) bool {
	switch k := e.Key.String(); k {
	case "core.fsmonitor":
		return !e.Bare && slices.Contains([]string{"", "false", "no", "off", "0"}, strings.ToLower(e.Value))
	case "core.worktree":
		return j.Worktree != nil && j.Worktree(e.Value)
	default:
		return programs[k] != "" && programs[k] == e.Value
	}
}

// renamed reports whether a key only moved with its section, as git remote rename does it: the
// values that are gone are those of another section of the kind, or the new ones were.
func (j Judge) renamed(from, to *File, k Key) bool {
	if !slices.Contains([]string{"remote", "branch", "submodule"}, k.Section) || k.Sub == "" {
		return false
	}
	before, now := from.Values(k), to.Values(k)
	moved := func(f *File, values []Entry) bool {
		return len(values) > 0 && slices.ContainsFunc(f.Entries, func(e Entry) bool {
			other := Key{k.Section, e.Sub, k.Name}
			return e.Key == other && other != k && same(f.Values(other), values) && len(from.Values(other)) != len(to.Values(other))
		})
	}
	return len(now) == 0 && moved(to, before) || len(before) == 0 && moved(from, now)
}

// plainValue reports whether a value of a plain key names no program and no repository whose hooks
// a command could have made.
func (j Judge) plainValue(e Entry, from, to *File) bool {
	v := e.Value
	switch e.Section + " " + e.Name {
	case "remote url", "remote pushurl", "submodule url", "lfs url", "lfs pushurl":
		return j.plainURL(v)
	case "branch remote", "branch pushremote", "remote pushdefault", "extensions partialclone", "checkout defaultremote":
		// Git takes a remote without a url for a path.
		url := Key{"remote", v, "url"}
		return v == "." || len(to.Values(url)) > 0 && j.Allows(from, to, url) || j.plainURL(v)
	case "submodule update":
		return slices.Contains([]string{"checkout", "rebase", "merge", "none"}, v)
	case "remote tagopt":
		return v == "--tags" || v == "--no-tags"
	case "commit template", "blame ignorerevsfile", "user signingkey", "core commentchar", "core commentstring":
		return !strings.HasPrefix(v, "-")
	}
	return true
}

func (j Judge) plainURL(v string) bool {
	if strings.HasPrefix(v, "-") || strings.Contains(v, "::") {
		return false
	}
	return remoteURL.MatchString(v) || j.Local != nil && j.Local(strings.TrimPrefix(v, "file://"))
}
