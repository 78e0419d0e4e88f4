// The searches that are measured.

package main

// searchCase is one question, to Grep and to rg.
type searchCase struct {
	name string
	args map[string]any
	rg   []string
	// first, later and watched are the most of rg's time that a first search
	// may take, a later one, and a later one of a server that is told of
	// changes; 0: no target.
	first, later, watched float64
}

// searchCases are the classes of the targets.
var searchCases = []searchCase{
	{"absent literal", grepArgs("xyzzy_not_there", "files_with_matches", 0), []string{"-l", "xyzzy_not_there"}, 1, 0.2, 0.05},
	{"identifier, lines", grepArgs("ErrUnexpectedEOF", "content", 0), []string{"-n", "ErrUnexpectedEOF"}, 1, 0.2, 0.05},
	{"identifier, any case", withArg(grepArgs("errunexpectedeof", "content", 0), "-i", true), []string{"-n", "-i", "errunexpectedeof"}, 1, 0.2, 0.05},
	{"regex with a literal", grepArgs(`[A-Z]+_RESUME`, "content", 0), []string{"-n", `[A-Z]+_RESUME`}, 1, 0.2, 0.05},
	{"four words", grepArgs(`EINVAL|ENOMEM|EFAULT|ENOSYS`, "files_with_matches", 0), []string{"-l", `EINVAL|ENOMEM|EFAULT|ENOSYS`}, 1, 0.45, 0.3},
	{"common word, files", grepArgs("return", "files_with_matches", 0), []string{"-l", "return"}, 1.3, 0.45, 0.3},
	{"common word, count", grepArgs("return", "count", 0), []string{"-c", "return"}, 1.3, 0.8, 0},
	{"three characters", grepArgs("int", "files_with_matches", 0), []string{"-l", "int"}, 1.3, 0.45, 0.3},
	{"word boundaries", grepArgs(`\b\w+_init\b`, "files_with_matches", 0), []string{"-l", `\b\w+_init\b`}, 1, 0.45, 0.3},
	{"no literal, files", grepArgs(`\w+_\w+\s*\(`, "files_with_matches", 0), []string{"-l", `\w+_\w+\s*\(`}, 1.1, 0.8, 0},
	{"no literal, count", grepArgs(`[0-9a-f]{8}-[0-9a-f]{4}`, "count", 0), []string{"-c", `[0-9a-f]{8}-[0-9a-f]{4}`}, 1.1, 0.8, 0},
	{"common word, 250 lines", grepArgs("return", "content", 250), []string{"-n", "return"}, 0, 0.15, 0},
	{"common word, 250 files", grepArgs("return", "files_with_matches", 250), []string{"-l", "return"}, 0, 0.15, 0},
	{"no literal, 250 lines", grepArgs(`\w+_\w+\s*\(`, "content", 250), []string{"-n", `\w+_\w+\s*\(`}, 0, 0.15, 0},
	{"Glob, some files", map[string]any{"pattern": "**/*_test.go"}, []string{"--files", "-g", "**/*_test.go"}, 0, 0.2, 0},
}

func grepArgs(pattern, mode string, limit int) map[string]any {
	return map[string]any{"pattern": pattern, "output_mode": mode, "head_limit": limit}
}

func withArg(args map[string]any, key string, value any) map[string]any {
	args[key] = value
	return args
}
