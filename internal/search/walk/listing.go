package walk

import (
	"context"
	"sync"
	"sync/atomic"
)

// Listing is the files of a tree at one moment. It never changes.
type Listing struct {
	// Dirs is every folder, the top first. A folder comes before what is
	// below it, neighbours in the byte order of their names.
	Dirs []*Dir
	// First has, for each of Dirs, the number of its first file when all
	// files are counted in order, as Stat does.
	First []int
	// Files is how many files there are.
	Files int
	// Unreadable is how many folders have an Err.
	Unreadable int

	open    Opener
	workers int
	bytes   int64

	parents []int32 // of each of Dirs, as a number of these; of the top its own
	ranking sync.Once
	ranks   []int32
}

// Bytes is the memory that the listing takes, about.
func (l *Listing) Bytes() int64 { return l.bytes }

// Root is the top folder.
func (l *Listing) Root() *Dir { return l.Dirs[0] }

// Dir is one folder's entries. It never changes: when the entries do, there
// is a new Dir. What happens in folders below does not matter to it, so what
// others know by *Dir stays good as long as it is in the newest listing.
type Dir struct {
	// Files is the files listed, in the byte order of their names.
	Files []File
	// Ignored is how many files and folders the rules left out.
	Ignored int
	// Err is why the folder could not be read, or not to its end. A folder
	// that is gone is no error and not listed.
	Err error

	place *place
	near  bool // on a file system of this machine
}

// Path is relative to the top, with slashes; "" is the top. It may be longer
// than the system's calls take, up to 100,000 bytes.
func (d *Dir) Path() string { return d.place.path() }

// File is one regular file.
type File struct {
	Name string
	// ID is unlike that of any other file of the Tree ever. It stays as long
	// as the folder at this path lists the same inode under the same name.
	// It says nothing of the content: see Stamp. Elsewhere than on Linux the
	// name alone decides.
	ID uint64

	ino uint64 // as the folder lists it, which overlays may give otherwise than stat
}

// Stamp is what tells one state of a file from another. The zero Stamp is
// that of a file that is gone, no longer regular, or was not looked at. It may
// be that of another file where a folder above was replaced by a link just now.
type Stamp struct {
	Dev, Ino     uint64 // 0 where the system does not tell
	Size         int64  // bytes
	Mtime, Ctime int64  // nanoseconds since 1970; Ctime 0 where the system does not tell
	Links        uint32 // hard links; 0 where the system does not tell
}

// Stat looks at every file now and gives their stamps, counted as in First,
// in buf if that has the room. Files that cannot be looked at have the zero
// Stamp. The errors are those of the Opener and of ctx.
func (l *Listing) Stat(ctx context.Context, buf []Stamp) ([]Stamp, error) {
	top, err := l.Open()
	if err != nil {
		return nil, err
	}
	defer top.Close()
	buf = room(buf, l.Files)
	l.stat(ctx, top.top, buf, nil)
	return buf, ctx.Err()
}

// stat fills in the stamps of the files of all folders but those that are done;
// nil: none is.
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

// fewFiles are quicker looked at by their paths than in the folder opened, which
// takes as long as ten times the way there.
const fewFiles = 12

// files fills in the stamps of one folder's files, of those that are wanted; nil:
// of all. It returns how many these are. Links above it may be followed, as by stat.
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
	l.row.begin(from.quiet(l.quiet), rel)
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
