//go:build !slow

package picture

// cuts and flips are how many places each small file is cut at and how many
// times bytes of it are changed.
const cuts, flips = 60, 60
