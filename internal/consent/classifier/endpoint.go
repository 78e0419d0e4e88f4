package classifier

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"syscall"
)

// newClient returns an HTTP client that connects only to this machine: no
// proxy, redirect or host name can send the question elsewhere.
func newClient() *http.Client {
	dialer := net.Dialer{Control: func(_, address string, _ syscall.RawConn) error { return checkLocal(address) }}
	return &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			DialContext:            dialer.DialContext,
			DisableKeepAlives:      true, // connecting locally is cheap
			DisableCompression:     true,
			MaxResponseHeaderBytes: mostAnswer,
		},
	}
}

// checkLocal returns an error unless the resolved address is on this machine.
func checkLocal(address string) error {
	to, err := netip.ParseAddrPort(address)
	if err == nil && to.Addr().Unmap().IsLoopback() {
		return nil
	}
	return fmt.Errorf("%s is not this machine", address)
}

// post sends the question to a URL and returns the body of the answer.
func (c *Classifier) post(ctx context.Context, to string, question []byte) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, to, bytes.NewReader(question))
	if err != nil {
		return nil, fmt.Errorf("asking: %w", err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json")
	response, err := c.client.Do(request)
	if err != nil {
		var u *url.Error
		if errors.As(err, &u) {
			err = u.Err // the URL may contain a password
		}
		return nil, fmt.Errorf("asking %s: %w", request.URL.Host, err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("asking %s: it answered with status %d", request.URL.Host, response.StatusCode)
	}
	data, err := io.ReadAll(io.LimitReader(response.Body, mostAnswer+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("reading the answer of %s: %w", request.URL.Host, err)
	case len(data) > mostAnswer:
		return nil, errLong
	}
	return data, nil
}
