// The measurements. Servers take turns, A B A B, so that a machine that gets
// slower or faster meanwhile does so for both.

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

const (
	startTime = 30 * time.Second // limit for a server to start
	loadTime  = 10 * time.Minute // limit for all reads
	blockSize = 100              // reads of one server before the other's turn
	inFlight  = 10
)

var initialize = json.RawMessage(`{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}`)

// open starts a server and takes the time from before the process exists until
// the tools are listed.
func (s *side) open(ctx context.Context) (*client, float64, error) {
	begin := time.Now()
	c, err := start(ctx, s.argv)
	if err != nil {
		return nil, 0, err
	}
	list, err := c.greet()
	ms := millis(time.Since(begin))
	if err == nil && !bytes.Contains(list, []byte(`"inputSchema"`)) {
		err = fmt.Errorf("the answer to tools/list has no tool: %.200s", list)
	}
	if err != nil {
		return nil, 0, errors.Join(err, c.stop())
	}
	return c, ms, nil
}

// greet goes from the first message to the list of tools.
func (c *client) greet() ([]byte, error) {
	if _, _, err := c.call("initialize", initialize); err != nil {
		return nil, err
	}
	if err := c.notify("notifications/initialized"); err != nil {
		return nil, err
	}
	list, _, err := c.call("tools/list", json.RawMessage("{}"))
	return list, err
}

// rehearse starts a server and reads once, unmeasured: it shows whether the
// server works, and brings its files into memory.
func (s *side) rehearse(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	c, _, err := s.open(ctx)
	if err != nil {
		return err
	}
	_, err = s.readOnce(c)
	return errors.Join(err, c.stop())
}

func measureStarts(ctx context.Context, sides []*side, runs int) error {
	for range runs {
		for _, s := range sides {
			if err := s.startOnce(ctx); err != nil {
				return fmt.Errorf("starting %s: %w", s.name, err)
			}
		}
	}
	return nil
}

func (s *side) startOnce(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	c, ms, err := s.open(ctx)
	if err != nil {
		return err
	}
	s.start = append(s.start, ms)
	rss, err := resident(c.cmd.Process.Pid)
	s.rssStart = append(s.rssStart, rss)
	stopped, stopErr := c.terminate()
	s.stopped = append(s.stopped, stopped)
	return errors.Join(err, stopErr)
}

func measureReads(ctx context.Context, sides []*side, reads int) (err error) {
	ctx, cancel := context.WithTimeout(ctx, loadTime)
	defer cancel()
	clients := make([]*client, len(sides))
	for i, s := range sides {
		if clients[i], _, err = s.open(ctx); err != nil {
			return fmt.Errorf("starting %s: %w", s.name, err)
		}
		defer func() { err = errors.Join(err, clients[i].stop()) }()
		if _, err := s.sequence(clients[i], blockSize); err != nil { // warms up
			return fmt.Errorf("reading with %s: %w", s.name, err)
		}
	}
	for _, measure := range []func(*side, *client, int) error{(*side).oneByOne, (*side).together} {
		for left := reads; left > 0; left -= blockSize {
			for i, s := range sides {
				if err := measure(s, clients[i], min(left, blockSize)); err != nil {
					return fmt.Errorf("reading with %s: %w", s.name, err)
				}
			}
		}
	}
	return nil
}

// oneByOne measures a block of round trips, each after the other.
func (s *side) oneByOne(c *client, n int) error {
	block, err := s.sequence(c, n)
	s.reads = append(s.reads, block...)
	s.blockMedian = append(s.blockMedian, median(block))
	s.blockP95 = append(s.blockP95, percentile(block, 95))
	return err
}

func (s *side) sequence(c *client, n int) ([]float64, error) {
	block := make([]float64, 0, n)
	for range n {
		ms, err := s.readOnce(c)
		if err != nil {
			return block, err
		}
		block = append(block, ms)
	}
	return block, nil
}

// together measures a block of reads of which some are always in flight.
func (s *side) together(c *client, n int) error {
	var left atomic.Int64
	left.Store(int64(n))
	errs := make([]error, inFlight)
	var all sync.WaitGroup
	begin := time.Now()
	for i := range inFlight {
		all.Go(func() {
			for left.Add(-1) >= 0 && errs[i] == nil {
				_, errs[i] = s.readOnce(c)
			}
		})
	}
	all.Wait()
	s.perSecond = append(s.perSecond, float64(n)/time.Since(begin).Seconds())
	rss, err := resident(c.cmd.Process.Pid)
	s.rssLoad = append(s.rssLoad, rss)
	return errors.Join(append(errs, err)...)
}

// readOnce reads the sample and makes sure that it came whole.
func (s *side) readOnce(c *client) (ms float64, err error) {
	line, took, err := c.call("tools/call", s.read)
	if err == nil && !bytes.Contains(line, s.marker) {
		err = fmt.Errorf("the answer is not the file: %.200s", line)
	}
	return millis(took), err
}

func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
