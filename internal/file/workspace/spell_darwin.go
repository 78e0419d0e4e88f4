package workspace

// spell corrects names by the folder's list. Most file systems here also find a file by
// a name spelled differently from the stored one, which a rule for the stored name
// would miss. Where a file system distinguishes such names, the exact name is found
// first and nothing changes.
var spell speller = listed
