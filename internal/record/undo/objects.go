package undo

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/klauspost/compress/zstd"

	"mcp-toolset/internal/file/filelock"
	"mcp-toolset/internal/record/state"
)

// Hash is the SHA-256 of a content.
type Hash [sha256.Size]byte

// Contents are in pack files: records of a header and the compressed content, in the order of
// their arrival. Each process appends to packs of its own, which it locks, and reads all. A
// record that a killed process has not completed is at the end of its pack and is ignored, and
// so are, after a crash of the system, the first damaged record of a pack and those that follow.
// Reading verifies the hash.
const (
	packMagic  = 0x3175746d // mtu1
	headerSize = 64
	packEnd    = ".pack"
	// syncedFile is the name of a file with the bytes of each pack that survive a crash of the system.
	syncedFile = "synced"

	// packSize is the size at which a new pack begins. Packs are removed as a whole, or written
	// anew when less than half of their bytes is in use.
	packSize = 64 << 20

	methodRaw, methodZstd = 0, 1
)

// errFull is the error for a content that does not fit into the quota.
var errFull = errors.New("the quota of the undo store is used up")

// errMissing is the error for a content that the store does not have or has damaged.
var errMissing = errors.New("the content is not in the undo store any more")

type place struct {
	pack      *pack
	at        int64 // of the data
	size, raw int64
	method    byte
}

type pack struct {
	path   string
	file   *os.File
	end    int64 // of the last complete record
	synced int64 // what precedes survives a crash of the system, and is not verified again
	own    bool  // written by this process
}

// objects is a store of contents by hash. It is safe for concurrent use.
type objects struct {
	dir   string
	quota int64

	mu    sync.Mutex
	index map[Hash]place
	packs map[string]*pack
	write *pack // nil: none yet
	bytes int64 // of all packs

	encoder *zstd.Encoder
	decoder *zstd.Decoder
}

// openObjects opens the packs in dir.
func openObjects(dir string, quota int64) (*objects, error) {
	if err := state.EnsurePrivate(dir); err != nil {
		return nil, err
	}
	o := &objects{dir: dir, quota: quota, index: map[Hash]place{}, packs: map[string]*pack{}}
	var err error
	if o.encoder, err = zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithLowerEncoderMem(true), zstd.WithEncoderConcurrency(copiers)); err != nil {
		return nil, err
	}
	if o.decoder, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxBase), zstd.WithDecoderLowmem(true)); err != nil {
		return nil, err
	}
	if err := o.refresh(); err != nil {
		return nil, errors.Join(err, o.close())
	}
	return o, nil
}

// refresh reads the packs that other processes have added or extended. The caller must hold
// mu, or be the only one with o.
func (o *objects) refresh() error {
	list, err := os.ReadDir(o.dir)
	if err != nil {
		return err
	}
	var synced map[string]int64
	if data, _, err := state.ReadTrusted(filepath.Join(o.dir, syncedFile), 1<<20); err == nil {
		_ = json.Unmarshal(data, &synced) // if it is damaged, more is verified
	}
	for _, d := range list {
		if !strings.HasSuffix(d.Name(), packEnd) || !d.Type().IsRegular() {
			continue
		}
		p := o.packs[d.Name()]
		if p == nil {
			file, err := os.Open(filepath.Join(o.dir, d.Name()))
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				return err
			}
			p = &pack{path: file.Name(), file: file, synced: synced[d.Name()]}
			o.packs[d.Name()] = p
		}
		if !p.own {
			if err := o.scan(p); err != nil {
				return err
			}
		}
	}
	return nil
}

// scan adds the records of a pack that follow its end. It verifies those that a crash of the system may
// have damaged: has and put rely on the index.
func (o *objects) scan(p *pack) error {
	info, err := p.file.Stat()
	if err != nil {
		return err
	}
	var header [headerSize]byte
	for p.end+headerSize <= info.Size() {
		if _, err := p.file.ReadAt(header[:], p.end); err != nil {
			return err
		}
		hash, at, ok := parseHeader(header[:])
		if !ok || at.size > info.Size()-p.end-headerSize {
			return nil
		}
		at.pack, at.at = p, p.end+headerSize
		if at.at+at.size > p.synced {
			if _, err := o.read(hash, at); err != nil {
				return nil
			}
		}
		p.end = at.at + at.size
		o.bytes += headerSize + at.size
		if _, have := o.index[hash]; !have {
			o.index[hash] = at
		}
	}
	return nil
}

func putHeader(h []byte, hash Hash, at place) {
	binary.LittleEndian.PutUint32(h, packMagic)
	h[4] = at.method
	binary.LittleEndian.PutUint64(h[8:], uint64(at.raw))
	binary.LittleEndian.PutUint64(h[16:], uint64(at.size))
	copy(h[24:], hash[:])
	binary.LittleEndian.PutUint32(h[56:], crc32.ChecksumIEEE(h[:56]))
}

func parseHeader(h []byte) (hash Hash, at place, ok bool) {
	copy(hash[:], h[24:56])
	at = place{method: h[4], raw: int64(binary.LittleEndian.Uint64(h[8:])), size: int64(binary.LittleEndian.Uint64(h[16:]))}
	ok = binary.LittleEndian.Uint32(h) == packMagic && binary.LittleEndian.Uint32(h[56:]) == crc32.ChecksumIEEE(h[:56]) && at.size >= 0 && at.raw >= 0
	return hash, at, ok
}

// has reports whether the store has a content.
func (o *objects) has(hash Hash) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	_, ok := o.index[hash]
	return ok
}

// put stores a content. reserve is the part of the quota that must remain free.
func (o *objects) put(data []byte, reserve int64) (Hash, error) {
	hash := Hash(sha256.Sum256(data))
	if o.has(hash) {
		return hash, nil
	}
	at := place{method: methodZstd, raw: int64(len(data))}
	record := o.encoder.EncodeAll(data, make([]byte, headerSize, headerSize+len(data)/2+64))
	if len(record) >= headerSize+len(data) {
		at.method, record = methodRaw, append(record[:headerSize], data...)
	}
	at.size = int64(len(record) - headerSize)
	o.mu.Lock()
	defer o.mu.Unlock()
	if _, ok := o.index[hash]; ok {
		return hash, nil
	}
	return hash, o.append(hash, at, record, reserve)
}

// append writes a record, whose header it sets. The caller must hold mu.
func (o *objects) append(hash Hash, at place, record []byte, reserve int64) error {
	if o.bytes+headerSize+at.size > o.quota-reserve {
		return errFull
	}
	if o.write == nil || o.write.end > packSize {
		if err := o.begin(); err != nil {
			return err
		}
	}
	p := o.write
	putHeader(record, hash, at)
	if _, err := writeAt(p.file, record, p.end); err != nil {
		_ = p.file.Truncate(p.end)
		return fmt.Errorf("writing to the undo store: %w", err)
	}
	at.pack, at.at = p, p.end+headerSize
	p.end = at.at + at.size
	o.bytes += headerSize + at.size
	o.index[hash] = at
	return nil
}

// writeAt is a variable so that tests can simulate a full disk.
var writeAt = func(f *os.File, b []byte, at int64) (int, error) { return f.WriteAt(b, at) }

// begin begins a new pack.
func (o *objects) begin() error {
	name := strings.ToLower(rand.Text()) + packEnd
	file, err := os.OpenFile(filepath.Join(o.dir, name), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("creating a file of the undo store: %w", err)
	}
	_, _ = filelock.TryLock(file)
	o.write = &pack{path: file.Name(), file: file, own: true}
	o.packs[name] = o.write
	return nil
}

// sync makes all contents that the index has survive a crash of the system, also those that other
// processes have stored.
func (o *objects) sync() error {
	o.mu.Lock()
	ends := map[*pack]int64{}
	for _, p := range o.packs {
		if p.end > p.synced {
			ends[p] = p.end
		}
	}
	o.mu.Unlock()
	if len(ends) == 0 {
		return nil
	}
	for p := range ends {
		if err := p.file.Sync(); err != nil && !errors.Is(err, os.ErrClosed) { // closed: a later pack has what is live
			return err
		}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for p, end := range ends {
		p.synced = max(p.synced, end)
	}
	synced := map[string]int64{}
	for name, p := range o.packs {
		synced[name] = p.synced
	}
	data, err := json.Marshal(synced)
	if err != nil {
		return err
	}
	// Without the file, the next process verifies more.
	fresh := filepath.Join(o.dir, strings.ToLower(rand.Text())+".new")
	if os.WriteFile(fresh, data, 0o600) != nil || os.Rename(fresh, filepath.Join(o.dir, syncedFile)) != nil {
		_ = os.Remove(fresh)
	}
	return nil
}

// get returns a content, after it has verified its hash.
func (o *objects) get(hash Hash) ([]byte, error) {
	o.mu.Lock()
	at, ok := o.index[hash]
	if !ok {
		_ = o.refresh()
		at, ok = o.index[hash]
	}
	o.mu.Unlock()
	if !ok {
		return nil, errMissing
	}
	return o.read(hash, at)
}

// read returns the content of a record, after it has verified its hash.
func (o *objects) read(hash Hash, at place) ([]byte, error) {
	if at.raw > maxExact {
		return nil, errMissing
	}
	body := make([]byte, at.size)
	if _, err := at.pack.file.ReadAt(body, at.at); err != nil {
		return nil, fmt.Errorf("%w: %w", errMissing, err)
	}
	if at.method == methodZstd {
		var err error
		if body, err = o.decoder.DecodeAll(body, make([]byte, 0, at.raw)); err != nil {
			return nil, fmt.Errorf("%w: %w", errMissing, err)
		}
	}
	if sha256.Sum256(body) != hash {
		return nil, fmt.Errorf("%w: it is damaged", errMissing)
	}
	return body, nil
}

// decodeAll decompresses data that the encoder has compressed.
func (o *objects) decodeAll(data []byte) ([]byte, error) { return o.decoder.DecodeAll(data, nil) }

// collect removes the contents that are not live. It writes packs anew of which at most share
// percent are live. No other process may use the store.
func (o *objects) collect(live map[Hash]bool, share int64) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := o.refresh(); err != nil {
		return err
	}
	used := map[*pack]int64{}
	for hash, at := range o.index {
		if live[hash] {
			used[at.pack] += headerSize + at.size
		}
	}
	for name, p := range maps.Clone(o.packs) { // rewrite adds packs
		if used[p] > p.end/100*share {
			continue
		}
		if o.write == p {
			o.write = nil
		}
		if err := o.rewrite(p, live); err != nil {
			return err
		}
		if err := errors.Join(p.file.Close(), os.Remove(p.path)); err != nil {
			return err
		}
		o.bytes -= p.end
		delete(o.packs, name)
	}
	return nil
}

// rewrite copies the live records of a pack to the one that is being written, and forgets the
// others.
func (o *objects) rewrite(p *pack, live map[Hash]bool) error {
	for hash, at := range o.index {
		if at.pack != p {
			continue
		}
		if !live[hash] {
			delete(o.index, hash)
			continue
		}
		record := make([]byte, headerSize+at.size)
		if _, err := p.file.ReadAt(record[headerSize:], at.at); err != nil {
			return err
		}
		if err := o.append(hash, at, record, -p.end); err != nil {
			return err
		}
	}
	for _, written := range o.packs {
		if written == p || !written.own || written.end == written.synced {
			continue
		}
		if err := written.file.Sync(); err != nil {
			return err
		}
		written.synced = written.end
	}
	return nil
}

// close closes the packs, after it has synced what this process has stored.
func (o *objects) close() error {
	o.mu.Lock()
	wrote := o.write != nil
	o.mu.Unlock()
	var errs []error
	if wrote {
		errs = append(errs, o.sync())
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, p := range o.packs {
		if p.own && p.end == 0 {
			errs = append(errs, os.Remove(p.path))
		}
		errs = append(errs, p.file.Close())
	}
	o.packs, o.index, o.write = map[string]*pack{}, map[Hash]place{}, nil
	o.decoder.Close()
	return errors.Join(errs...)
}
