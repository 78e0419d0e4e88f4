package shellsafe

import (
	"strconv"
	"strings"
)

// The functions of this file check further conditions on the words of some
// commands. Each returns the reason against the command, or "".

// literals returns the values of words. ok is false if one is not literal.
func literals(args []arg) (out []string, ok bool) {
	for i := range args {
		if !args[i].lit {
			return nil, false
		}
		out = append(out, args[i].val)
	}
	return out, true
}

const notLiteral = "a word is not literal"

// jqWords refuses programs that access the environment or other files.
func jqWords(_ *walker, p *parsed, _ context) string {
	program := &p.ops[0]
	if !program.lit || program.stdin {
		return notLiteral
	}
	return jqProgram(program.val)
}

// jqProgram returns a reason against a program of jq, or "".
func jqProgram(s string) string {
	if usesENV(s) || strings.Contains(s, "$") && strings.Contains(s, "__prog") {
		return "the program reads the environment"
	}
	for i := 0; i < len(s); {
		if !letter(s[i]) {
			i++
			continue
		}
		from := i
		for i < len(s) && (letter(s[i]) || s[i] >= '0' && s[i] <= '9') {
			i++
		}
		field := from > 0 && s[from-1] == '.'
		switch s[from:i] {
		case "env", "import", "include", "input_filename", "get_search_list", "modulemeta":
			if !field {
				return "the program names " + s[from:i]
			}
		}
	}
	return ""
}

func letter(b byte) bool { return b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b == '_' }

// tarList accepts -t with -v, -z, -j, -J and -f, and names of members.
func tarList(w *walker, p *parsed, c context) string {
	words, ok := literals(p.ops)
	if !ok {
		return notLiteral
	}
	list, file := false, -1
	for i := 0; i < len(words); i++ {
		s := words[i]
		switch {
		case s == "--list":
			list = true
		case s == "--verbose" || s == "--gzip" || s == "--bzip2" || s == "--xz" || s == "--zstd":
		case strings.HasPrefix(s, "--file="):
			v := literal(s[7:])
			if strings.Contains(s, ":") {
				return "a name with a colon is another host's"
			}
			w.read(c.dirs.paths(&v, false))
			file = i
		case i == 0 || strings.HasPrefix(s, "-") && file < 0:
			if strings.HasPrefix(s, "--") {
				return "the flag " + shortForm(s) + " is not on the table of flags that only read"
			}
			letters := strings.TrimPrefix(s, "-")
			for j := 0; j < len(letters); j++ {
				if strings.IndexByte("tvzjJf", letters[j]) < 0 || letters[j] == 'f' && j != len(letters)-1 {
					return "the flag " + shortForm(letters[j:j+1]) + " is not on the table of flags that only read"
				}
				list = list || letters[j] == 't'
			}
			if strings.HasSuffix(letters, "f") {
				if i++; i >= len(words) || words[i] == "" || words[i][0] == '-' || strings.Contains(words[i], ":") {
					return "the archive must be a file of this machine"
				}
				file = i
				w.read(c.dirs.paths(&p.ops[i], false))
			}
		case strings.HasPrefix(s, "-"):
			return "the flag " + shortForm(s) + " is not on the table of flags that only read"
		}
	}
	if !list || file < 0 {
		return "it only reads with -t and -f"
	}
	return ""
}

// unpacks requires -c together with -d: of -l, -t and -d, some programs obey the
// last one.
func unpacks(_ *walker, p *parsed, _ context) string {
	if p.hasFlag("-d --decompress --uncompress") && !p.hasFlag("-c --stdout --to-stdout") {
		return "it unpacks to a file"
	}
	return ""
}

// unzipWords limits unzip to the flags that list: other flags extract.
func unzipWords(_ *walker, p *parsed, _ context) string {
	for _, f := range p.seen {
		if len(f) != 2 {
			return "a flag that is not on the table"
		}
	}
	return ""
}

// gofmtWords refuses flags of Go's long form. Without a file, gofmt reads standard
// input, which is harmless.
func gofmtWords(_ *walker, p *parsed, _ context) string {
	for i := 1; i < len(p.args); i++ {
		if s := p.args[i].lead; strings.HasPrefix(s, "-") && len(s) > 2 {
			return "the flag " + shortForm(s) + " is not on the table of flags that only read"
		}
	}
	return ""
}

func printfWords(_ *walker, p *parsed, _ context) string {
	f := &p.ops[0]
	if f.lit && f.val == "--" && len(p.ops) > 1 {
		f = &p.ops[1]
	}
	if !f.lit || strings.HasPrefix(f.val, "-") {
		return "its format is not literal or begins with -"
	}
	s := f.val
	for i := 0; i < len(s); i++ {
		if s[i] != '%' {
			continue
		}
		width := 0
		for i++; i < len(s) && strings.IndexByte("#0- +'.*123456789", s[i]) >= 0; i++ {
			width++
		}
		if width > 5 {
			return "a field is too wide"
		}
		for i < len(s) && strings.IndexByte("hlLqjzt", s[i]) >= 0 && s[i] != 'q' {
			i++
		}
		if i < len(s) && s[i] == 'n' {
			return "%n sets a variable"
		}
		if strings.Contains(s, "*") && len(p.ops) > 1 {
			return "the width of a field is an operand"
		}
	}
	return ""
}

func seqBounds(_ *walker, p *parsed, _ context) string {
	words, ok := literals(p.ops)
	if !ok {
		return notLiteral
	}
	numbers := 0
	for i := 0; i < len(words); i++ {
		switch s := words[i]; {
		case s == "-w" || s == "--equal-width":
		case s == "-s" || s == "-f":
			i++
		case strings.HasPrefix(s, "--separator="), strings.HasPrefix(s, "--format="):
		default:
			n := strings.TrimPrefix(s, "-")
			whole, frac, dot := strings.Cut(n, ".")
			if !digits(whole) || dot && !digits(frac) || len(n) > 7 {
				return "an operand is not a number below ten million"
			}
			if len(words) == 3 && numbers == 1 && (strings.Trim(n, "0.") == "" || dot && len(frac) > 3) {
				return "it would not end"
			}
			numbers++
		}
	}
	if numbers == 0 || numbers > 3 {
		return "it takes one to three numbers"
	}
	return ""
}

func sleepBound(_ *walker, p *parsed, _ context) string {
	if !p.ops[0].lit {
		return notLiteral
	}
	s := strings.TrimSuffix(p.ops[0].val, "s")
	if n, err := strconv.ParseFloat(s, 64); err != nil || !(n >= 0 && n <= 600) || strings.ContainsAny(s, "xXpPnN_iI") {
		return "it waits longer than ten minutes or for an unknown time"
	}
	return ""
}

func dateFormat(_ *walker, p *parsed, _ context) string {
	for i := range p.ops {
		if !strings.HasPrefix(p.ops[i].lead, "+") {
			return "an operand that does not begin with + sets the time"
		}
	}
	return ""
}

func setWords(_ *walker, p *parsed, _ context) string {
	words, ok := literals(p.ops)
	if !ok || len(words) == 0 {
		return "it changes the shell or shows all variables"
	}
	for i := 0; i < len(words); i++ {
		s := words[i]
		if len(s) < 2 || s[0] != '-' {
			return "it sets operands of the shell"
		}
		for j := 1; j < len(s); j++ {
			switch {
			case s[j] == 'e' || s[j] == 'u':
			case s[j] == 'o' && j == len(s)-1 && i+1 < len(words) && has("pipefail errexit nounset", words[i+1]):
				i++
			default:
				return "only -e, -u and -o pipefail are on the table"
			}
			if s[j] == 'o' {
				break
			}
		}
	}
	return ""
}

// psWords accepts the BSD letters except e, which shows environments.
func psWords(_ *walker, p *parsed, _ context) string {
	for i := range p.ops {
		s := p.ops[i].val
		if digits(s) && p.ops[i].lit {
			continue
		}
		if !p.ops[i].lit || strings.Trim(s, "auxfwlhjv") != "" {
			return "an operand may show environments: " + shortForm(p.ops[i].text)
		}
	}
	words := make([]string, len(p.args)-1)
	for i := range words {
		words[i] = p.args[i+1].val
		if !p.args[i+1].lit && (i > 0 || len(words) > 1) {
			return notLiteral
		}
	}
	if showsEnvironment(words) {
		return "it may show environments"
	}
	for _, values := range p.vals {
		for i := range values {
			if strings.Contains(values[i].val, "env") {
				return "it shows environments"
			}
		}
	}
	return ""
}

// treeWords refuses values inside of clusters: tree takes them from the next words
// and continues in the cluster, where -o may follow.
func treeWords(_ *walker, p *parsed, _ context) string {
	for i := range p.args[1:] {
		v := p.args[i+1].val
		if !strings.HasPrefix(v, "-") || strings.HasPrefix(v, "--") {
			continue
		}
		if at := strings.IndexAny(v, "PIL"); at > 0 && at < len(v)-1 && !(v[at] == 'L' && digits(v[at+1:])) {
			return "a value is attached to " + shortForm(v)
		}
	}
	return ""
}

func tputWords(_ *walker, p *parsed, _ context) string {
	if len(p.ops) != 1 || !p.ops[0].lit || !has("cols lines colors longname", p.ops[0].val) {
		return "only cols, lines and colors are on the table"
	}
	return ""
}

func goWords(w *walker, p *parsed, c context) string {
	words, ok := literals(p.ops)
	if !ok || len(words) == 0 {
		return notLiteral
	}
	rest := words[1:]
	switch words[0] {
	case "version":
		if len(rest) > 0 && (rest[0] == "-m" || rest[0] == "-v") {
			rest = rest[1:]
		}
		for i := len(words) - len(rest); i < len(words); i++ {
			if strings.HasPrefix(words[i], "-") {
				return "only version [-m] [FILE] is on the table"
			}
			w.read(c.dirs.paths(&p.ops[i], true))
		}
		return ""
	case "env":
		if len(rest) > 0 && (rest[0] == "-json" || rest[0] == "-changed") {
			rest = rest[1:]
		}
		for _, s := range rest {
			if strings.HasPrefix(s, "-") {
				return "env: the flag " + shortForm(s) + " is not on the table of flags that only read"
			}
		}
		return ""
	}
	return "only env and version are on the table"
}

// testWords checks test and [.
func testWords(w *walker, p *parsed, c context) string {
	args := p.ops
	if p.name == "[" {
		if len(args) == 0 || args[len(args)-1].val != "]" {
			return "there is no ]"
		}
		args = args[:len(args)-1]
	}
	for i := range args {
		a := &args[i]
		if a.glob {
			return "a word is a pattern: " + shortForm(a.text)
		}
		switch a.val {
		case "-v", "-R":
			return a.val + " evaluates its operand"
		case "-eq", "-ne", "-lt", "-le", "-gt", "-ge":
			if i == 0 || i+1 >= len(args) || !integer(&args[i-1]) || !integer(&args[i+1]) {
				return a.val + " evaluates its operands"
			}
		case "-nt", "-ot", "-ef":
			if i > 0 {
				w.read(c.dirs.paths(&args[i-1], false))
			}
			fallthrough
		case "-e", "-f", "-d", "-c", "-b", "-p", "-S", "-L", "-h", "-k", "-g", "-u", "-G", "-O", "-N", "-r", "-w", "-x", "-s":
			if i+1 < len(args) {
				w.read(c.dirs.paths(&args[i+1], false))
			}
		}
	}
	return ""
}
