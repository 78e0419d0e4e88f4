//go:build !slow

package filetype

const stride = 7 // of the file names that are given to rg
