package process

import (
	"errors"
	"fmt"
	"sync"
	"unsafe"

	"golang.org/x/sys/windows"
)

// markJob returns the job object that contains all commands of this user's servers
// in this session. It has no limits: it marks processes that a server started,
// directly or through other processes. The job object of each command is nested in
// it.
var markJob = sync.OnceValues(func() (windows.Handle, error) {
	sid, access, err := OnlyThisUser()
	if err != nil {
		return 0, err
	}
	session, err := sessionOf(windows.GetCurrentProcessId())
	if err != nil {
		return 0, err
	}
	name, err := windows.UTF16PtrFromString(markName(session, sid))
	if err != nil {
		return 0, err
	}
	// Only this user may add processes to it or query it.
	h, err := windows.CreateJobObject(access, name) // opens the object if it exists
	if err != nil {
		return 0, fmt.Errorf("making the job object that marks commands: %w", err)
	}
	return h, nil
})

// OwnSID returns the SID of the user that this process runs as.
func OwnSID() (string, error) {
	user, err := windows.GetCurrentProcessToken().GetTokenUser()
	if err != nil {
		return "", fmt.Errorf("finding the user of this process: %w", err)
	}
	return user.User.Sid.String(), nil
}

// OnlyThisUser returns OwnSID, and security attributes for an object that this user
// owns and no one else can open.
func OnlyThisUser() (sid string, access *windows.SecurityAttributes, err error) {
	if sid, err = OwnSID(); err != nil {
		return "", nil, err
	}
	sd, err := windows.SecurityDescriptorFromString("O:" + sid + "D:P(A;;GA;;;" + sid + ")")
	if err != nil {
		return "", nil, fmt.Errorf("restricting access to this user: %w", err)
	}
	access = &windows.SecurityAttributes{SecurityDescriptor: sd}
	access.Length = uint32(unsafe.Sizeof(*access))
	return sid, access, nil
}

// sessionOf returns the session that a process runs in.
func sessionOf(pid uint32) (session uint32, err error) {
	if err := windows.ProcessIdToSessionId(pid, &session); err != nil {
		return 0, fmt.Errorf("finding the session of process %d: %w", pid, err)
	}
	return session, nil
}

const jobObjectQuery = 0x0004 // JOB_OBJECT_QUERY

// openMark opens the job object with a name for queries. It returns false if there
// is none.
func openMark(name string) (windows.Handle, bool, error) {
	text, err := windows.UTF16PtrFromString(name)
	if err != nil {
		return 0, false, err
	}
	h, _, err := openJobObject.Call(jobObjectQuery, 0, uintptr(unsafe.Pointer(text)))
	switch {
	case h != 0:
		return windows.Handle(h), true, nil
	case errors.Is(err, windows.ERROR_FILE_NOT_FOUND):
		return 0, false, nil // no server runs in that session
	}
	return 0, false, fmt.Errorf("opening the job object that marks commands: %w", err)
}

// markOf calls marks.of for the session and user of this process.
func markOf(pid uint32) (mark windows.Handle, other, ok bool, err error) {
	sid, err := OwnSID()
	if err != nil {
		return 0, false, false, err
	}
	own, err := sessionOf(windows.GetCurrentProcessId())
	if err != nil {
		return 0, false, false, err
	}
	m := marks[windows.Handle]{own: own, make: markJob, open: openMark, session: sessionOf, sid: sid}
	return m.of(pid)
}

var openJobObject = windows.NewLazySystemDLL("kernel32.dll").NewProc("OpenJobObjectW")

var isProcessInJob = windows.NewLazySystemDLL("kernel32.dll").NewProc("IsProcessInJob")

// StartedByServer reports whether a process is a command of a server of this user,
// or was started by one. The caller must have the process open, so that its id
// cannot be reused.
func StartedByServer(pid uint32) (bool, error) {
	mark, other, ok, err := markOf(pid)
	if err != nil || !ok {
		return false, err
	}
	if other {
		defer windows.CloseHandle(mark)
	}
	// Wine requires the first right; Windows denies it for elevated processes.
	process, err := windows.OpenProcess(windows.PROCESS_QUERY_INFORMATION, false, pid)
	if err != nil {
		process, err = windows.OpenProcess(windows.PROCESS_QUERY_LIMITED_INFORMATION, false, pid)
	}
	if err != nil {
		return false, fmt.Errorf("opening process %d: %w", pid, err)
	}
	defer windows.CloseHandle(process)
	var in int32
	if ok, _, err := isProcessInJob.Call(uintptr(process), uintptr(mark), uintptr(unsafe.Pointer(&in))); ok == 0 {
		return false, fmt.Errorf("asking for the job of process %d: %w", pid, err)
	}
	return in != 0, nil
}
