package lsp

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"mcp-toolset/internal/text/fault"
	"mcp-toolset/internal/text/plain"
)

// projectPrograms lists the folders of a project that hold its programs. They are used only if
// the user trusts the project.
var projectPrograms = []string{filepath.Join("node_modules", ".bin"), filepath.Join(".venv", "bin"), filepath.Join("venv", "bin")}

// choose returns the server for a file, with its project folder and program. The project
// folder is "" for a file outside of the roots. The error is a *fault.Fault.
func (m *Manager) choose(w Workspace, path string) (s *Server, project, program string, err error) {
	root := rootOf(m.roots(w), path)
	var missing []*Server
	var builds *Server
	for i := range m.config.Servers {
		s := &m.config.Servers[i]
		if s.Language(path) == "" {
			continue
		}
		if root == "" {
			return s, "", "", nil
		}
		project := s.project(root, path, exists)
		program, ok := m.program(w, s, root, filepath.Dir(path))
		switch {
		case !ok:
			missing = append(missing, s)
		case s.Builds && !m.trusts(w, root):
			builds = s
		case !m.trusts(w, root):
			if s, err = s.untrusted(program); err != nil {
				return nil, "", "", err
			}
			return s, project, program, nil
		default:
			return s, project, program, nil
		}
	}
	shown := plain.Line(filepath.Base(path))
	switch {
	case builds != nil:
		return nil, "", "", fault.New(builds.Name+" runs programs of the project, such as build scripts, and the user does not trust the project",
			"Use Grep and Read; or ask the user to run mcp-toolset trust in it.")
	case len(missing) == 0:
		return nil, "", "", fault.New("no language server for "+shown+" is known", "Use Grep and Read; the user can add one with lspServers in the settings. "+m.available())
	}
	how := missing[0].Install
	if how == "" {
		how = "put " + plain.Line(missing[0].Command[0]) + " on the PATH"
	}
	return nil, "", "", fault.New(fmt.Sprintf("no language server for %s is installed: %s is not on the PATH", shown, plain.Line(missing[0].Command[0])),
		"Use Grep and Read; or ask the user to install it: "+how+". "+m.available())
}

// untrusted returns the row for a project that the user does not trust. By itself,
// typescript-language-server runs the tsserver.js of the project.
func (s *Server) untrusted(program string) (*Server, error) {
	if s.Name != "typescript-language-server" {
		return s, nil
	}
	real, err := filepath.EvalSymlinks(program)
	lib := filepath.Join(filepath.Dir(filepath.Dir(filepath.Dir(real))), "typescript", "lib")
	if err != nil || !exists(filepath.Join(lib, "tsserver.js")) {
		return nil, fault.New(s.Name+" has no TypeScript of its own, and that of the project does not run: the user does not trust the project",
			"Use Grep and Read; or ask the user to run "+s.Install+", or mcp-toolset trust in the project.")
	}
	var options map[string]any
	if json.Unmarshal(s.Options, &options) != nil || options == nil {
		options = map[string]any{}
	}
	tsserver, _ := options["tsserver"].(map[string]any)
	if tsserver == nil {
		tsserver = map[string]any{}
	}
	tsserver["path"] = lib
	options["tsserver"] = tsserver
	own := *s
	own.Options, err = json.Marshal(options)
	return &own, err
}

// available names the servers that are found on the user's PATH.
func (m *Manager) available() string {
	var names []string
	for i := range m.config.Servers {
		s := &m.config.Servers[i]
		if _, ok := m.program(Workspace{}, s, "", ""); ok && !slices.Contains(names, s.Name) {
			names = append(names, s.Name)
		}
	}
	if len(names) == 0 {
		return "No language server is installed."
	}
	return "Installed: " + strings.Join(names, ", ") + "."
}

// rootOf returns the root that a path is in, or "".
func rootOf(roots []string, path string) (root string) {
	for _, r := range roots {
		if rel, err := filepath.Rel(r, path); err == nil && filepath.IsLocal(rel) && len(r) > len(root) {
			root = r
		}
	}
	return root
}

// topRoots returns the roots that are in no other one.
func topRoots(roots []string) (tops []string) {
	for _, root := range roots {
		if !slices.ContainsFunc(roots, func(other string) bool {
			rel, err := filepath.Rel(other, root)
			return err == nil && rel != "." && filepath.IsLocal(rel)
		}) && !slices.Contains(tops, root) {
			tops = append(tops, root)
		}
	}
	return tops
}

// program returns the path of a server's program, for a file in the folder dir.
func (m *Manager) program(w Workspace, s *Server, root, dir string) (string, bool) {
	name := s.Command[0]
	if filepath.IsAbs(name) {
		path, err := exec.LookPath(name)
		return path, err == nil
	}
	if root != "" && m.trusts(w, root) {
		for ; ; dir = filepath.Dir(dir) {
			for _, folder := range projectPrograms {
				if path, err := exec.LookPath(filepath.Join(dir, folder, name)); err == nil && s.Fits(path) {
					return path, true
				}
			}
			if dir == root || len(dir) <= len(root) {
				break
			}
		}
	}
	path, err := m.config.Find(name)
	return path, err == nil && s.Fits(path)
}

// Fits reports whether a program is the one that the row means: tsc is a language server from
// version 7 on, which has no tsserver.js.
func (s *Server) Fits(program string) bool {
	if s.Name != "tsc" {
		return true
	}
	real, err := filepath.EvalSymlinks(program)
	return err == nil && !exists(filepath.Join(filepath.Dir(filepath.Dir(real)), "lib", "tsserver.js"))
}

// exists reports whether a file exists, by a pattern for its name.
func exists(pattern string) bool {
	if !strings.Contains(filepath.Base(pattern), "*") {
		_, err := os.Lstat(pattern)
		return err == nil
	}
	found, _ := filepath.Glob(pattern)
	return len(found) > 0
}
