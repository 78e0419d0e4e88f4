package gitfront

import (
	"slices"
	"strings"
)

// valued lists the short flags of subcommands that have a value.
var valued = map[string]string{
	"checkout": "bB", "switch": "cC", "restore": "s", "merge": "mFsX", "rebase": "sXxC", "cherry-pick": "mX", "revert": "mX",
	"stash": "m", "am": "pC", "apply": "pC", "clean": "e",
}

// single returns the words after a subcommand with -a -b VALUE for -abVALUE.
func single(verb string, words []string) (out []string) {
	for i := 0; i < len(words); i++ {
		w := words[i]
		if w == "--" {
			return append(out, words[i:]...)
		}
		if len(w) < 2 || w[0] != '-' || w[1] == '-' {
			out = append(out, w)
			continue
		}
		for j := 1; j < len(w); j++ {
			if c := w[j] | 0x20; c < 'a' || c > 'z' || w[j] == 'S' && verb != "restore" && verb != "stash" {
				out = append(out, "-"+w[j:]) // a number, or -S with a key
				break
			}
			out = append(out, w[:1]+w[j:j+1])
			if strings.Contains(valued[verb], w[j:j+1]) {
				if j+1 < len(w) {
					out = append(out, w[j+1:])
				} else if i++; i < len(words) {
					out = append(out, words[i])
				}
				break
			}
		}
	}
	return out
}

// among reports whether a word is one of some flags. Git takes the beginning of a long flag for it.
func among(flags []string, word string) bool {
	return slices.ContainsFunc(flags, func(flag string) bool { return flag == word || len(word) > 4 && strings.HasPrefix(flag, word) })
}

// has reports whether one of some flags is among the words before --.
func (f *front) has(flags ...string) bool {
	for _, w := range f.rest {
		if w == "--" {
			return false
		}
		name, _, _ := strings.Cut(w, "=")
		if among(flags, name) {
			return true
		}
	}
	return false
}

// values returns the values of some flags, in order.
func (f *front) values(flags ...string) (out []string) {
	for i := 0; i < len(f.rest) && f.rest[i] != "--"; i++ {
		name, value, ok := strings.Cut(f.rest[i], "=")
		if among(flags, f.rest[i]) && i+1 < len(f.rest) {
			i++
			out = append(out, f.rest[i])
		} else if ok && among(flags, name) {
			out = append(out, value)
		}
	}
	return out
}

// operands returns the words that are no flags before --, and those after it. values lists
// flags whose value is the next word.
func (f *front) operands(values ...string) (before, after []string) {
	for i := 0; i < len(f.rest); i++ {
		switch w := f.rest[i]; {
		case w == "--":
			return before, append([]string{}, f.rest[i+1:]...)
		case among(values, w):
			i++
		case w == "-" || !strings.HasPrefix(w, "-"):
			before = append(before, w)
		}
	}
	return before, nil
}
