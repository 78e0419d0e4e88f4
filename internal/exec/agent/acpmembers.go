package agent

import (
	"net/url"
	"regexp"
	"strings"

	"github.com/coder/acp-go-sdk"
)

// members holds the values in a program's raw input, by their meaning.
type members struct {
	paths   []string // all paths
	targets []string // paths that a move makes
	urls    []string
	command string // "": none
	args    []string
	dir     string // folder of the command; "": none
	content string // of a file
}

// meaning is the role of a member of a raw input.
type meaning int

const (
	unknown meaning = iota
	aPath
	aTarget // a path that a move makes
	aPattern
	aURL
	aCommand
	words
	aFolder // of a command
	content // of a file
	prose   // changes nothing
	list    // of objects with members
)

// general lists the members that mean the same in all kinds, in lower case without _ and -.
var general = meanings(map[meaning]string{
	prose: "description explanation instruction reason justification title summary purpose thought callid turnid toolcallid id encoding " +
		"modifiedbyuser aiproposedcontent",
})

// byKind lists the members of each kind, which differ in what the same name means.
var byKind = map[acp.ToolKind]map[string]meaning{
	acp.ToolKindExecute: meanings(map[meaning]string{aCommand: "command cmd", words: "args arguments argv", aFolder: "cwd workdir workingdirectory directory dir dirpath"}),
	acp.ToolKindFetch:   meanings(map[meaning]string{aURL: "url urls uri", prose: "prompt format"}),
	acp.ToolKindRead:    meanings(map[meaning]string{aPath: paths, prose: "pages cellid"}),
	acp.ToolKindSearch:  meanings(map[meaning]string{aPath: paths, aPattern: "pattern glob globpattern include exclude filepattern", prose: "query regex outputmode type"}),
	acp.ToolKindEdit: meanings(map[meaning]string{aPath: paths + changed, content: "content filetext newsource", list: "edits",
		prose: "oldstring newstring oldtext newtext oldstr newstr oldsource cellid celltype editmode"}),
	acp.ToolKindDelete: meanings(map[meaning]string{aPath: paths + changed}),
	acp.ToolKindMove:   meanings(map[meaning]string{aPath: paths + " source src sourcepath sourcefile from frompath oldpath oldname oldfile", aTarget: "destination dest dst destinationpath destpath target targetpath targetfile to topath newpath newname newfile"}),
}

const (
	paths   = "path paths file files filepath filepaths filename filenames abspath absolutepath absolutefilepath relativepath notebookpath uri fileuri directory dir folder dirpath"
	changed = " target targetpath targetfile source sourcepath"
)

func meanings(lists map[meaning]string) map[string]meaning {
	out := map[string]meaning{}
	for m, names := range lists {
		for _, name := range strings.Fields(names) {
			out[name] = m
		}
	}
	return out
}

// switchName is the name of a member that can only switch something or count, by its value.
var switchName = regexp.MustCompile(`^[A-Za-z][A-Za-z_-]*$`)

// membersOf interprets the raw input of a call. ok is false if some of it is not understood.
func membersOf(kind acp.ToolKind, raw any) (m members, ok bool) {
	known := byKind[kind]
	if known == nil {
		return m, false
	}
	input, isObject := raw.(map[string]any)
	if !isObject {
		return m, raw == nil
	}
	return m, m.add(known, input)
}

// add adds the members of an object, and reports whether all are understood.
func (m *members) add(known map[string]meaning, input map[string]any) bool {
	for key, value := range input {
		name := strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(key))
		means := known[name]
		if means == unknown {
			means = general[name]
		}
		switch value.(type) {
		case nil:
			continue
		case bool, float64:
			if means != unknown && means != prose || !switchName.MatchString(key) {
				return false
			}
			continue
		}
		texts, areTexts := textsOf(value)
		if objects, isList := value.([]any); means == list && isList {
			for _, o := range objects {
				object, isObject := o.(map[string]any)
				if !isObject || !m.add(known, object) {
					return false
				}
			}
			continue
		}
		if !areTexts || !m.text(means, value, texts) {
			return false
		}
	}
	return true
}

// text adds a member that is a text, or a list of texts.
func (m *members) text(means meaning, value any, texts []string) bool {
	whole, single := value.(string)
	switch means {
	case aPath, aTarget:
		for _, text := range texts {
			path, ok := pathOf(text)
			if !ok {
				return false
			}
			if m.paths = append(m.paths, path); means == aTarget {
				m.targets = append(m.targets, path)
			}
		}
	case aPattern:
		for _, text := range texts {
			if strings.HasPrefix(text, "/") || strings.HasPrefix(text, "~") || strings.Contains(text, "..") || strings.Contains(text, ":") {
				start, _, _ := strings.Cut(text, "*")
				path, ok := pathOf(start)
				if !ok {
					return false
				}
				m.paths = append(m.paths, path)
			}
		}
	case aURL:
		m.urls = append(m.urls, texts...)
	case aCommand:
		if m.command != "" {
			return false
		}
		if m.command = whole; !single {
			m.command = quoteWords(value.([]any))
		}
		return m.command != ""
	case words:
		m.args = append(m.args, texts...)
		return !single
	case aFolder:
		path, ok := pathOf(whole)
		if !ok || path[0] == '-' || m.dir != "" && m.dir != path {
			return false
		}
		m.dir = path
	case content:
		m.content = whole
		return single
	case prose:
	default:
		return whole == "" && single
	}
	return true
}

// execute returns the call for a command.
func (m *members) execute() []alike {
	if m.command == "" {
		return nil
	}
	command := m.command
	for _, arg := range m.args {
		command += " " + quoteWord(arg)
	}
	if m.dir != "" {
		command = "cd " + quoteWord(m.dir) + " && " + command
	}
	return []alike{{"Bash", map[string]string{"command": command}}}
}

// textsOf returns a text, or the texts of a list.
func textsOf(value any) (texts []string, ok bool) {
	switch v := value.(type) {
	case string:
		return []string{v}, true
	case []any:
		for _, item := range v {
			s, ok := item.(string)
			if !ok {
				return nil, false
			}
			texts = append(texts, s)
		}
		return texts, true
	}
	return nil, false
}

// scheme matches the beginning of a URL. A single letter is a drive of Windows.
var scheme = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]+:`)

// pathOf returns the path that a program means. ok is false for a text that programs understand
// differently: a URL of another scheme, a home folder, or control characters.
func pathOf(text string) (path string, ok bool) {
	if scheme.MatchString(text) {
		u, err := url.Parse(text)
		if err != nil || !strings.EqualFold(u.Scheme, "file") || u.Host != "" && u.Host != "localhost" || u.Opaque != "" || u.RawQuery != "" || u.Fragment != "" {
			return "", false
		}
		text = u.Path
		if len(text) > 2 && text[0] == '/' && text[2] == ':' {
			text = text[1:] // a drive of Windows
		}
	}
	if text == "" || text[0] == '~' || strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return "", false
	}
	return text, true
}
