//go:build unix

// Command soak drives one HTTP server with many clients for minutes and checks
// that no edit is lost, no search is stale, every call is answered by its own
// answer, and memory stays bounded. From the repository:
//
//	go run ./e2e/soak [-clients N] [-for DURATION] [-memory MB] BINARY
//
// Two thirds of the clients have a session, the others send requests of
// protocol 2026-07-28. The exit code is 0 if all held, 1 if something did not,
// 2 if the server could not be driven.
package main

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"time"
)

func main() {
	clients := flag.Int("clients", 100, "number of clients")
	length := flag.Duration("for", 15*time.Minute, "how long calls are sent")
	memory := flag.Int("memory", 100, "upper bound of the server's resident memory, in MB")
	flag.Parse()
	if flag.NArg() != 1 || *clients < 1 || *length <= 0 {
		fmt.Fprintln(os.Stderr, "usage: soak [-clients N] [-for DURATION] [-memory MB] BINARY")
		os.Exit(2)
	}
	violations, err := run(flag.Arg(0), *clients, *length, *memory)
	if err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		os.Exit(2)
	}
	if violations > 0 {
		os.Exit(1)
	}
}

// run starts the server, drives it, and prints a report. It returns the number
// of violations.
func run(binary string, clients int, length time.Duration, memory int) (int, error) {
	dir, err := os.MkdirTemp("", "mcp-toolset-soak-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	w, err := makeWorkspace(dir, clients)
	if err != nil {
		return 0, err
	}
	s, err := start(binary, dir)
	if err != nil {
		return 0, err
	}
	defer s.kill()
	r := &report{counts: map[string]int{}}
	ctx, cancel := context.WithTimeout(context.Background(), length)
	defer cancel()
	usage := make(chan usage, 1)
	go func() { usage <- s.sample(ctx) }()

	var all sync.WaitGroup
	drivers := make([]*driver, clients)
	for i := range drivers {
		drivers[i] = &driver{
			client: &client{server: s, modern: i%3 == 2}, report: r, workspace: w, number: i,
			random: rand.New(rand.NewPCG(1, uint64(i))),
		}
		all.Go(func() { drivers[i].run(ctx) })
	}
	all.Wait()
	for _, d := range drivers {
		d.checkShared()
	}
	u := <-usage
	if err := s.stop(); err != nil {
		r.violation("the server ended with %v", err)
	}
	if u.peakMB > memory {
		r.violation("resident memory reached %d MB; the bound is %d MB", u.peakMB, memory)
	}
	r.print(os.Stdout)
	fmt.Printf("resident memory: %d MB after a fifth of the time, %d MB at the end, peak %d MB\n", u.earlyMB, u.lastMB, u.peakMB)
	fmt.Printf("open files: at most %d; threads: at most %d\n", u.files, u.threads)
	return r.failed(), nil
}
