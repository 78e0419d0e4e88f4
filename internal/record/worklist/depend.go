package worklist

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"mcp-toolset/internal/text/fault"
)

// depend adds the dependencies of a change to the item with index i and to those that it
// blocks.
func (l *List) depend(i int, c Change) error {
	for _, id := range c.AddBlockedBy {
		j, err := l.find(id)
		if err == nil {
			err = l.block(j, i)
		}
		if err != nil {
			return err
		}
	}
	for _, id := range c.AddBlocks {
		j, err := l.find(id)
		if err == nil {
			err = l.block(i, j)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// block makes the item with index i block the one with index j. It refuses a cycle.
func (l *List) block(i, j int) error {
	from, to := l.Items[i].ID, &l.Items[j]
	if slices.Contains(to.BlockedBy, from) {
		return nil
	}
	if path := l.path(to.ID, from); path != nil {
		return fault.New("the tasks would block each other: "+cycle(append([]int{from}, path...)), "Leave out one of these dependencies.")
	}
	if len(to.BlockedBy) == maxBlockers {
		return fault.New(fmt.Sprintf("task %d is blocked by %d tasks, and no more may block it", to.ID, maxBlockers), "Let it be blocked by one task that those block.")
	}
	to.BlockedBy = append(slices.Clone(to.BlockedBy), from)
	slices.Sort(to.BlockedBy)
	return nil
}

// path returns the ids on a shortest path from an item to one that it blocks, directly or
// through others, with both ends. It returns nil if there is none.
func (l *List) path(from, to int) []int {
	blockedBy := make(map[int][]int, len(l.Items))
	for _, it := range l.Items {
		blockedBy[it.ID] = it.BlockedBy
	}
	// The search goes backwards, since an item knows what blocks it. next maps each id that
	// was reached to the one after it on the path.
	next := map[int]int{to: 0}
	for queue := []int{to}; len(queue) > 0; queue = queue[1:] {
		if queue[0] == from {
			var path []int
			for id := from; id != 0; id = next[id] {
				path = append(path, id)
			}
			return path
		}
		for _, id := range blockedBy[queue[0]] {
			if _, seen := next[id]; !seen {
				next[id] = queue[0]
				queue = append(queue, id)
			}
		}
	}
	return nil
}

// cycle returns the text for a path, such as "1 blocks 2 blocks 1". It leaves out the
// middle of a long one.
func cycle(ids []int) string {
	const ends = 4
	words := make([]string, 0, 2*ends+1)
	for i, id := range ids {
		switch {
		case len(ids) <= 2*ends || i < ends || i >= len(ids)-ends:
			words = append(words, strconv.Itoa(id))
		case i == ends:
			words = append(words, "…")
		}
	}
	return strings.Join(words, " blocks ")
}

// acyclic returns an error if items block each other. It removes items without blockers
// until none is left (Kahn 1962). All blockers must be in the list.
func (l *List) acyclic() error {
	waits, blocks := make(map[int]int, len(l.Items)), map[int][]int{}
	var free []int
	for _, it := range l.Items {
		if waits[it.ID] = len(it.BlockedBy); waits[it.ID] == 0 {
			free = append(free, it.ID)
		}
		for _, id := range it.BlockedBy {
			blocks[id] = append(blocks[id], it.ID)
		}
	}
	left := len(l.Items)
	for ; len(free) > 0; left-- {
		last := free[len(free)-1]
		free = free[:len(free)-1]
		for _, id := range blocks[last] {
			if waits[id]--; waits[id] == 0 {
				free = append(free, id)
			}
		}
	}
	if left > 0 {
		return errors.New("items block each other")
	}
	return nil
}
