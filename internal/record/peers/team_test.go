package peers

import (
	"fmt"
	"strings"
	"testing"

	"mcp-toolset/internal/event"
	"mcp-toolset/internal/record/worklist"
	"mcp-toolset/session"
)

// world is a registry with the sessions a-1, b-2, c-3 of one principal.
type world struct {
	*Registry
	events  *event.Registry
	a, b, c session.View
}

func newWorld() world {
	events := event.New()
	w := world{New("", events), events, of("p", "1", "a"), of("p", "2", "b"), of("p", "3", "c")}
	for _, v := range []session.View{w.a, w.b, w.c} {
		w.Use(v)
	}
	return w
}

// heard returns the events of a session.
func (w world) heard(v session.View) string {
	got, _ := w.events.Take(v.Owner())
	var all []string
	for _, e := range got {
		all = append(all, fmt.Sprintf("%s (%v): %s", e.Source, e.Data, e.Text))
	}
	return strings.Join(all, "\n")
}

func (w world) join(t *testing.T, v session.View, name, description string, members ...string) Team {
	t.Helper()
	team, err := w.Join(v, name, description, members)
	if err != nil {
		t.Fatal(err)
	}
	return team
}

// claim adds an item to the list of a session's team and sets it to in_progress.
func (w world) claim(t *testing.T, v session.View, owner string) {
	t.Helper()
	list, name := w.WorkList(v)
	if list == nil {
		t.Fatal("it has no list")
	}
	if err := list.Update(t.Context(), func(l *worklist.List) error {
		it, err := l.Create(worklist.Draft{Subject: "s"})
		if err == nil {
			_, err = l.Update(worklist.Change{ID: fmt.Sprint(it.ID), Status: worklist.InProgress, Owner: &owner}, name)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
}

func TestJoin(t *testing.T) {
	w := newWorld()
	if list, name := w.WorkList(w.a); list != nil || name != "" {
		t.Errorf("without a team it has a list as %q", name)
	}
	if got := fmt.Sprintf("%+v", w.join(t, w.a, "team", "fix\x1b it", "b-2", "a-1", "b-2")); got != "{Name:team Description:fix\x1b it Maker:a-1 Members:[a-1 b-2] Created:true Left: Tasks:0}" {
		t.Error(got)
	}
	const joined = "team team (true): a-1 made this session a member. While the team lasts, TaskList and the other tools for tasks use its list, and SendMessage to team reaches the other members.\n" +
		`Description of the team: fix\x1b it`
	if got := w.heard(w.b); got != joined {
		t.Errorf("the new member hears %q", got)
	}
	if got := w.heard(w.a); got != "" {
		t.Errorf("the founder hears %q", got)
	}
	w.claim(t, w.b, "")
	if got := fmt.Sprintf("%+v", w.join(t, w.c, "team", "other", "b-2")); got != "{Name:team Description:fix\x1b it Maker:a-1 Members:[a-1 b-2 c-3] Created:false Left: Tasks:1}" {
		t.Error(got)
	}
	if got := w.heard(w.b); got != "" {
		t.Errorf("a member hears again %q", got)
	}
	if list, name := w.WorkList(w.c); list == nil || name != "c-3" {
		t.Errorf("the list is %v, the name %q", list, name)
	}
	s, err := w.Send(w.a, "team", "hi")
	if err != nil || fmt.Sprint(s.To) != "[b-2 c-3]" || s.Team != "team" {
		t.Errorf("%+v, %v", s, err)
	}
	const want = "session a-1 (to team team) (true): hi"
	if b, c, a := w.heard(w.b), w.heard(w.c), w.heard(w.a); b != want || c != want || a != "" {
		t.Errorf("heard %q, %q, %q", b, c, a)
	}
}

func TestJoinRefused(t *testing.T) {
	w := newWorld()
	w.join(t, w.a, "team", "")
	for _, c := range []struct {
		v       session.View
		name    string
		members []string
		want    string
	}{
		{w.b, "a-1", nil, "a-1 is the name of a session. Choose another name for the team."},
		{w.a, "more", []string{"x"}, "there is no session x. Use one of b-2, c-3."},
		{w.b, "more", []string{"c-3", "a-1"}, "a-1 is a member of team team, and a session has one team at a time. Leave it out; with TeamCreate it can join by itself."},
		{w.b, "more", []string{"c-3", "x"}, "there is no session x. Use one of a-1, c-3."},
		{w.b, "more", []string{"team"}, "there is no session team. Use one of a-1, c-3."},
	} {
		_, err := w.Join(c.v, c.name, "", c.members)
		refused(t, err, c.want)
	}
	if g := w.groups["p"]; len(g.teams) != 1 || g.named("c-3").team != nil || w.heard(w.c) != "" {
		t.Error("a refused call made a team or a member")
	}
	_, err := w.Send(w.b, "team", "x")
	refused(t, err, "this session is no member of team team. Join it with TeamCreate, or send to one of its members.")
	_, err = w.Send(w.a, "team", "x")
	refused(t, err, "team team has no other member. Add members with TeamCreate; ListSessions shows the sessions.")
	// A name is not that of a team.
	w.join(t, w.b, "d-4", "")
	if got := shown(t, w.Registry, of("p", "4", "d")); !strings.HasPrefix(got, "d-5 ") {
		t.Errorf("the session has the name of a team: %s", got)
	}
	// The team and its list are those of a principal.
	if got := w.join(t, of("q", "1", "a"), "team", ""); !got.Created || len(got.Members) != 1 {
		t.Errorf("another principal joins: %+v", got)
	}
}

func TestTeamLimits(t *testing.T) {
	r := New("", nil)
	var all []session.View
	for i := range MaxTeams + MaxMembers + 1 {
		all = append(all, of("p", fmt.Sprint(i), "s"))
		r.Use(all[i])
	}
	for i, v := range all[:MaxTeams] {
		if _, err := r.Join(v, fmt.Sprintf("t%d", i), "", nil); err != nil {
			t.Fatal(err)
		}
	}
	rest := all[MaxTeams:]
	if _, err := r.Join(all[1], "t1b", "", nil); err != nil { // t1 ends
		t.Error(err)
	}
	_, err := r.Join(rest[0], "more", "", nil)
	refused(t, err, "there are 50 teams, and no more fit. Join one of them, or have one ended with TeamDelete.")
	for _, v := range rest[:MaxMembers-1] {
		if _, err := r.Join(v, "t0", "", nil); err != nil {
			t.Fatal(err)
		}
	}
	_, err = r.Join(rest[MaxMembers], "t0", "", nil)
	refused(t, err, "team t0 would have 51 members, and the most is 50. Name fewer, or make another team.")
}

// TestNotices checks that the events of new members count as messages.
func TestNotices(t *testing.T) {
	w := newWorld()
	for range maxSent {
		w.join(t, w.a, "team", "", "b-2")
		if _, err := w.Delete(w.a, "team", false); err != nil {
			t.Fatal(err)
		}
	}
	_, err := w.Join(w.a, "team", "", []string{"b-2"})
	if err == nil || !strings.HasPrefix(err.Error(), "this session has sent 20 messages in a minute, ") || len(w.groups["p"].teams) != 0 {
		t.Error(err)
	}
	w.join(t, w.a, "team", "")
}

func TestDelete(t *testing.T) {
	w := newWorld()
	del := func(v session.View, name string, force bool, want string) {
		t.Helper()
		_, err := w.Delete(v, name, force)
		refused(t, err, want)
	}
	del(w.a, "te\nam", false, `there is no team "te\nam". Go on; there is nothing to end.`)
	w.join(t, w.a, "team", "", "b-2")
	w.heard(w.b)
	del(w.a, "tame", false, "there is no team tame. This session is a member of team.")
	del(w.c, "team", true, "this session is no member of team team. Leave that to a member: a-1, b-2.")
	w.claim(t, w.b, "")
	del(w.a, "team", false, "team team has work in progress: task 1 of b-2. Wait until that is completed, or set force to drop it.")
	w.claim(t, w.a, "x\n") // owners that are no members do not count
	w.claim(t, w.a, "c-3")
	for range 5 {
		w.claim(t, w.a, "")
	}
	del(w.b, "team", false, `team team has work in progress: task 1 of b-2, task 4 of a-1, task 5 of a-1, task 6 of a-1, task 7 of a-1 and 1 more. Wait until that is completed, or set force to drop it.`)
	if n, err := w.Delete(w.a, "team", true); n != 8 || err != nil {
		t.Error(n, err)
	}
	if got := w.heard(w.b); got != "team team (false): a-1 has ended the team. Its list of tasks is gone, and the tools for tasks use the list of this session again." || w.heard(w.a) != "" {
		t.Errorf("the member hears %q", got)
	}
	if list, _ := w.WorkList(w.b); list != nil {
		t.Error("a member still has the list")
	}
	if got := w.join(t, w.b, "team", ""); !got.Created || got.Tasks != 0 {
		t.Errorf("a new team of the name is %+v", got)
	}
}

// TestLastMember checks that a team ends with its last session.
func TestLastMember(t *testing.T) {
	w := newWorld()
	w.join(t, w.a, "team", "", "b-2")
	w.claim(t, w.a, "")
	w.End(w.a.Owner())
	if got := w.join(t, w.c, "team", ""); got.Created || fmt.Sprint(got.Members) != "[b-2 c-3]" || got.Tasks != 1 {
		t.Errorf("%+v", got)
	}
	w.End(w.b.Owner())
	w.End(w.c.Owner())
	w.Use(w.a)
	if got := w.join(t, w.a, "team", ""); !got.Created || got.Tasks != 0 {
		t.Errorf("%+v", got)
	}
}

// TestDeleteAbandoned checks that work of sessions that have ended or left does not hinder the end of a team.
func TestDeleteAbandoned(t *testing.T) {
	w := newWorld()
	w.join(t, w.a, "team", "", "b-2", "c-3")
	w.claim(t, w.b, "")
	w.claim(t, w.c, "")
	w.End(w.b.Owner())
	w.join(t, w.c, "other", "")
	if n, err := w.Delete(w.a, "team", false); n != 2 || err != nil {
		t.Error(n, err)
	}
}

// TestLeave checks that a session leaves its team when it joins another one.
func TestLeave(t *testing.T) {
	w := newWorld()
	w.join(t, w.a, "one", "", "b-2")
	w.claim(t, w.a, "")
	if got := w.join(t, w.a, "two", ""); got.Left != "one" || !got.Created || fmt.Sprint(got.Members) != "[a-1]" || got.Tasks != 0 {
		t.Errorf("%+v", got)
	}
	if got := w.join(t, w.b, "one", ""); got.Left != "" || fmt.Sprint(got.Members) != "[b-2]" || got.Tasks != 1 {
		t.Errorf("the first team is %+v", got)
	}
	if got := w.join(t, w.b, "two", ""); got.Left != "one" || fmt.Sprint(got.Members) != "[a-1 b-2]" {
		t.Errorf("%+v", got)
	}
	if teams := w.groups["p"].teams; len(teams) != 1 || teams["two"] == nil {
		t.Errorf("a team without members is left: %v", teams)
	}
	// A refused call leaves the team as it is.
	_, err := w.Join(w.a, "three", "", []string{"b-2"})
	refused(t, err, "b-2 is a member of team two, and a session has one team at a time. Leave it out; with TeamCreate it can join by itself.")
	if got := w.join(t, w.a, "two", ""); fmt.Sprint(got.Members) != "[a-1 b-2]" {
		t.Errorf("%+v", got)
	}
}
