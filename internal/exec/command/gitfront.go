package command

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"mcp-toolset/internal/exec/gitfront"
	"mcp-toolset/internal/exec/sandbox"
)

// frontGit makes git of a command go through gitfront, if files in repositories are hidden
// from the command or protected. Files in .git do not count: git does not track them.
func (e *enclosure) frontGit(p *sandbox.Policy, s Spec) error {
	c := e.commands
	tracked := func(paths []string) (out []string) {
		for _, path := range paths {
			if real := resolved(path); holding(real, p.Write) != "" && !inGitFolder(real) && exists(real) && inRepository(real) {
				out = append(out, real)
			}
		}
		slices.Sort(out)
		return slices.Compact(out)
	}
	paths := gitfront.Paths{Hidden: tracked(p.Hide), Temp: p.TempDir}
	if s.plan {
		paths.Plan, paths.Closed, paths.Opened = true, tracked(s.Protect), s.opened
	} else if !p.ReadOnly {
		paths.Closed = tracked(p.Protect)
		paths.Shown, paths.States = s.Git.refused(s.Grants), map[string][]string{}
		for _, o := range e.openings {
			paths.Opened, paths.Agreed = append(paths.Opened, o.Path), append(paths.Agreed, o.Agreed...)
			maps.Copy(paths.States, o.States)
		}
	}
	programs := c.gits()
	if len(paths.Hidden)+len(paths.Closed)+len(paths.Opened) == 0 || len(programs) == 0 {
		return nil
	}
	above, err := c.temp.of("git")
	if err != nil {
		return err
	}
	if e.front, err = os.MkdirTemp(above, ""); err != nil {
		return fmt.Errorf("making a folder for git: %w", err)
	}
	write := func(name string, text []byte, mode os.FileMode) {
		if err == nil {
			err = os.WriteFile(filepath.Join(e.front, name), text, mode)
		}
	}
	write("paths", encode(paths), 0o600)
	write("front", nil, 0o700)
	p.Programs = append(p.Programs, sandbox.Program{Path: c.program, Kept: filepath.Join(e.front, "front")})
	for i, git := range programs {
		folder := filepath.Join(e.front, strconv.Itoa(i))
		if err == nil {
			err = os.Mkdir(folder, 0o700)
		}
		write(strconv.Itoa(i)+"/git", nil, 0o700)
		write(strconv.Itoa(i)+"/stub", []byte(gitfront.Stub(e.front, i, s.plan)), 0o700)
		p.Programs = append(p.Programs, sandbox.Program{Path: git, By: filepath.Join(folder, "stub"), Kept: filepath.Join(folder, "git")})
	}
	if err != nil {
		return fmt.Errorf("making a folder for git: %w", err)
	}
	p.Read = append(p.Read, e.front, c.program)
	return nil
}

// gits returns the programs git on PATH, and those that git itself starts. It returns none
// that a command can change.
func (c *Commands) gits() (out []string) {
	add := func(path string) {
		real, err := filepath.EvalSymlinks(path)
		if err == nil && filepath.Base(real) == "git" && !c.writes(path, real) && !slices.Contains(out, real) {
			out = append(out, real)
		}
	}
	for _, folder := range c.programs() {
		add(filepath.Join(folder, "git"))
	}
	for _, git := range slices.Clone(out) {
		for _, lib := range []string{"lib", "libexec", "lib64"} {
			add(filepath.Join(filepath.Dir(filepath.Dir(git)), lib, "git-core", "git"))
		}
	}
	return out
}

// inGitFolder reports whether a path is a folder .git or in one.
func inGitFolder(path string) bool {
	for at := path; at != filepath.Dir(at); at = filepath.Dir(at) {
		if filepath.Base(at) == ".git" {
			return true
		}
	}
	return false
}

// inRepository reports whether a folder above a path has a name .git.
func inRepository(path string) bool {
	for at := filepath.Dir(path); ; at = filepath.Dir(at) {
		if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil {
			return true
		}
		if at == filepath.Dir(at) {
			return false
		}
	}
}
