package shellsafe

import (
	"net/netip"
	"strings"
)

// The functions of this file check the words of programs that show the network:
// they must not ask DNS about a name or change anything.

// lsofNames ensures that lsof does not ask DNS. -i also takes the next word unless
// that begins with a dash or a plus.
func lsofNames(_ *walker, p *parsed, _ context) string {
	if !p.hasFlag("-n") || !p.hasFlag("-P") {
		return "without -n and -P it asks DNS"
	}
	where := p.vals["-i"]
	for i := range p.args[1:] {
		a := &p.args[i+1]
		if strings.HasPrefix(a.lead, "+") && !has("+D +d +L +L1 +c +w +f", a.val) {
			return "the flag " + shortForm(a.text) + " is not on the table of flags that only read"
		}
		if before := &p.args[i]; i > 0 && strings.HasPrefix(before.lead, "-") && strings.HasSuffix(before.val, "i") {
			where = append(where, *a)
		}
	}
	for i := range where {
		_, host, named := strings.Cut(where[i].val, "@")
		if !where[i].lit || named && !numericHost(host) {
			return "it asks DNS about " + shortForm(where[i].text)
		}
	}
	return ""
}

// ssFilter requires that the hosts of a filter are addresses: ss asks DNS about
// names, even with -n.
func ssFilter(_ *walker, p *parsed, _ context) string {
	words, ok := literals(p.ops)
	if !ok {
		return notLiteral
	}
	const plain = "state exclude all connected synchronized bucket big established syn-sent syn-recv fin-wait-1 fin-wait-2 time-wait closed close-wait last-ack listening listen closing unconnected close src dst sport dport and or not eq neq ne ge geq gt le leq lt = == != >= <= > < && || ! ( ) & |"
	for _, word := range strings.Fields(strings.Join(words, " ")) {
		host := strings.Trim(word, "()!=<>&|")
		port, is := strings.CutPrefix(host, ":")
		if !has(plain, strings.ToLower(word)) && !numericHost(host) && !(is && strings.Trim(port, "abcdefghijklmnopqrstuvwxyz0123456789-") == "") {
			return "it may ask DNS about " + shortForm(word)
		}
	}
	return ""
}

// numericHost reports whether s is an address, with or without a port or a prefix
// length: it needs no DNS.
func numericHost(s string) bool {
	s, _, _ = strings.Cut(s, "/")
	if s == "" || s == "*" {
		return true
	}
	if strings.Contains(s, "%") { // a zone may be any text
		return false
	}
	for _, host := range []string{s, strings.Trim(s, "[]"), strings.TrimSuffix(strings.TrimRight(s, "0123456789*"), ":")} {
		if _, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil {
			return true
		}
	}
	return false
}

func ipShow(_ *walker, p *parsed, _ context) string {
	words, ok := literals(p.ops)
	if !ok {
		return notLiteral
	}
	for len(words) > 0 && has("-4 -6 -br -brief -o -oneline -s -stats -d -details -j -json -p -c", words[0]) {
		words = words[1:]
	}
	if len(words) == 0 || !has("a addr address l link r route n neigh", words[0]) {
		return "only addr, link, route and neigh are on the table"
	}
	words = words[1:]
	if len(words) > 0 && has("show list ls", words[0]) {
		words = words[1:]
		if len(words) == 2 && words[0] == "dev" {
			words = words[1:]
		}
		if len(words) == 1 && !strings.HasPrefix(words[0], "-") {
			return ""
		}
	}
	if len(words) > 0 {
		return "only show is on the table"
	}
	return ""
}
