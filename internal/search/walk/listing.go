package walk

import (
	"context"
	"sync"
	"sync/atomic"
)

// Listing holds the files of a tree at one moment. It never changes.
type Listing struct {
	// Dirs lists every folder, the top first. A folder comes before its descendants,
	// siblings in the byte order of their names.
	Dirs []*Dir
	// First holds, for each of Dirs, the number of its first file when all files are
	// counted in order, as Stat does.
	First []int
	// Files is the number of files.
	Files int
	// Unreadable is the number of folders with an Err.
	Unreadable int

	open    Opener
	workers int
	bytes   int64

	parents []int32 // of each of Dirs, as an index of Dirs; that of the top is itself
	ranking sync.Once
	ranks   []int32
}

// Bytes returns the approximate memory of the listing.
func (l *Listing) Bytes() int64 { return l.bytes }

// Root returns the top folder.
func (l *Listing) Root() *Dir { return l.Dirs[0] }

// Dir holds the entries of one folder. It never changes: when the entries do, there is
// a new Dir. Changes in folders below do not affect it. So what callers know of a *Dir
// stays valid as long as it is in the newest listing.
type Dir struct {
	// Files lists the files in the byte order of their names.
	Files []File
	// Ignored is the number of ignored files and folders.
	Ignored int
	// Err is the reason why the folder could not be read to its end. A folder that is
	// gone is not an error and is not listed.
	Err error

	place *place
	near  bool // on a local file system
}

// Path returns the path relative to the top, with slashes; "" is the top. It may be
// longer than system calls accept, up to 100,000 bytes.
func (d *Dir) Path() string { return d.place.path() }

// File is a regular file.
type File struct {
	Name string
	// ID is unique among all files that the Tree ever listed. It stays the same while
	// the folder at this path lists the same inode under the same name. It does not
	// depend on the content: see Stamp. On other systems than Linux the name alone
	// decides.
	ID uint64

	ino uint64 // as listed; on overlays it may differ from that of stat
}

// Stamp distinguishes the states of a file. The zero Stamp means that the file is gone,
// not regular any more, or was not looked at. If a folder above was just replaced by a
// link, the Stamp may be that of another file.
type Stamp struct {
	Dev, Ino     uint64 // 0 where the system does not report them
	Size         int64  // bytes
	Mtime, Ctime int64  // nanoseconds since 1970; Ctime is 0 where the system does not report it
	Links        uint32 // hard links; 0 where the system does not report them
}

// Stat looks at every file now and returns the stamps, counted as in First. It uses buf
// if that is large enough. Files that cannot be looked at have the zero Stamp. Stat
// returns the errors of the Opener and of ctx.
func (l *Listing) Stat(ctx context.Context, buf []Stamp) ([]Stamp, error) {
	top, err := l.Open()
	if err != nil {
		return nil, err
	}
	defer top.Close()
	buf = resize(buf, l.Files)
	l.stat(ctx, top.top, buf, nil)
	return buf, ctx.Err()
}

// stat sets the stamps of the files of all folders except those that are done. done may
// be nil.
func (l *Listing) stat(ctx context.Context, top folder, stamps []Stamp, done []bool) {
	left := len(l.Dirs)
	for _, ok := range done {
		if ok {
			left--
		}
	}
	if left == 0 {
		return
	}
	var next atomic.Int64
	parallel(min(l.workers, left), func() {
		loc := locator{top: top, post: NewPost(ctx)}
		defer loc.close()
		defer loc.post.Leave()
		for ctx.Err() == nil {
			i := int(next.Add(1)) - 1
			if i >= len(l.Dirs) {
				return
			}
			if done == nil || !done[i] {
				loc.files(ctx, l.Dirs[i], stamps[l.First[i]:][:len(l.Dirs[i].Files)], nil)
			}
		}
	})
}

// fewFiles is the number of files of a folder up to which they are looked at by their
// paths. That is faster than to open the folder, which takes ten times as long as the
// lookup of its path.
const fewFiles = 12

// files sets the stamps of the files of one folder that are wanted; nil means all. It
// returns their number. It may follow links above the folder, as stat does.
func (l *locator) files(ctx context.Context, d *Dir, stamps []Stamp, want []bool) (count int) {
	clear(stamps)
	count = len(stamps)
	for _, ok := range want {
		if !ok {
			count--
		}
	}
	if count == 0 {
		return 0
	}
	l.post.enter(d.place)
	from, err := l.find(d.place)
	if err != nil {
		return count
	}
	rel := d.place.rel
	if count > fewFiles {
		if from, err = from.enter(rel); err != nil {
			return count
		}
		defer from.close()
		rel = ""
	}
	l.row.begin(from.withoutNotify(l.unnotified), rel)
	for i := range d.Files {
		if i%stride == stride-1 {
			if ctx.Err() != nil {
				return count
			}
			l.post.enter(d.place)
		}
		if want == nil || want[i] {
			l.row.stat(d.Files[i].Name, &stamps[i])
		}
	}
	return count
}
