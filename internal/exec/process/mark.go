package process

import "strconv"

// marks finds the job objects that mark commands. There is one for each session of
// the system.
type marks[H any] struct {
	own     uint32                        // session of this process
	make    func() (H, error)             // makes or opens the job object of that session
	open    func(string) (H, bool, error) // opens the job object with a name, if it exists
	session func(uint32) (uint32, error)  // session of a process
	sid     string                        // SID of the user
}

// markName returns the name of the job object that marks the commands of a user in
// a session. All processes of a job object must be in the same session, and one
// user may have servers in several, such as a service and a desktop.
func markName(session uint32, sid string) string {
	return `Global\mcp-toolset-commands-` + strconv.FormatUint(uint64(session), 10) + "-" + sid
}

// of returns the job object that marks the commands of the session of process pid.
// It makes the object if the session is our own. It only opens the object of
// another session, since an object made here would belong to our session. ok
// reports whether the object exists. other reports that it belongs to another
// session: then the caller closes it.
func (m *marks[H]) of(pid uint32) (mark H, other, ok bool, err error) {
	session, err := m.session(pid)
	if err != nil {
		return mark, false, false, err
	}
	if session == m.own {
		mark, err = m.make()
		return mark, false, err == nil, err
	}
	mark, ok, err = m.open(markName(session, m.sid))
	return mark, ok, ok, err
}
