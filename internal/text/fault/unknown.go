package fault

import (
	"fmt"
	"strings"
)

// mostNamed is the number of names in a fault of Unknown.
const mostNamed = 5

// Unknown returns the fault for a name that is none of names, of which there is at least one.
// noun is what has a name, such as "trigger". all is the way to all names if there are more than
// five, such as "action list shows all".
func Unknown(fact, noun string, names []string, all string) *Fault {
	switch n := len(names); {
	case n == 1:
		return New(fact, fmt.Sprintf("The only %s is %s.", noun, names[0]))
	case n > mostNamed:
		return New(fact, fmt.Sprintf("Use one of %s; %s.", strings.Join(names[:mostNamed], ", "), all))
	}
	return New(fact, "Use one of "+strings.Join(names, ", ")+".")
}
