//go:build unix && !linux

package e2e

// Only Linux provides these figures directly; elsewhere they are 0.

func (s *corpusServer) descriptors() int           { return 0 }
func (s *corpusServer) peakMB() float64            { return 0 }
func (s *corpusServer) documents() int             { return 0 }
func (s *corpusServer) watchMemory() (stop func()) { return func() {} }
