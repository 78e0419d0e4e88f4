package workspace

// spell is used because file systems here usually find a file by a name spelled
// differently from the one stored, which a rule about the stored name would
// miss. Where a file system does tell names apart, the exact name is found first
// and nothing changes.
var spell speller = listed
