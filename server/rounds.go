package server

// Questions outlive their requests here. From protocol 2026-07-28 on, the
// server answers a call with a question, and the client sends the call again
// with the answer. The state that the client carries is encrypted and
// authenticated. The decisions stay in the server.

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
// the oldest is dropped, and its call asks again.
const (
	roundLife     = 10 * time.Minute // longer than users need and than clients wait
	maxRounds     = 1000
	maxRoundBytes = 64 << 20 // of the stored decisions and answers
)

// rounds holds the unanswered questions of all clients that are asked this way.
// It is safe for concurrent use.
type rounds struct {
	aead cipher.AEAD // its key lives as long as the process, like the records

	mu      sync.Mutex
	records map[roundID]*round
	bytes   int
	count   uint64 // number of rounds made, for their order
}

type roundID [16]byte

// round is one question and the state that its answer resumes.
type round struct {
	question [sha256.Size]byte // digest of the question
	key      string            // its name in the result
	state    any
	used     int      // number of questions of the call, including this one
	answers  answered // to the earlier questions
	size     int
	number   uint64
	asked    time.Time
	expires  time.Time
}

// binding identifies a call: the call that brings the answer must have the same
// binding.
type binding struct {
	principal string
	session   string // "" for requests without a session
	tool      string
	arguments []byte // as the client sent them
}

func (b binding) digest() []byte {
	args := sha256.Sum256(b.arguments)
	sum := digest([]byte(b.principal), []byte(b.session), []byte(b.tool), args[:])
	return sum[:]
}

// digest returns a hash of the parts and their lengths.
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

// add stores a question and sets its expiry and number. It returns the state
// that the client must send back.
func (r *rounds) add(b binding, n *round) (state string) {
	var id roundID
	_, _ = rand.Read(id[:])
	now := time.Now()
	n.asked, n.expires = now, now.Add(roundLife)
	r.mu.Lock()
	r.count++
	n.number = r.count
	r.makeRoom(n.size, now)
	r.records[id] = n
	r.bytes += n.size
	r.mu.Unlock()
	return base64.RawURLEncoding.EncodeToString(r.aead.Seal(nil, nil, id[:], b.digest()))
}

// makeRoom removes expired questions, and the oldest ones while a limit is
// exceeded. The caller holds mu.
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

// drop removes a question. The caller holds mu.
func (r *rounds) drop(id roundID) {
	r.bytes -= r.records[id].size
	delete(r.records, id)
}

// errBadState is the error for a state that this server cannot have issued.
var errBadState = errors.New("the request state is not one that this server gave out")

// take removes and returns the question of a state. It returns nil if the state
// is forged, used, expired or of another call. All of these mean that there is
// no answer.
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
