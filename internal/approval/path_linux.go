package approval

// maxSocketPath is the longest path of a socket in bytes: sun_path has 108, one
// of them for the end.
const maxSocketPath = 107
