package workspace

import (
	"io/fs"
	"time"
)

// Identity identifies one state of one file without reading it. Equal identities mean
// equal content, unless one was taken while it was Fresh.
type Identity struct {
	Size          int64
	ModTime       int64 // ns since 1970
	ChangeTime    int64 // ns since 1970; 0 on systems that have none
	Device, Inode uint64
}

// coarse is the time after which two changes have different times on every file system:
// the times of FAT have steps of two seconds.
const coarse = 2 * time.Second

// IdentityOf returns the identity of a file from its FileInfo.
func IdentityOf(info fs.FileInfo) Identity {
	i := Identity{Size: info.Size(), ModTime: info.ModTime().UnixNano()}
	i.fill(info.Sys())
	return i
}

// Fresh reports whether the last change of the file was so shortly before at that a
// following change may not alter the times.
func (i Identity) Fresh(at time.Time) bool {
	return max(i.ModTime, i.ChangeTime) > at.Add(-coarse).UnixNano()
}
