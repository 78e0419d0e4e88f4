package process

import (
	"fmt"
	"os"
	"runtime"
	"unicode/utf16"
	"unsafe"

	"golang.org/x/sys/windows"
)

// create creates the process of a command, suspended: none of its code has run. The
// caller closes both handles.
func create(spec *Spec) (info windows.ProcessInformation, err error) {
	std, err := standard(spec)
	defer std.close()
	if err != nil {
		return info, err
	}
	attributes, err := windows.NewProcThreadAttributeList(1)
	if err != nil {
		return info, err
	}
	defer attributes.Delete()
	// The command inherits these handles and no others.
	handles := std.distinct()
	if err := attributes.Update(windows.PROC_THREAD_ATTRIBUTE_HANDLE_LIST, unsafe.Pointer(&handles[0]), uintptr(len(handles))*unsafe.Sizeof(handles[0])); err != nil {
		return info, err
	}
	program, err := windows.UTF16PtrFromString(spec.Args[0])
	if err != nil {
		return info, err
	}
	line, err := windows.UTF16PtrFromString(windows.ComposeCommandLine(spec.Args))
	if err != nil {
		return info, err
	}
	dir, err := windows.UTF16PtrFromString(spec.Dir)
	if err != nil {
		return info, err
	}
	start := windows.StartupInfoEx{ProcThreadAttributeList: attributes.List()}
	start.Cb = uint32(unsafe.Sizeof(start))
	start.Flags = windows.STARTF_USESTDHANDLES
	start.StdInput, start.StdOutput, start.StdErr = std[0], std[1], std[2]
	env := environmentBlock(spec.Env)
	// The command gets a console of its own without a window, so that console
	// interrupts of the server do not reach it.
	const flags = windows.CREATE_SUSPENDED | windows.CREATE_NO_WINDOW | windows.CREATE_UNICODE_ENVIRONMENT | windows.EXTENDED_STARTUPINFO_PRESENT
	err = windows.CreateProcess(program, line, nil, nil, true, flags, &env[0], dir, &start.StartupInfo, &info)
	runtime.KeepAlive(handles)
	return info, err
}

// standardHandles holds the standard input, output and error that a command
// inherits.
type standardHandles [3]windows.Handle

// standard duplicates the files of a command as inheritable handles.
func standard(spec *Spec) (std standardHandles, err error) {
	input := spec.Input
	if input == nil {
		if input, err = os.Open(os.DevNull); err != nil {
			return std, err
		}
		defer input.Close()
	}
	errors := spec.Errors
	if errors == nil {
		errors = spec.Output
	}
	self := windows.CurrentProcess()
	for i, f := range []*os.File{input, spec.Output, errors} {
		if err := windows.DuplicateHandle(self, windows.Handle(f.Fd()), self, &std[i], 0, true, windows.DUPLICATE_SAME_ACCESS); err != nil {
			return std, fmt.Errorf("preparing the files of a command: %w", err)
		}
	}
	return std, nil
}

// distinct returns the handles in a slice of their own: the attribute list refers
// to this memory.
func (s *standardHandles) distinct() []windows.Handle { return []windows.Handle{s[0], s[1], s[2]} }

func (s *standardHandles) close() {
	for _, h := range s {
		if h != 0 {
			_ = windows.CloseHandle(h)
		}
	}
}

// environmentBlock returns variables as the UTF-16 block that CreateProcess takes.
func environmentBlock(env []string) []uint16 {
	var block []uint16
	for _, v := range env {
		block = append(block, utf16.Encode([]rune(v))...)
		block = append(block, 0)
	}
	if len(block) == 0 {
		block = append(block, 0)
	}
	return append(block, 0)
}
