package command

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"mcp-toolset/internal/exec/sandbox"
	"mcp-toolset/internal/record/state"
)

// Caches hold what other projects compile and run: sources of modules, compiled
// packages, programs. So commands do not change the caches themselves. An overlay puts
// a layer of the workspace over each cache: a command reads the shared downloads, and
// its writes go to the workspace's layer in the state folder. Copies named in the
// variables of each tool would need no mounts. But they start empty, and most tools
// cannot fill them from the shared cache offline. On systems without overlays, commands
// write to the caches themselves, except for the programs in them.

// layerAge is the time after its last use at which a workspace's layers are removed.
const layerAge = 30 * 24 * time.Hour

// The kernel does not define the behaviour of two overlays on one layer. So a workspace
// has several layers, and a command takes one that no other command uses: nearly always
// the first.
const (
	maxLayers = 256
	maxViewed = 16 // limit of layers that a read-only command sees
)

// layersFolder returns the folder that holds the layers of all workspaces.
func (c *Commands) layersFolder() string { return filepath.Join(c.config.State, "caches") }

// Layers returns the folder that holds the layers of this workspace.
func (c *Commands) Layers() string {
	roots := slices.Sorted(slices.Values(c.config.Roots))
	return filepath.Join(c.layersFolder(), fmt.Sprintf("%x", sha256.Sum256([]byte(strings.Join(roots, "\x00"))))[:16])
}

// lockLayer locks the first layer that no command uses, of this server or another one.
// The lock lasts until the caller closes the closer.
func (c *Commands) lockLayer() (string, io.Closer, error) {
	folder := c.Layers()
	for _, dir := range []string{c.config.State, c.layersFolder(), folder} {
		if err := state.EnsurePrivate(dir); err != nil {
			return "", nil, err
		}
	}
	now := time.Now()
	if err := os.Chtimes(folder, now, now); err != nil {
		return "", nil, err
	}
	for i := range maxLayers {
		layer := filepath.Join(folder, strconv.Itoa(i+1))
		if err := os.Mkdir(layer, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return "", nil, fmt.Errorf("making a layer over caches: %w", err)
		}
		if lock, err := lockFolder(layer); err == nil {
			return layer, lock, nil
		}
	}
	return "", nil, fmt.Errorf("all %d layers over caches are in use", maxLayers)
}

// viewed returns the layers of this workspace that a read-only command sees.
func (c *Commands) viewed() (out []string) {
	for i := range maxViewed {
		layer := filepath.Join(c.Layers(), strconv.Itoa(i+1))
		if info, err := os.Lstat(layer); err == nil && info.IsDir() {
			out = append(out, layer)
		}
	}
	return out
}

// grantCaches adds the caches to the policy of a command. layers reports whether
// overlays work here. The caller must close a non-nil closer when the command has
// ended.
func (c *Commands) grantCaches(p *sandbox.Policy, layers bool) io.Closer {
	all := slices.DeleteFunc(slices.Clone(c.Caches()), func(cache sandbox.Cache) bool { return cache.Layered && !layers })
	if !p.ReadOnly {
		makeCaches(all, layers)
	}
	if !layers {
		for _, cache := range all {
			if !p.ReadOnly {
				p.Write = append(p.Write, cache.Data(c.programs())...)
			}
		}
		return nil
	}
	for _, cache := range all {
		info, err := os.Stat(cache.Path)
		if err != nil {
			continue
		}
		if info.IsDir() {
			p.Layered = append(p.Layered, cache.Path)
		}
		if p.ReadOnly {
			p.Read = append(p.Read, cache.Path) // lists of its children do not contain the files of layers
		} else {
			p.Write = append(p.Write, cache.Path)
		}
	}
	if p.ReadOnly {
		p.Layers = c.viewed()
		return nil
	}
	c.sweep.Do(c.sweepLayers)
	layer, lock, err := c.lockLayer()
	if err != nil {
		c.config.Log.Warn("a command cannot write to caches", "err", err)
		p.Write = slices.DeleteFunc(p.Write, func(path string) bool { return slices.Contains(p.Layered, path) })
		return nil
	}
	p.Layers = []string{layer}
	return lock
}

// makeCaches makes the folders that tools would make at their first run, since a right
// can only be given to an existing folder.
func makeCaches(all []sandbox.Cache, layers bool) {
	for _, cache := range all {
		if cache.Absent {
			_ = os.MkdirAll(cache.Path, 0o700) // if this fails, the tool reports it
		}
		if !layers {
			for _, part := range cache.Parts {
				_ = os.MkdirAll(filepath.Join(cache.Path, part), 0o700)
			}
		}
	}
}

// sweepLayers removes the layers of workspaces that were not used for layerAge.
func (c *Commands) sweepLayers() {
	workspaces, _ := os.ReadDir(c.layersFolder())
	for _, w := range workspaces {
		folder := filepath.Join(c.layersFolder(), w.Name())
		info, err := os.Lstat(folder)
		if err != nil || !info.IsDir() || time.Since(info.ModTime()) < layerAge {
			continue
		}
		layers, _ := os.ReadDir(folder)
		for _, l := range layers {
			layer := filepath.Join(folder, l.Name())
			lock, err := lockFolder(layer)
			if err != nil {
				continue // a command uses it
			}
			_ = removeAll(layer)
			_ = lock.Close()
		}
		_ = os.Remove(folder) // if it is empty
	}
}
