package workspace

import "syscall"

func (i *Identity) fill(sys any) {
	if st, ok := sys.(*syscall.Stat_t); ok {
		i.ChangeTime, i.Device, i.Inode = st.Ctimespec.Nano(), uint64(st.Dev), st.Ino
	}
}
