package workspace

import (
	"io/fs"
	"time"
)

// Identity tells one state of one file from another without reading it. Two
// equal identities are the same bytes, unless one was taken when it was Fresh.
type Identity struct {
	Size          int64
	ModTime       int64 // ns since 1970
	ChangeTime    int64 // ns since 1970; 0 where the system has none
	Device, Inode uint64
}

// coarse is how far apart two changes must be for every file system to give
// them different times: FAT counts in steps of two seconds.
const coarse = 2 * time.Second

// IdentityOf is the identity of a file that is open or was just looked at.
func IdentityOf(info fs.FileInfo) Identity {
	i := Identity{Size: info.Size(), ModTime: info.ModTime().UnixNano()}
	i.fill(info.Sys())
	return i
}

// Fresh reports whether the file had changed so shortly before at that a change
// right after it need not show in the times.
func (i Identity) Fresh(at time.Time) bool {
	return max(i.ModTime, i.ChangeTime) > at.Add(-coarse).UnixNano()
}
