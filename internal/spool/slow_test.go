//go:build slow

package spool

const manySeeds = 200
