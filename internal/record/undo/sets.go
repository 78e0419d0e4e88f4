package undo

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/gob"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/klauspost/compress/zstd"

	"mcp-toolset/internal/record/state"
)

// Header describes a change set.
type Header struct {
	Number             int // from 1, per workspace
	Principal, Session string
	Tool, Call, Title  string
	Began, Ended       time.Time
	Exact              bool  // of a file tool or an undo: nothing else is in it
	Late               bool  // taken after the answer, when a task had ended
	Undoes             []int // the change sets that it undoes
	Unfinished         bool  // an undo that has not ended
	Paths              int   // number of changes
}

// Set is the changes of one call or undo.
type Set struct {
	Header
	Changes []Change
}

// errNone is the error for a change set that does not exist.
var errNone = errors.New("there is no such change set")

// errDamaged is the error for a change set that a crash of the system has not left whole.
var errDamaged = errors.New("it is damaged")

// Dir returns the folder of the store of a workspace, whose first root identifies it.
func Dir(stateDir string, roots []string) string {
	first := ""
	if len(roots) > 0 {
		first = roots[0]
	}
	sum := sha256.Sum256([]byte(first))
	return filepath.Join(stateDir, "undo", hex.EncodeToString(sum[:8]))
}

// workspaceFile is the name of the file that describes the workspace.
const workspaceFile = "workspace"

func (s *Store) describe() error {
	data, err := json.Marshal(s.o.Roots.Paths())
	if err != nil {
		return err
	}
	return state.Replace(filepath.Join(s.dir, workspaceFile), data)
}

// Roots returns the roots of the workspace that a folder of a store belongs to.
func Roots(dir string) (roots []string, err error) {
	data, _, err := state.ReadTrusted(filepath.Join(dir, workspaceFile), 1<<20)
	if err == nil {
		err = json.Unmarshal(data, &roots)
	}
	return roots, err
}

func (s *Store) setPath(number int) string {
	return filepath.Join(s.dir, "sets", fmt.Sprintf("%08d", number))
}

// numbers returns the numbers of the change sets in ascending order.
func (s *Store) numbers() ([]int, error) {
	list, err := os.ReadDir(filepath.Join(s.dir, "sets"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var out []int
	for _, d := range list {
		if n, err := strconv.Atoi(d.Name()); err == nil && n > 0 {
			out = append(out, n)
		}
	}
	slices.Sort(out)
	return out, err
}

// add numbers a change set and stores it. With durable, it survives a crash of the system when add
// returns, together with the contents; otherwise that is so a little later, since syncing would
// delay each command. The caller must hold the lock.
func (s *Store) add(set *Set, durable bool) error {
	if err := s.open(); err != nil {
		return err
	}
	if durable {
		if err := s.objects.sync(); err != nil {
			return err
		}
	}
	release, err := s.exclusive("sets.lock")
	if err != nil {
		return err
	}
	defer release()
	have, err := s.numbers()
	if err != nil {
		return err
	}
	set.Number = 1 + s.last()
	if len(have) > 0 {
		set.Number = max(set.Number, have[len(have)-1]+1)
	}
	if main := s.workspace(); main != nil {
		if set.Number, err = main.reserve(set.Number); err != nil {
			return err
		}
	}
	if err := s.write(set, durable); err != nil || durable {
		return err
	}
	s.syncLater(s.setPath(set.Number))
	return nil
}

// syncDelay is the time after a call at which its change set is synced. Syncing at once would delay
// the next commands: ext4 then writes all that the call has written, which it does every 5 s anyway.
const syncDelay = 5 * time.Second

// syncLater syncs the contents and a file in the background.
func (s *Store) syncLater(path string) {
	s.starting.Lock()
	s.unsynced, s.unsyncedIn = append(s.unsynced, path), s.objects
	first := len(s.unsynced) == 1
	s.starting.Unlock()
	if !first {
		return
	}
	s.start(func() {
		select {
		case <-time.After(syncDelay):
		case <-s.ctx.Done():
		}
		s.starting.Lock()
		paths, objects := s.unsynced, s.unsyncedIn
		s.unsynced = nil
		s.starting.Unlock()
		_ = objects.sync()
		for _, path := range paths {
			if f, err := os.Open(path); err == nil {
				_ = f.Sync()
				_ = f.Close()
			}
		}
	})
}

// tidy prunes the store now and then. The caller must hold the lock.
func (s *Store) tidy() {
	if s.objects == nil || s.o.Now().Sub(s.pruned) < time.Hour && s.objects.bytes < s.o.Quota/10*9 {
		return
	}
	if err := s.prune(); err != nil {
		s.o.Log.Warn("the undo store cannot be pruned", "error", err.Error())
	}
}

// last returns the largest number that a removed change set had.
func (s *Store) last() int {
	data, _, err := state.ReadTrusted(filepath.Join(s.dir, "last"), 20)
	if err != nil {
		return 0
	}
	n, _ := strconv.Atoi(string(data))
	return n
}

func (s *Store) write(set *Set, durable bool) error {
	set.Paths = len(set.Changes)
	var b bytes.Buffer
	z, err := zstd.NewWriter(&b, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithLowerEncoderMem(true), zstd.WithWindowSize(1<<20))
	if err != nil {
		return err
	}
	g := gob.NewEncoder(z)
	err = g.Encode(set.Header)
	if err == nil {
		err = g.Encode(set.Changes)
	}
	if err = errors.Join(err, z.Close()); err != nil {
		return err
	}
	if durable {
		return state.Replace(s.setPath(set.Number), b.Bytes())
	}
	fresh := s.setPath(set.Number) + ".new"
	if err := os.WriteFile(fresh, b.Bytes(), 0o600); err != nil {
		return errors.Join(err, os.Remove(fresh))
	}
	return os.Rename(fresh, s.setPath(set.Number))
}

// maxSet is the limit of the size of a stored change set.
const maxSet = 256 << 20

// read returns a change set, or only its header.
func (s *Store) read(number int, whole bool) (*Set, error) {
	data, _, err := state.ReadTrusted(s.setPath(number), maxSet)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errNone
	}
	if err != nil {
		return nil, err
	}
	z, err := zstd.NewReader(bytes.NewReader(data), zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true))
	if err != nil {
		return nil, fmt.Errorf("%w: reading the change set %d: %w", errDamaged, number, err)
	}
	defer z.Close()
	set, g := new(Set), gob.NewDecoder(z)
	err = g.Decode(&set.Header)
	if err == nil && whole {
		err = g.Decode(&set.Changes)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: reading the change set %d: %w", errDamaged, number, err)
	}
	return set, nil
}

// Get returns a change set.
func (s *Store) Get(number int) (*Set, error) { return s.read(number, true) }

// List returns the headers of the change sets that fits accepts, the newest first, at most
// limit. Change sets that cannot be read are left out.
func (s *Store) List(limit int, fits func(*Header) bool) ([]Header, error) {
	have, err := s.numbers()
	if err != nil {
		return nil, err
	}
	var out []Header
	for _, n := range slices.Backward(have) {
		if len(out) == limit {
			break
		}
		if set, err := s.read(n, false); err == nil && fits(&set.Header) {
			out = append(out, set.Header)
		}
	}
	return out, nil
}

// prune removes what is too old or too much. It does nothing while another process uses the
// store, or a call is recorded. The caller must hold the lock.
func (s *Store) prune() error {
	s.pruned = s.o.Now()
	if len(s.active) > 0 {
		return nil
	}
	release, err := s.exclusive("sets.lock")
	if err != nil {
		return err
	}
	defer release()
	if !s.alone() {
		return nil
	}
	have, err := s.numbers()
	if err != nil {
		return err
	}
	oldest, removed := s.o.Now().Add(-maxAge), 0
	for len(have) > 0 {
		set, err := s.read(have[0], false)
		if err == nil && set.Ended.After(oldest) && len(have) <= maxSets {
			break
		}
		if err := s.remove(have[0]); err != nil {
			return err
		}
		have, removed = have[1:], removed+1
	}
	for removed > 0 || s.objects.bytes > s.o.Quota/10*9 {
		for _, share := range []int64{50, 90} {
			if err := s.collect(have, share); err != nil {
				return err
			}
			if s.objects.bytes <= s.o.Quota/10*8 {
				break
			}
		}
		if s.objects.bytes <= s.o.Quota/10*8 || len(have) == 0 {
			return nil
		}
		for range 1 + len(have)/10 {
			if err := s.remove(have[0]); err != nil {
				return err
			}
			have = have[1:]
		}
	}
	return nil
}

func (s *Store) remove(number int) error {
	if err := state.Replace(filepath.Join(s.dir, "last"), []byte(strconv.Itoa(max(number, s.last())))); err != nil {
		return err
	}
	return os.Remove(s.setPath(number))
}

// collect removes the contents that neither the change sets, nor the base, nor calls that can be
// resumed have.
func (s *Store) collect(numbers []int, share int64) error {
	live := map[Hash]bool{}
	for _, n := range numbers {
		set, err := s.read(n, true)
		if errors.Is(err, errDamaged) { // it cannot be undone either
			continue
		}
		if err != nil {
			return err
		}
		for i := range set.Changes {
			for _, st := range []*State{&set.Changes[i].Before, &set.Changes[i].After} {
				if st.Known && st.Kind == File {
					live[st.Hash] = true
				}
			}
		}
	}
	trees := []*tree{s.base}
	for _, path := range s.pendings() {
		var p pending
		if s.readTree(path, &p) == nil { // otherwise, it cannot be resumed either
			trees = append(trees, p.Start)
		}
	}
	for _, t := range trees {
		if t == nil {
			continue
		}
		t.each(func(_ string, _ int, e *entry) {
			if e.Content != nil && e.Stamp.kind() == File {
				live[e.Content.Hash] = true
			}
		})
	}
	return s.objects.collect(live, share)
}

// forgetOthers removes the stores of workspaces that no server has used for maxAge, since they may
// hold secrets, and sooner those of worktrees that are gone: each may be as large as the workspace. It
// ignores errors.
func (s *Store) forgetOthers() {
	list, err := os.ReadDir(filepath.Dir(s.dir))
	if err != nil {
		return
	}
	for _, d := range list {
		other := &Store{dir: filepath.Join(filepath.Dir(s.dir), d.Name()), o: s.o}
		// A server writes the file when it opens the store, and has a lock as long as it runs.
		limit := maxAge
		if other.isGone() {
			limit = maxGone
		}
		unused := func() bool {
			info, err := os.Lstat(filepath.Join(other.dir, workspaceFile))
			return err == nil && s.o.Now().Sub(info.ModTime()) >= limit
		}
		if d.IsDir() && other.dir != s.dir && unused() {
			_ = other.discard(unused)
		}
	}
}

// discard removes the folder of a store that is not open here, if unused returns true when no other
// process can begin to use it.
func (s *Store) discard(unused func() bool) error {
	release, err := s.exclusive("sets.lock")
	if err != nil {
		return err
	}
	defer release()
	if !unused() || !s.alone() {
		return ErrUsed
	}
	return os.RemoveAll(s.dir)
}

// Usage describes the store of a workspace.
type Usage struct {
	Sets  int
	Bytes int64
}

// Measure returns what the folder of a store holds, without opening the store.
func Measure(dir string) (u Usage) {
	if list, err := os.ReadDir(filepath.Join(dir, "sets")); err == nil {
		u.Sets = len(list)
	}
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			if info, err := d.Info(); err == nil {
				u.Bytes += info.Size()
			}
		}
		return nil
	})
	return u
}

// ErrUsed is the error of Forget while a server uses the store.
var ErrUsed = errors.New("a server uses it")

// Forget removes all change sets and contents of the workspace.
func (s *Store) Forget(ctx context.Context) error {
	if err := s.lock(ctx); err != nil {
		return err
	}
	defer s.unlock()
	if err := s.open(); err != nil {
		return err
	}
	release, err := s.exclusive("sets.lock")
	if err != nil {
		return err
	}
	defer release()
	if len(s.active) > 0 || !s.alone() {
		return ErrUsed
	}
	have, err := s.numbers()
	if err != nil {
		return err
	}
	for _, n := range have {
		if err := s.remove(n); err != nil {
			return err
		}
	}
	s.base = nil
	if err := os.Remove(filepath.Join(s.dir, "base")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return s.objects.collect(nil, 100)
}
