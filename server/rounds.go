package server

// This file is how a question outlives its request: from 2026-07-28 on the
// server answers a call with the question, and the client sends the call again
// with the answer. What the client carries in between is sealed; what was
// decided stays here.

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"sync"
	"time"
)

// Limits of questions that wait for their call to be sent again. Beyond them
// the oldest is forgotten, and its call asks anew.
const (
	roundLife     = 10 * time.Minute // longer than a person takes, and than a client waits
	maxRounds     = 1000
	maxRoundBytes = 64 << 20 // of what is kept for them
)

// rounds are the questions that were put and not answered, of all clients that
// are asked this way. It is safe for concurrent use.
type rounds struct {
	aead cipher.AEAD // its key dies with the process, as the records do

	mu      sync.Mutex
	records map[roundID]*round
	bytes   int
	count   uint64 // rounds made, for their order
}

type roundID [16]byte

// round is one question and what the answer to it resumes.
type round struct {
	question [sha256.Size]byte // its digest
	key      string            // its name in the result
	kept     any
	used     int      // questions of the call up to this one
	answers  answered // to those before it
	size     int
	number   uint64
	expires  time.Time
}

// binding is what a call must share with the one that was asked about.
type binding struct {
	principal string
	session   string // "" where requests have none
	tool      string
	arguments []byte // as they were sent
}

func (b binding) digest() []byte {
	args := sha256.Sum256(b.arguments)
	sum := digest([]byte(b.principal), []byte(b.session), []byte(b.tool), args[:])
	return sum[:]
}

// digest is of the parts and where each ends.
func digest(parts ...[]byte) (sum [sha256.Size]byte) {
	h := sha256.New()
	for _, p := range parts {
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(p))))
		h.Write(p)
	}
	h.Sum(sum[:0])
	return sum
}

func newRounds() (*rounds, error) {
	key := make([]byte, 32)
	_, _ = rand.Read(key) // it never fails
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return nil, err
	}
	return &rounds{aead: aead, records: map[roundID]*round{}}, nil
}

// put remembers a question, whose expiry and number it sets, and returns the
// state that the client sends back.
func (r *rounds) put(b binding, n *round) (state string) {
	var id roundID
	_, _ = rand.Read(id[:])
	now := time.Now()
	n.expires = now.Add(roundLife)
	r.mu.Lock()
	r.count++
	n.number = r.count
	r.makeRoom(n.size, now)
	r.records[id] = n
	r.bytes += n.size
	r.mu.Unlock()
	return base64.RawURLEncoding.EncodeToString(r.aead.Seal(nil, nil, id[:], b.digest()))
}

// makeRoom drops what has expired, and the oldest while there is too much. The
// caller holds mu.
func (r *rounds) makeRoom(size int, now time.Time) {
	for id, n := range r.records {
		if now.After(n.expires) {
			r.drop(id)
		}
	}
	for len(r.records) > 0 && (len(r.records) >= maxRounds || r.bytes+size > maxRoundBytes) {
		var oldest roundID
		var least uint64
		for id, n := range r.records {
			if least == 0 || n.number < least {
				oldest, least = id, n.number
			}
		}
		r.drop(oldest)
	}
}

// drop forgets a question. The caller holds mu.
func (r *rounds) drop(id roundID) {
	r.bytes -= r.records[id].size
	delete(r.records, id)
}

// errBadState is of a state that nobody can have been given.
var errBadState = errors.New("the request state is not one that this server gave out")

// take returns the question that a state stands for, once. It returns nil if
// the state is forged, used, expired, or of another call, which all mean that
// nothing was answered.
func (r *rounds) take(b binding, state string) (*round, error) {
	var id roundID
	enc := base64.RawURLEncoding.Strict()
	if len(state) != enc.EncodedLen(len(id)+r.aead.Overhead()) {
		return nil, errBadState
	}
	sealed, err := enc.DecodeString(state)
	if err != nil {
		return nil, errBadState
	}
	opened, err := r.aead.Open(nil, nil, sealed, b.digest())
	if err != nil {
		return nil, nil
	}
	copy(id[:], opened)
	r.mu.Lock()
	defer r.mu.Unlock()
	n := r.records[id]
	if n == nil {
		return nil, nil
	}
	r.drop(id)
	if time.Now().After(n.expires) {
		return nil, nil
	}
	return n, nil
}
