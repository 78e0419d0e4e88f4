package walk

import "os"

// Top is the open top folder, through which the files of a listing are reached. It is
// safe for concurrent use until it is closed.
type Top struct {
	file *os.File
	top  folder
}

// Folder is an open folder of a listing. It is safe for concurrent use if its Pace is
// nil. It stays valid after its Top is closed, until it is closed itself.
type Folder struct {
	folder folder
	pace   *Pace
}

// Open opens the top folder. It returns the errors of the Opener.
func (l *Listing) Open() (*Top, error) { return openTop(l.open) }

func openTop(open Opener) (*Top, error) {
	file, err := open()
	if err != nil {
		return nil, err
	}
	top, err := topFolder(file)
	if err != nil {
		file.Close()
		return nil, err
	}
	return &Top{file, top}, nil
}

// Close closes the top folder.
func (t *Top) Close() error {
	t.top.closeTop()
	return t.file.Close()
}

// Folder opens a folder without following links, once for all the files in it. The Pace
// may be nil.
func (t *Top) Folder(d *Dir, p *Pace) (*Folder, error) {
	loc := locator{top: t.top}
	defer loc.close()
	f, err := loc.enter(d.place)
	if err != nil {
		return nil, err
	}
	if !d.near {
		p = nil
	}
	return &Folder{f, p}, nil
}

// Open opens a regular file of the folder for reading and returns its state before
// anything is read. It does not follow links and never blocks. It returns an error if
// the file is not regular.
func (f *Folder) Open(name string) (Handle, Stamp, error) {
	h, err := f.OpenKnown(name)
	if err != nil {
		return Handle{}, Stamp{}, err
	}
	s, err := h.Stamp()
	if err != nil {
		h.Close()
		return Handle{}, Stamp{}, err
	}
	return h, s, nil
}

// OpenKnown is Open for callers that know a state of the file. They must compare it
// with the stamp of the Handle after reading: only that proves that the file is regular
// and in that state.
func (f *Folder) OpenKnown(name string) (h Handle, err error) {
	f.pace.turn(func(quiet bool) int {
		h, err = f.folder.withoutNotify(quiet).open(name)
		return 1
	})
	return h, err
}

// Stat returns the state of a file of the folder without opening it. See [HasVanished] for the
// error.
func (f *Folder) Stat(name string) (s Stamp, err error) {
	var k kind
	f.pace.turn(func(quiet bool) int {
		s, k, err = f.folder.withoutNotify(quiet).stat("", name)
		return 1
	})
	if err == nil && k != kindFile {
		err = errNotRegular
	}
	return s, err
}

// Close closes the folder.
func (f *Folder) Close() { f.folder.close() }

// enter opens a folder to reach its entries.
func (l *locator) enter(p *place) (folder, error) {
	from, err := l.find(p)
	if err != nil {
		return folder{}, err
	}
	return from.enter(p.rel)
}

// read opens a folder to list it.
func (l *locator) read(p *place) (folder, error) {
	from, err := l.find(p)
	if err != nil {
		return folder{}, err
	}
	return from.read(p.rel)
}
