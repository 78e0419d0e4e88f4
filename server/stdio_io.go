package server

// Stdio input is read by whole lines. Output is written by whole messages, one
// at a time, with notifications before the answer they belong to.

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/mark3labs/mcp-go/mcp"
)

var errLineTooLong = errors.New("the line is too long")

// readLine returns a line without its line ending. The last line may have none.
// A line over the limit is read to its end and dropped.
func readLine(r *bufio.Reader, limit int) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		if len(line)+len(part) > limit+1 {
			line = nil
			for errors.Is(err, bufio.ErrBufferFull) {
				_, err = r.ReadSlice('\n')
			}
			if err != nil && err != io.EOF {
				return nil, err
			}
			return nil, errLineTooLong
		}
		line = append(line, part...)
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		for len(line) > 0 && (line[len(line)-1] == '\n' || line[len(line)-1] == '\r') {
			line = line[:len(line)-1]
		}
		return line, err
	}
}

// encodeAnswer encodes the library's answer, with the id exactly as sent and
// with our error for an unknown tool.
func encodeAnswer(m message, in *incoming, answer mcp.JSONRPCMessage) []byte {
	fail := func(err error) []byte {
		return (&rpcError{mcp.INTERNAL_ERROR, "encoding the answer: " + err.Error(), m.rawID}).encode()
	}
	switch a := answer.(type) {
	case mcp.JSONRPCResponse:
		result, err := encodeResult(a.Result)
		if err != nil {
			return fail(err)
		}
		return slices.Concat([]byte(`{"jsonrpc":"2.0","id":`), m.rawID, []byte(`,"result":`), result, []byte{'}'})
	case mcp.JSONRPCError:
		if in.unknown != nil {
			return (&rpcError{mcp.INVALID_PARAMS, in.unknown.Error(), m.rawID}).encode()
		}
		if in.extra != nil && a.Error.Code == mcp.METHOD_NOT_FOUND {
			return in.extra()
		}
		a.ID = mcp.NewRequestId(m.rawID)
		answer = a
	}
	data, err := json.Marshal(answer)
	if err != nil {
		return fail(err)
	}
	return data
}

// encodeResult encodes a result by its own MarshalJSON if it has one, because
// json.Marshal would scan a large text once more.
func encodeResult(result any) ([]byte, error) {
	if m, ok := result.(json.Marshaler); ok {
		return m.MarshalJSON()
	}
	return json.Marshal(result)
}

// notify writes a notification at once, so it comes before the answer of its
// request.
func (c *stdioConn) notify(method string, params any) error {
	data, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "method": method, "params": params})
	if err != nil {
		return fmt.Errorf("encoding %s: %w", method, err)
	}
	c.write(data)
	return nil
}

// send writes a request of the server.
func (c *stdioConn) send(message []byte) error {
	c.write(message)
	return nil
}

// write writes one message. If that fails, the client is gone and the
// connection ends.
func (c *stdioConn) write(data []byte) {
	c.writeMu.Lock()
	defer c.writeMu.Unlock()
	if _, err := c.out.Write(append(data, '\n')); err != nil {
		c.disconnect(err)
	}
}

// pump writes the notifications that the library sends.
func (c *stdioConn) pump(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case n := <-c.client.notifications:
			c.writeNotification(n)
		case done := <-c.barrier:
			for len(c.client.notifications) > 0 {
				c.writeNotification(<-c.client.notifications)
			}
			close(done)
		}
	}
}

func (c *stdioConn) writeNotification(n mcp.JSONRPCNotification) {
	if n.Method == string(mcp.MethodNotificationToolsListChanged) && !c.s.hasListChanged(c.conv) {
		return
	}
	if data, err := json.Marshal(n); err == nil {
		c.write(data)
	}
}

// flushNotifications waits until the library's notifications are written, so
// that the answer of a listen stream comes after them. It does nothing for
// other requests.
func (c *stdioConn) flushNotifications(r *request) {
	if !r.listen {
		return
	}
	done := make(chan struct{})
	select {
	case c.barrier <- done:
		<-done
	case <-c.done:
	}
}
