package ignore

// matchOps reports whether the steps match the whole text.
//
// When a step fails, only the last * and the last ** are tried again one step further:
// a later one of the same kind reaches, from its first place, whatever an earlier one
// could reach. A * never passes a slash, and ** is tried again after each slash. So
// each part of the text is compared with each part of the pattern once, and the time is
// bounded by the product of the lengths.
func matchOps[text string | []byte](ops []op, s text) bool {
	const none = -1
	starOp, starAt := none, 0 // the step after the last *, and where * ends
	deepOp, deepAt := none, 0 // the same for the last **
	i, at := 0, 0
	for {
		switch {
		case i == len(ops):
			if at == len(s) {
				return true
			}
		case ops[i].kind == star:
			i++
			starOp, starAt = i, at
			continue
		case ops[i].kind >= folders:
			if ops[i].kind == all && i+1 == len(ops) {
				return true
			}
			i++
			deepOp, deepAt, starOp = i, at, none
			continue
		case at < len(s) && ops[i].matches(s[at]):
			i, at = i+1, at+1
			continue
		}
		switch {
		case starOp != none && starAt < len(s) && s[starAt] != '/':
			starAt++
			i, at = starOp, starAt
		case deepOp != none:
			for ops[deepOp-1].kind == folders && deepAt < len(s) && s[deepAt] != '/' {
				deepAt++
			}
			if deepAt++; deepAt > len(s) {
				return false
			}
			i, at, starOp = deepOp, deepAt, none
		default:
			return false
		}
	}
}

func (o *op) matches(b byte) bool {
	switch o.kind {
	case literal:
		return b == o.b
	case one:
		return b != '/'
	}
	return o.set.has(b)
}
