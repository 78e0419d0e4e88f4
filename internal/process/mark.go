package process

import "strconv"

// marks are the job objects that mark commands, one for each session of the system.
type marks[H any] struct {
	own     uint32                        // session of this process
	make    func() (H, error)             // makes or opens the job object of that session
	open    func(string) (H, bool, error) // opens the job object of a name, if there is one
	session func(uint32) (uint32, error)  // session of a process
	sid     string                        // of the user
}

// markName returns the name of the job object that marks the commands of a user in a
// session. All processes of a job object have to be in the same session, and one
// user may have servers in several, such as a service and a desktop.
func markName(session uint32, sid string) string {
	return `Global\mcp-toolset-commands-` + strconv.FormatUint(uint64(session), 10) + "-" + sid
}

// of returns the job object that marks a process if it is a command, and reports
// whether it exists. It makes none for another session, which would be one of this.
// The caller closes the one of another session.
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
