package search

import (
	"os"
	"path/filepath"
	"testing"
)

// TestRulesOfFolders checks that the ignore rules are the same for any searched folder.
func TestRulesOfFolders(t *testing.T) {
	for _, tc := range []struct {
		name    string
		files   map[string]string
		links   map[string]string
		top     string
		folders []string
		want    int
	}{
		{
			name: "worktree",
			files: map[string]string{
				"main/.git/info/exclude": "*.log\n", "main/.git/worktrees/wt/commondir": "../..\n",
				"wt/.git": "gitdir: ../main/.git/worktrees/wt\n", "wt/x.log": "foo", "wt/sub/x.log": "foo",
			},
			top: "wt", folders: []string{"", "sub"},
		},
		{
			name:    "a worktree below",
			files:   map[string]string{"main/.git/info/exclude": "*.log\n", "wt/.git": "gitdir: ../main/.git\n", "wt/sub/x.log": "foo"},
			folders: []string{"", "wt", "wt/sub"},
		},
		{
			name:    "a list that is a link",
			files:   map[string]string{"rules": "*.log\n", ".git/info/x": "", "sub/x.log": "foo"},
			links:   map[string]string{".git/info/exclude": "../../rules"},
			folders: []string{"", "sub"},
		},
		{
			name:    "a repository of jj",
			files:   map[string]string{".git/x": "", ".gitignore": "*.log\n", "in/.jj/x": "", "in/sub/x.log": "foo"},
			folders: []string{"", "in", "in/sub"},
			want:    1,
		},
		{
			name:    "a repository that ignores case",
			files:   map[string]string{".git/config": "[core]\n\tignorecase = true\n", ".gitignore": "*.LOG\n", "sub/x.log": "foo"},
			folders: []string{"", "sub"},
		},
		{
			name:    "a worktree of one",
			files:   map[string]string{"main/.git/config": "[core]\n\tignorecase\n", "main/.git/worktrees/wt/commondir": "../..\n", "wt/.git": "gitdir: ../main/.git/worktrees/wt\n", "wt/.gitignore": "SUB/\n", "wt/sub/x.log": "foo"},
			folders: []string{"", "wt"},
		},
		{
			name:    "a repository that does not, inside one that does",
			files:   map[string]string{".git/config": "[core]\n\tignorecase = true\n", "in/.git/config": "[core]\n\tignorecase = false\n", "in/.gitignore": "*.LOG\n", "in/sub/x.log": "foo"},
			folders: []string{"", "in", "in/sub"},
			want:    1,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := t.TempDir()
			for name, text := range tc.files {
				write(t, filepath.Join(dir, name), text)
			}
			for name, to := range tc.links {
				if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
					t.Skip(err)
				}
			}
			s := New(options(-1, dir))
			defer s.Close()
			for _, folder := range tc.folders {
				if a := search(t, s, filepath.Join(dir, tc.top, folder), asked{pattern: "foo"}.query(t)); a.Total != tc.want {
					t.Errorf("%q: %d files, want %d", folder, a.Total, tc.want)
				}
			}
		})
	}
}

// TestRulesChange checks that changes of rules above the searched folder, and of lists
// elsewhere, apply from the next search on.
func TestRulesChange(t *testing.T) {
	home := t.TempDir()
	dir := filepath.Join(home, "repo")
	write(t, filepath.Join(dir, "sub/x.log"), "foo")
	write(t, filepath.Join(home, "main/.git/info/exclude"), "")
	write(t, filepath.Join(dir, ".git"), "gitdir: ../main/.git\n")
	s := New(options(0, home))
	defer s.Close()
	count := func(folder string, want int, what string) {
		t.Helper()
		for range 2 { // the second one with records
			if a := search(t, s, filepath.Join(dir, folder), asked{pattern: "foo"}.query(t)); a.Total != want {
				t.Errorf("%q, %s: %d files, want %d", folder, what, a.Total, want)
			}
			s.build.Wait()
		}
	}
	for _, list := range []string{"repo/.gitignore", "repo/.ignore", "main/.git/info/exclude", ".none/.config/git/ignore"} {
		for _, folder := range []string{"", "sub"} {
			path := filepath.Join(home, list)
			count(folder, 1, "before "+list)
			write(t, path, "*.log\n")
			count(folder, 0, list)
			write(t, path, "*.txt\n")
			count(folder, 1, "other "+list)
			write(t, path, "")
		}
	}
}

// TestIgnoreCaseChanges checks that a change of core.ignoreCase is seen.
func TestIgnoreCaseChanges(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, ".gitignore"), "*.LOG\n")
	write(t, filepath.Join(dir, "sub", "x.log"), "foo")
	s := New(options(-1, dir))
	defer s.Close()
	for i, value := range []string{"false", "true", "false"} {
		write(t, filepath.Join(dir, ".git", "config"), "[core]\n\tignorecase = "+value+"\n")
		want := 1 - i%2
		if a := search(t, s, dir, asked{pattern: "foo"}.query(t)); a.Total != want {
			t.Errorf("%s: %d files", value, a.Total)
		}
	}
}
