package worklist

import "slices"

// Todo is an entry of Replace.
type Todo struct {
	Subject    string
	ActiveForm string
	Status     Status // not Deleted
}

// Replace replaces the items of a session by entries, in their order. by names the session.
// If by is "", the list is not shared and Replace replaces all items; otherwise it replaces
// those that earlier calls for by made, and puts the new ones at the end.
//
// An item with the subject of an entry is not replaced but changed, and keeps its id. An
// item that another owner has in progress stays: an entry can complete it, but not claim it.
// After an error, l may hold a part of the change.
func (l *List) Replace(entries []Todo, by string) error {
	var others, mine []Item
	for _, it := range l.Items {
		if by != "" && it.Writer != by {
			others = append(others, it)
		} else {
			mine = append(mine, it)
		}
	}
	var out []Item
	for _, e := range entries {
		it := Item{Status: Pending, Writer: by}
		if i := slices.IndexFunc(mine, func(m Item) bool { return m.Subject == e.Subject }); i >= 0 {
			it = mine[i]
			mine = slices.Delete(mine, i, i+1)
		} else {
			l.Last++
			it.ID = l.Last
		}
		it, err := rewritten(it, e, by)
		if err != nil {
			return err
		}
		out = append(out, it)
	}
	started := map[int]bool{}
	for _, it := range out {
		i := l.index(it.ID)
		started[it.ID] = it.Status == InProgress && (i < 0 || l.Items[i].Status != InProgress)
	}
	l.Items = slices.Concat(others, mine, out)
	for _, it := range mine {
		if !held(it, by) {
			l.remove(l.index(it.ID))
		}
	}
	for _, it := range out {
		if started[it.ID] {
			it.Status = Pending // so that move sees a start
			if err := l.move(&it, InProgress); err != nil {
				return err
			}
		}
	}
	return l.fits()
}

// held reports whether another owner than by has an item in progress.
func held(it Item, by string) bool {
	return by != "" && it.Status == InProgress && it.Owner != "" && it.Owner != by
}

// rewritten returns an item as an entry of Replace changes it.
func rewritten(it Item, e Todo, by string) (Item, error) {
	if held(it, by) {
		switch e.Status {
		case InProgress:
			return it, taken(it)
		case Pending:
			return it, nil
		}
	}
	it.Subject, it.ActiveForm = e.Subject, e.ActiveForm
	switch {
	case e.Status == InProgress && by != "":
		it.Owner = by
	case e.Status == Pending && it.Status == InProgress:
		it.Owner = ""
	}
	it.Status = e.Status
	return it, check(it)
}
