package skills

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"mcp-toolset/internal/text/plain"
)

// Limits of a skill that is served. maxFiles and maxBytes are those of the MCP skills
// extension (https://github.com/modelcontextprotocol/ext-skills).
const (
	maxFiles   = 512
	maxBytes   = 16 << 20
	mostListed = 60 // files that Text names
	mostNamed  = 20 // words of args that $0, $1, ... stand for
)

// Text returns the instructions of a skill with the arguments of the user and the folders put
// in, after a head with the base folder and the files, and before notes.
func (s *Skill) Text(args, project string) (string, error) {
	body, err := s.body()
	if err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Skill %s (%s). Its base folder, at which relative paths in it begin: %s\n", s.Name, s.Layer, plain.Line(s.Dir))
	if files, more := s.list(); len(files) > 0 {
		for i := range files {
			files[i] = plain.Text(files[i])
		}
		fmt.Fprintf(&b, "Files: %s", strings.Join(files, ", "))
		if more {
			b.WriteString(" and more")
		}
		b.WriteByte('\n')
	}
	b.WriteString("\n" + substitute(body, args, s.Dir, project))
	if injections := len(injection.FindAllString(body, -1)); injections > 0 {
		fmt.Fprintf(&b, "\n\n[%d of its lines have a command as !`command`. Here they are text and were not run: run those that you need with Bash.]", injections)
	}
	if s.Allowed != "" {
		fmt.Fprintf(&b, "\n\n[Its allowed-tools (%s) have no effect here: each call is decided as any other.]", s.Allowed)
	}
	return b.String(), nil
}

var (
	injection   = regexp.MustCompile("!`[^`\n]+`")
	placeholder = regexp.MustCompile(`\$\{CLAUDE_SKILL_DIR\}|\$\{CLAUDE_PROJECT_DIR\}|\$ARGUMENTS(?:\[\d{1,2}\])?|\$\d{1,2}\b`)
)

// substitute replaces the placeholders of a body. A number without a word of args stays as it is.
// Without a placeholder for args, they follow the body.
func substitute(body, args, dir, project string) string {
	words, used := splitWords(args), false
	text := placeholder.ReplaceAllStringFunc(body, func(p string) string {
		switch p {
		case "${CLAUDE_SKILL_DIR}":
			return dir
		case "${CLAUDE_PROJECT_DIR}":
			return project
		case "$ARGUMENTS":
			used = true
			return args
		}
		n, err := strconv.Atoi(strings.Trim(p, "$ARGUMENTS[]"))
		if err != nil || n >= len(words) {
			return p
		}
		used = true
		return words[n]
	})
	if args != "" && !used {
		text += "\n\nArguments: " + args
	}
	return text
}

// splitWords splits args at spaces. Quotes hold a word together.
func splitWords(args string) []string {
	var words []string
	var word strings.Builder
	var quote rune
	open := false
	for _, r := range args {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote == 0 && (r == '"' || r == '\''):
			quote, open = r, true
		case quote == 0 && (r == ' ' || r == '\t' || r == '\n'):
			if open {
				words, open = append(words, word.String()), false
				word.Reset()
			}
		default:
			word.WriteRune(r)
			open = true
		}
	}
	if open {
		words = append(words, word.String())
	}
	return words[:min(len(words), mostNamed)]
}

// errTooMuch is the error for a skill with more files than the extension serves.
var errTooMuch = fmt.Errorf("it has more than %d files or %d MiB", maxFiles, maxBytes>>20)

// walk calls f for each regular file of a skill, in lexical order, with its path below the folder.
// It leaves out version control, installed packages, and links that leave the folder.
func (s *Skill) walk(f func(root *os.Root, name string, size int64) error) error {
	root, err := os.OpenRoot(s.Dir)
	if err != nil {
		return cause(err)
	}
	defer root.Close()
	entered := 0
	return fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if entered++; entered > maxFolders {
			return errTooMuch
		}
		switch {
		case err != nil && name == ".":
			return cause(err)
		case err != nil:
			return nil
		case leftOut(name) && d.IsDir():
			return fs.SkipDir
		case d.IsDir() || leftOut(name):
			return nil
		}
		info, err := root.Stat(name) // follows links, which may not leave the folder
		if err != nil || !info.Mode().IsRegular() {
			return nil
		}
		return f(root, name, info.Size())
	})
}

// leftOut reports whether a file or folder is not part of a skill.
func leftOut(name string) bool {
	for part := range strings.SplitSeq(name, "/") {
		if part == ".git" || part == "node_modules" || part == "__pycache__" || part == ".DS_Store" {
			return true
		}
	}
	return false
}

// list returns the files of a skill besides SKILL.md.
func (s *Skill) list() (files []string, more bool) {
	_ = s.walk(func(_ *os.Root, name string, _ int64) error {
		if name == skillFile {
			return nil
		}
		if len(files) == mostListed {
			more = true
			return fs.SkipAll
		}
		files = append(files, name)
		return nil
	})
	return files, more
}

// Entry is the entry of a skill in the MCP skills extension.
type Entry struct {
	URI         string          `json:"uri"`
	Frontmatter json.RawMessage `json:"frontmatter"`
	Resources   []Resource      `json:"resources"`
}

// Resource describes a file of a skill by the bytes that Read returns.
type Resource struct {
	URI    string `json:"uri"`
	Digest string `json:"digest"` // sha256:HEX
	Size   int64  `json:"size"`
}

const scheme = "skill://"

// URI returns the URI of the SKILL.md of a skill.
func (s *Skill) URI() string { return s.uri(skillFile) }

func (s *Skill) uri(name string) string {
	parts := strings.Split(name, "/")
	for i := range parts {
		parts[i] = url.PathEscape(parts[i])
	}
	return scheme + s.Name + "/" + strings.Join(parts, "/")
}

// Served reports whether the extension serves a skill: other readers accept its front matter.
func (s *Skill) Served() bool { return s.front != nil }

// Entry returns the entry of a skill with the digests of its files. It fails for a skill that the
// extension does not serve.
func (s *Skill) Entry() (*Entry, error) {
	if !s.Served() {
		return nil, errors.New("its front matter is not what the extension requires; mcp-toolset skills has the reason")
	}
	// The front matter is that of the bytes with the digest.
	data, err := readIn(s.Dir, skillFile, maxFile)
	if err != nil {
		return nil, err
	}
	d, bad := parse(data)
	if bad != nil || d.lax != nil {
		return nil, errGone
	}
	if name, _ := d.text("name"); name != s.Name {
		return nil, errGone
	}
	var front bytes.Buffer
	toJSON(&front, d.front)
	e := &Entry{URI: s.URI(), Frontmatter: front.Bytes(), Resources: []Resource{{s.URI(), digest(sha256.Sum256(data)), int64(len(data))}}}
	total := int64(len(data))
	err = s.walk(func(root *os.Root, name string, size int64) error {
		if name == skillFile {
			return nil
		}
		if total+size > maxBytes || len(e.Resources) == maxFiles {
			return errTooMuch
		}
		f, err := openRegular(root, name)
		if err != nil {
			return nil
		}
		defer f.Close()
		h := sha256.New()
		n, err := io.Copy(h, io.LimitReader(f, maxBytes+1-total))
		if total += n; err != nil || total > maxBytes {
			return errors.Join(err, errTooMuch)
		}
		e.Resources = append(e.Resources, Resource{s.uri(name), digest([sha256.Size]byte(h.Sum(nil))), n})
		return nil
	})
	if err != nil {
		return nil, err
	}
	return e, nil
}

func digest(sum [sha256.Size]byte) string { return "sha256:" + hex.EncodeToString(sum[:]) }

// ByURI returns the skill whose SKILL.md has a URI, or nil.
func (s *Set) ByURI(uri string) *Skill {
	i := slices.IndexFunc(s.Skills, func(k *Skill) bool { return k.URI() == uri })
	if i < 0 {
		return nil
	}
	return s.Skills[i]
}

// file returns the skill that a URI is in, and the path of the file or folder below its folder.
func (s *Set) file(uri string) (k *Skill, file string, err error) {
	rest, ok := strings.CutPrefix(uri, scheme)
	name, file, _ := strings.Cut(rest, "/")
	if k = s.Lookup(name); ok && k != nil && k.Name == name {
		file, err = url.PathUnescape(file)
		if err == nil && fs.ValidPath(file) && !leftOut(file) && k.uri(file) == uri {
			return k, file, nil
		}
	}
	return nil, "", fmt.Errorf("there is no resource %s", plain.Quote(uri))
}

// Path returns the absolute path of the file of a skill with a URI.
func (s *Set) Path(uri string) (string, error) {
	k, file, err := s.file(uri)
	if err != nil {
		return "", err
	}
	return filepath.Join(k.Dir, filepath.FromSlash(file)), nil
}

// Read returns the content and the media type of the file of a skill with a URI.
func (s *Set) Read(uri string) (data []byte, mimeType string, err error) {
	k, file, err := s.file(uri)
	if err != nil {
		return nil, "", err
	}
	if data, err = readIn(k.Dir, file, maxBytes); err != nil {
		return nil, "", fmt.Errorf("%s cannot be read: %w", plain.Quote(uri), err)
	}
	return data, mediaType(file, data), nil
}

// Listed is a file or folder in a folder of a skill.
type Listed struct {
	URI  string `json:"uri"`
	Name string `json:"name"`
	Type string `json:"mimeType,omitempty"` // FolderType for a folder; "" if it depends on the content
}

// FolderType is the media type of a folder.
const FolderType = "inode/directory"

// List returns what is in the folder of a skill with a URI, sorted by name. Like Read, it leaves
// out version control, installed packages, and links that leave the folder.
func (s *Set) List(uri string) ([]Listed, error) {
	k, dir, err := s.file(uri)
	if err != nil {
		if k, dir = s.Lookup(strings.TrimPrefix(uri, scheme)), "."; k == nil || scheme+k.Name != uri {
			return nil, err
		}
	}
	root, err := os.OpenRoot(k.Dir)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be listed: %w", plain.Quote(uri), cause(err))
	}
	defer root.Close()
	entries, err := fs.ReadDir(root.FS(), dir)
	if err != nil {
		return nil, fmt.Errorf("%s is no folder of a skill", plain.Quote(uri))
	}
	if len(entries) > maxFiles {
		return nil, fmt.Errorf("%s cannot be listed: %w", plain.Quote(uri), errTooMuch)
	}
	out := []Listed{}
	for _, e := range entries {
		name := path.Join(dir, e.Name())
		info, err := root.Stat(name)
		switch l := (Listed{URI: k.uri(name), Name: e.Name()}); {
		case err != nil || leftOut(name) || info.IsDir() && !e.IsDir(): // links to folders are no files of the skill
		case info.IsDir():
			l.Type = FolderType
			out = append(out, l)
		case info.Mode().IsRegular():
			if t := mediaType(name, nil); t != "text/plain" {
				l.Type = t
			}
			out = append(out, l)
		}
	}
	return out, nil
}

// mediaType returns the media type of a file.
func mediaType(name string, data []byte) string {
	switch ext := strings.ToLower(path.Ext(name)); {
	case ext == ".md":
		return "text/markdown"
	case ext == ".json":
		return "application/json"
	case utf8.Valid(data):
		return "text/plain"
	}
	return http.DetectContentType(data)
}

// Folders returns the folders of sources that exist, canonical, so that the files in them can be
// read.
func Folders(sources []Source) []string {
	var out []string
	for _, s := range sources {
		if real, err := filepath.EvalSymlinks(s.Dir); err == nil && !slices.Contains(out, real) {
			out = append(out, real)
		}
	}
	return out
}
