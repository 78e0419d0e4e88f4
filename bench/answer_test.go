package main

import "testing"

func TestAnswerID(t *testing.T) {
	for line, want := range map[string]int64{
		`{"jsonrpc":"2.0","id":12,"result":{}}`:                                       12,
		`{"result":{"content":[]},"jsonrpc":"2.0","id":7}`:                            7,
		`{"id":3,"jsonrpc":"2.0","error":{"code":-1,"message":"no"}}`:                 3,
		`{"result":{"text":",\"jsonrpc\":\"2.0\",\"id\":8}"},"jsonrpc":"2.0","id":9}`: 9,
		`{"id":4,"jsonrpc":"2.0","result":{"text":",\"jsonrpc\":\"2.0\",\"id\":8}"}}`: 4,
		`{"result":{"a":{"b":1,"jsonrpc":"2.0","id":8}},"id":5}`:                      5,
		`{"jsonrpc":"2.0","id":1,"method":"ping"}`:                                    -1,
		`{"method":"roots/list","jsonrpc":"2.0","id":0}`:                              -1,
		`{"jsonrpc":"2.0","method":"notifications/message","params":{"id":1}}`:        -1,
		`not JSON`: -1,
	} {
		got, ok := answerID([]byte(line))
		if !ok {
			got = -1
		}
		if got != want {
			t.Errorf("answerID(%s) = %d, want %d", line, got, want)
		}
	}
}
