package lsp

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"mcp-toolset/internal/text/fault"
)

const (
	// maxServers is the limit of servers that run at once.
	maxServers = 4
	// idleTime is the time after its last use at which a server ends.
	idleTime = 10 * time.Minute
	// maxMemory is the limit of the memory of a server, in bytes.
	maxMemory = 2 << 30
	// lookEvery is the time between looks at memory and idle time.
	lookEvery = 3 * time.Second
	// maxEnds is the limit of unexpected ends of a server within endsTime, after which it is
	// not started again.
	maxEnds  = 3
	endsTime = 10 * time.Minute
	// restartPause is the time between an unexpected end and the next start, which doubles.
	restartPause = 500 * time.Millisecond
)

// mayStart returns the time to wait before a server starts again, or an error if it ended too
// often. m.mu is held.
func (m *Manager) mayStart(key string, s *Server) (time.Duration, error) {
	now := time.Now()
	ends := slices.DeleteFunc(m.ends[key], func(e end) bool { return now.Sub(e.at) > endsTime })
	if m.ends[key] = ends; len(ends) == 0 {
		delete(m.ends, key)
		return 0, nil
	}
	last := ends[len(ends)-1]
	if len(ends) >= maxEnds {
		again := ends[0].at.Add(endsTime).Sub(now).Round(time.Minute)
		return 0, fault.New(fmt.Sprintf("%s ended %d times within %d minutes; the last time, %s", s.Name, len(ends), endsTime/time.Minute, last.why),
			fmt.Sprintf("Use Grep and Read; try again in %d minutes, or ask the user to look at it.", max(1, again/time.Minute)))
	}
	return time.Until(last.at.Add(restartPause << (len(ends) - 1))), nil
}

// makeRoom returns the server that has to end before another one starts, or nil if there is
// room. m.mu is held.
func (m *Manager) makeRoom() (oldest *instance, err error) {
	if len(m.running) < maxServers {
		return nil, nil
	}
	for _, i := range m.running {
		if i.uses == 0 && (oldest == nil || i.used.Before(oldest.used)) {
			oldest = i
		}
	}
	if oldest == nil {
		return nil, fault.New(fmt.Sprintf("%d language servers run, and all of them are in use", maxServers), "Try again in a moment.")
	}
	return oldest, nil
}

// look starts the goroutine that ends servers that are idle, too large, or do not answer. m.mu is held.
func (m *Manager) look() {
	if m.looking {
		return
	}
	m.looking = true
	m.work.Go(func() {
		tick := time.NewTicker(lookEvery)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
			case <-m.ctx.Done():
				return
			}
			m.mu.Lock()
			if len(m.running) == 0 {
				m.looking = false
				m.mu.Unlock()
				return
			}
			all := slices.Collect(maps.Values(m.running))
			m.mu.Unlock()
			for _, i := range all {
				m.lookAt(i)
			}
		}
	})
}

// lookAt ends a server that is idle, too large, or does not answer.
func (m *Manager) lookAt(i *instance) {
	m.mu.Lock()
	c, idle := i.client, i.uses == 0 && time.Since(i.used) > idleTime
	m.mu.Unlock()
	if c == nil {
		return
	}
	if idle {
		m.stop(i, "it was idle", true)
		return
	}
	switch used := c.process.Memory(); {
	case used > m.config.Memory:
		m.kill(i, fmt.Sprintf("it was stopped since it used %d MiB of memory, more than %d MiB", used>>20, m.config.Memory>>20))
	case c.stream.silent() >= silentTime:
		m.kill(i, fmt.Sprintf("it was stopped since it had sent nothing for %v after it was asked", silentTime))
	}
}

// kill ends a server that does not work, as an unexpected end.
func (m *Manager) kill(i *instance, why string) {
	m.mu.Lock()
	i.reason = why // so that watch does not count it again
	m.ends[i.key] = append(m.ends[i.key], end{time.Now(), why})
	m.mu.Unlock()
	m.config.Log.Warn("a language server was stopped", "name", i.client.Server.Name, "why", why)
	m.stop(i, why, false)
}

// Status describes a server that runs.
type Status struct {
	Name, Root string
	Memory     int64 // bytes
}

// Running lists the servers that run, sorted.
func (m *Manager) Running() (out []Status) {
	for _, c := range m.clients() {
		out = append(out, Status{c.Server.Name, c.Root, c.process.Memory()})
	}
	slices.SortFunc(out, func(a, b Status) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Root, b.Root)) })
	return out
}

// clients returns the servers that run.
func (m *Manager) clients() (out []*Client) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, i := range m.running {
		if i.client != nil {
			out = append(out, i.client)
		}
	}
	return out
}

// Why returns the reason for which a request failed because its server ended, or err.
func (m *Manager) Why(c *Client, err error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if ends := m.ends[c.key]; errors.Is(err, errEnded) && len(ends) > 0 && strings.HasPrefix(ends[len(ends)-1].why, "it was stopped") {
		return errors.New(ends[len(ends)-1].why)
	}
	return err
}
