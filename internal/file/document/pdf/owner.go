package pdf

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/md5"
	"crypto/rc4"
	"crypto/sha256"
	"crypto/sha512"
	"fmt"
	"io"
	"regexp"

	"github.com/pdfcpu/pdfcpu/pkg/pdfcpu/model"
	"github.com/pdfcpu/pdfcpu/pkg/pdfcpu/types"
)

// padding completes passwords of fewer than 32 bytes (ISO 32000-2, algorithm 2).
const padding = "\x28\xBF\x4E\x5E\x4E\x75\x8A\x41\x64\x00\x4E\x56\xFF\xFA\x01\x08\x2E\x2E\x00\xB6\xD0\x68\x3E\x80\x2F\x0C\xA9\xFE\x64\x53\x69\x7A"

// special holds the characters that must be escaped in a string.
const special = "()\\\r\n"

// noVector is the initialization vector of the keys of revisions 5 and 6.
var noVector = make([]byte, aes.BlockSize)

// asOwner opens a file whose owner password is empty. Neither library tries that password.
// asOwner returns the file and the user password to read it with. It reports false if the
// owner password is certainly not empty; up to revision 4 only the password's use tells.
func asOwner(file io.ReaderAt, size int64) (opened io.ReaderAt, password string, ok bool) {
	data := inMemory(file, size)
	ref := encryptRef.FindSubmatch(data)
	if ref == nil {
		return nil, "", false
	}
	text := object(data, ref[1], ref[2])
	line := string(text)
	parsed, err := model.ParseObject(&line)
	dict, isDict := parsed.(types.Dict)
	if err != nil || !isDict {
		return nil, "", false
	}
	number := func(key string, otherwise int) int {
		if n := dict.IntEntry(key); n != nil {
			return *n
		}
		return otherwise
	}
	switch r := number("R", 0); r {
	case 2, 3, 4:
		bits := number("Length", 40)
		switch {
		case r == 2:
			bits = 40
		case r == 4:
			bits = 128
		}
		o := stringOf(dict["O"])
		if len(o) < 32 || bits < 40 || bits > 128 {
			return nil, "", false
		}
		return file, userPassword(o[:32], r, bits/8), true
	case 5, 6:
		return bytes.NewReader(data), "", emptyUserPassword(text, dict, r)
	}
	return nil, "", false
}

// userPassword recovers the user password with an empty owner password (ISO 32000-2,
// algorithm 7).
func userPassword(o []byte, revision, size int) string {
	key, rounds := md5.Sum([]byte(padding)), 1
	if revision > 2 {
		for range 50 {
			key = md5.Sum(key[:])
		}
		rounds = 20
	}
	password := bytes.Clone(o)
	for i := rounds - 1; i >= 0; i-- {
		k := bytes.Clone(key[:size])
		for j := range k {
			k[j] ^= byte(i)
		}
		c, _ := rc4.NewCipher(k) // the size is right
		c.XORKeyStream(password, password)
	}
	for n := range password {
		if bytes.HasPrefix([]byte(padding), password[n:]) {
			return string(password[:n])
		}
	}
	return string(password)
}

// emptyUserPassword changes the text of an encryption of revision 5 or 6, whose owner
// password is empty, so that the user password is empty, too. It decrypts the key of the
// file, and encrypts it again in U and UE (ISO 32000-2, algorithms 2.A and 8). It reports
// false if the owner password is not empty.
func emptyUserPassword(text []byte, dict types.Dict, revision int) bool {
	o, u, oe, ue := stringOf(dict["O"]), stringOf(dict["U"]), stringOf(dict["OE"]), stringOf(dict["UE"])
	uPlace, uePlace := place(text, dict, "U"), place(text, dict, "UE")
	if len(o) < 48 || len(u) < 48 || len(oe) < 32 || len(ue) < 32 || uPlace == nil || uePlace == nil {
		return false
	}
	if !bytes.Equal(hash(revision, o[32:40], u[:48]), o[:32]) {
		return false
	}
	key := make([]byte, 32)
	cipher.NewCBCDecrypter(block(hash(revision, o[40:48], u[:48])), noVector).CryptBlocks(key, oe[:32])
	for n := range 1000 { // about every third salt gives strings without a special character
		salt := fmt.Appendf(nil, "%08d", n)
		ue := make([]byte, 32)
		cipher.NewCBCEncrypter(block(hash(revision, salt, nil)), noVector).CryptBlocks(ue, key)
		u := bytes.Join([][]byte{hash(revision, salt, nil), salt, salt}, nil)
		if bytes.ContainsAny(u, special) || bytes.ContainsAny(ue, special) {
			continue
		}
		copy(uPlace, fmt.Appendf(nil, "(%s)%*s", u, len(uPlace), ""))
		copy(uePlace, fmt.Appendf(nil, "(%s)%*s", ue, len(uePlace), ""))
		return true
	}
	return false
}

// stringOf returns the bytes of a string.
func stringOf(object types.Object) (value []byte) {
	switch s := object.(type) {
	case types.StringLiteral:
		value, _ = types.Unescape(string(s))
	case types.HexLiteral:
		value, _ = s.Bytes()
	}
	return value
}

// place returns the part of the text of a dictionary that is the string under key, or nil if
// it is not found once.
func place(text []byte, dict types.Dict, key string) []byte {
	found := regexp.MustCompile(`/`+key+`\s*(<[0-9A-Fa-f\s]*>|\()`).FindAllSubmatchIndex(text, -1)
	if len(found) != 1 {
		return nil
	}
	start, end := found[0][2], found[0][3]
	if s, ok := dict[key].(types.StringLiteral); ok {
		end = start + len("(") + len(s) + len(")")
		if !bytes.HasPrefix(text[start:], []byte("("+string(s)+")")) {
			return nil
		}
	}
	return text[start:end]
}

// hash returns the hash of the empty password (ISO 32000-2, algorithm 2.B; revision 5 has
// only its first step).
func hash(revision int, salt, u []byte) []byte {
	first := sha256.Sum256(append(bytes.Clone(salt), u...))
	k := first[:]
	for round := 1; revision > 5; round++ {
		e := bytes.Repeat(append(bytes.Clone(k), u...), 64)
		cipher.NewCBCEncrypter(block(k[:16]), k[16:32]).CryptBlocks(e, e)
		sum := 0
		for _, b := range e[:16] {
			sum += int(b)
		}
		switch sum % 3 {
		case 0:
			h := sha256.Sum256(e)
			k = h[:]
		case 1:
			h := sha512.Sum384(e)
			k = h[:]
		case 2:
			h := sha512.Sum512(e)
			k = h[:]
		}
		if round >= 64 && int(e[len(e)-1]) <= round-32 {
			break
		}
	}
	return k[:32]
}

// block returns AES with a key whose size is right.
func block(key []byte) cipher.Block {
	b, err := aes.NewCipher(key)
	if err != nil {
		panic(err)
	}
	return b
}
