//go:build slow

package filetype

const stride = 1 // of the file names that are given to rg
