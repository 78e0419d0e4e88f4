//go:build slow

package dfa

const randomCases = 30000
