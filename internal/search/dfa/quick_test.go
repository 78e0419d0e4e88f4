//go:build !slow

package dfa

const randomCases = 1000
