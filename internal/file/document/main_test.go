package document

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// TestMain lets the test binary act as the reader of documents. Its additional kinds do
// what a file could make a reader do.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case Arg:
			for k, read := range badKinds {
				kinds[k] = read
			}
			os.Exit(Serve(os.Args[2:], os.Stdin, os.Stdout))
		case parentArg:
			os.Exit(beParent())
		}
	}
	goleak.VerifyTestMain(m)
}

var badKinds = map[kind]func(in *os.File, q request) (any, error){
	"value": func(*os.File, request) (any, error) { return "a value", nil },
	"fault": func(*os.File, request) (any, error) { return nil, errCaller },
	"error": func(*os.File, request) (any, error) { return nil, errors.New("input/output error") },
	"env":   func(*os.File, request) (any, error) { return os.Environ(), nil },
	"folder": func(*os.File, request) (any, error) {
		return os.Getwd()
	},
	"loop": func(*os.File, request) (any, error) {
		for n := 0; ; n++ {
		}
	},
	"hang": func(in *os.File, _ request) (any, error) {
		_, _ = in.WriteAt([]byte(running), 0)
		select {}
	},
	"grow": func(*os.File, request) (any, error) { return grow(1<<20, 0), nil },
	"creep": func(*os.File, request) (any, error) {
		return grow(1<<20, time.Millisecond), nil
	},
	"reserve": func(*os.File, request) (any, error) {
		kept := make([]byte, 4<<30)
		kept[len(kept)-1] = 1
		return len(kept), nil
	},
	"touch": func(*os.File, request) (any, error) {
		kept := touched(100 << 20)
		time.Sleep(3 * watchEvery) // time for the check to run
		return len(kept), nil
	},
	"recurse": func(*os.File, request) (any, error) { return recurse(1), nil },
	"panic":   func(*os.File, request) (any, error) { panic("what a file can do") },
	"goexit": func(*os.File, request) (any, error) {
		os.Exit(0)
		return nil, nil
	},
	"exit": func(*os.File, request) (any, error) {
		os.Exit(7)
		return nil, nil
	},
	"garbage": func(*os.File, request) (any, error) {
		fmt.Println(`{"Value": "half an ans`)
		os.Exit(0)
		return nil, nil
	},
	"twice": func(*os.File, request) (any, error) {
		fmt.Println(`{"Value": "a value"}`)
		return "a value", nil
	},
	"flood": func(*os.File, request) (any, error) {
		for block := bytes.Repeat([]byte(" "), 1<<20); ; {
			if _, err := os.Stdout.Write(block); err != nil {
				select {}
			}
		}
	},
	"noise": func(*os.File, request) (any, error) {
		for range 100 {
			_, _ = os.Stderr.Write(bytes.Repeat([]byte("."), 64<<10))
		}
		return "a value", nil
	},
}

// grow allocates forever and touches the memory.
func grow(block int, pause time.Duration) [][]byte {
	for kept := [][]byte{}; ; {
		kept = append(kept, touched(block))
		if pause > 0 {
			time.Sleep(pause)
		}
	}
}

func touched(size int) []byte {
	b := make([]byte, size)
	for i := 0; i < len(b); i += 4096 {
		b[i] = 1
	}
	return b
}

// recurse recurses until the number overflows.
//
//go:noinline
func recurse(n int) int {
	if n < 0 {
		return n
	}
	return recurse(n+1) + n
}
