//go:build !linux

package workspace

import "os"

// exchange swaps two names. For a short time no file is at a.
func exchange(a, b string) error {
	for _, step := range [][2]string{{a, a + ".old"}, {b, a}, {a + ".old", b}} {
		if err := os.Rename(step[0], step[1]); err != nil {
			return err
		}
	}
	return nil
}
