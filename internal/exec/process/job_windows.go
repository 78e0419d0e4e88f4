package process

import (
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

// job is the job object of one command. The server has its only handle, so the
// system ends all processes of the job when the server ends.
type job struct {
	mu     sync.Mutex // held while the handle is used or closed
	handle windows.Handle
}

// newJob creates an empty job object.
func newJob() (*job, error) {
	handle, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return nil, fmt.Errorf("making a job object: %w", err)
	}
	limits := windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION{
		BasicLimitInformation: windows.JOBOBJECT_BASIC_LIMIT_INFORMATION{
			// Without the second flag, a crash may open a window that no one
			// closes.
			LimitFlags: windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE | windows.JOB_OBJECT_LIMIT_DIE_ON_UNHANDLED_EXCEPTION,
		},
	}
	_, err = windows.SetInformationJobObject(handle, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&limits)), uint32(unsafe.Sizeof(limits)))
	if err != nil {
		_ = windows.CloseHandle(handle)
		return nil, fmt.Errorf("limiting a job object: %w", err)
	}
	return &job{handle: handle}, nil
}

// with calls f with the handle, or does nothing if the handle is closed.
func (j *job) with(f func(windows.Handle)) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.handle != 0 {
		f(j.handle)
	}
}

// close closes the handle, which ends all processes left in the job.
func (j *job) close() {
	j.with(func(h windows.Handle) {
		_ = windows.CloseHandle(h)
		j.handle = 0
	})
}

// killed is the exit code of a process that was ended with its job.
const killed = 1

// kill ends all processes of the job.
func (j *job) kill() {
	j.with(func(h windows.Handle) { _ = windows.TerminateJobObject(h, killed) })
}

// accounting is JOBOBJECT_BASIC_ACCOUNTING_INFORMATION. Times are in units of 100 ns.
type accounting struct {
	User, Kernel             int64
	PeriodUser, PeriodKernel int64
	PageFaults               uint32
	Total, Active, Killed    uint32
}

// account returns the number of processes in the job and the resources that all of
// them used.
func (j *job) account() (a accounting, err error) {
	j.with(func(h windows.Handle) {
		err = windows.QueryInformationJobObject(h, windows.JobObjectBasicAccountingInformation,
			uintptr(unsafe.Pointer(&a)), uint32(unsafe.Sizeof(a)), nil)
	})
	return a, err
}

// empty reports whether no process is left in the job.
func (j *job) empty() bool {
	a, err := j.account()
	return err == nil && a.Active == 0
}

// alone reports whether no process but the console is left in the job.
func (j *job) alone() bool {
	_, count := j.names()
	return count == 0
}

// within waits until so returns true, for at most d. It reports whether so did.
func within(d time.Duration, so func() bool) bool {
	const again = 5 * time.Millisecond
	for deadline := time.Now().Add(d); ; time.Sleep(again) {
		if so() {
			return true
		}
		if time.Now().After(deadline) {
			return false
		}
	}
}

// usage returns the resources that the processes of the job used.
func (j *job) usage() Usage {
	a, err := j.account()
	if err != nil {
		return Usage{}
	}
	const unit = 100 * time.Nanosecond
	u := Usage{User: time.Duration(a.User) * unit, System: time.Duration(a.Kernel) * unit}
	j.with(func(h windows.Handle) {
		var limits windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION
		if windows.QueryInformationJobObject(h, windows.JobObjectExtendedLimitInformation,
			uintptr(unsafe.Pointer(&limits)), uint32(unsafe.Sizeof(limits)), nil) == nil {
			u.MaxRSS = int64(limits.PeakProcessMemoryUsed)
		}
	})
	return u
}

// processList is JOBOBJECT_BASIC_PROCESS_ID_LIST with room for maxNamed ids and the
// id of the console.
type processList struct {
	Assigned, Listed uint32
	IDs              [maxNamed + 1]uintptr
}

// console is the program that serves the console of a command. It ends with the
// command.
const console = "conhost.exe"

// names returns the names of at most maxNamed processes of the job, and the number
// of all its processes. Neither includes the console.
func (j *job) names() (names []string, count int) {
	var list processList
	j.with(func(h windows.Handle) {
		// The call fails if there are more ids than fit, but lists the first.
		_ = windows.QueryInformationJobObject(h, windows.JobObjectBasicProcessIdList,
			uintptr(unsafe.Pointer(&list)), uint32(unsafe.Sizeof(list)), nil)
	})
	count = int(list.Assigned)
	for _, id := range list.IDs[:min(int(list.Listed), len(list.IDs))] {
		switch name := nameOf(uint32(id)); {
		case strings.EqualFold(name, console):
			count--
		case len(names) < maxNamed:
			names = append(names, name)
		}
	}
	return names, count
}

// nameOf returns the file name of a process's program.
func nameOf(pid uint32) string {
	const unknown = "a process whose name is unknown"
	h, err := windows.OpenProcess(windows.PROCESS_QUERY_LIMITED_INFORMATION, false, pid)
	if err != nil {
		return unknown
	}
	defer windows.CloseHandle(h)
	path, err := imageOf(h)
	if err != nil {
		return unknown
	}
	return filepath.Base(path)
}

// imageOf returns the path of a process's program.
func imageOf(process windows.Handle) (string, error) {
	buf := make([]uint16, windows.MAX_LONG_PATH)
	n := uint32(len(buf))
	if err := windows.QueryFullProcessImageName(process, 0, &buf[0], &n); err != nil {
		return "", err
	}
	return windows.UTF16ToString(buf[:n]), nil
}
