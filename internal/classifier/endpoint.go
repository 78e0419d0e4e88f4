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

// newClient makes a client that reaches this machine only: neither a proxy, nor
// a redirect, nor a name that leads elsewhere takes the question away.
func newClient() *http.Client {
	dialer := net.Dialer{Control: func(_, address string, _ syscall.RawConn) error { return here(address) }}
	return &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			DialContext:            dialer.DialContext,
			DisableKeepAlives:      true, // connecting to this machine is cheap
			DisableCompression:     true,
			MaxResponseHeaderBytes: mostAnswer,
		},
	}
}

// here refuses an address, as it is about to be connected to, of elsewhere.
func here(address string) error {
	to, err := netip.ParseAddrPort(address)
	if err == nil && to.Addr().Unmap().IsLoopback() {
		return nil
	}
	return fmt.Errorf("%s is not this machine", address)
}

// post sends the question to a URL and returns what it answers.
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
			err = u.Err // the URL may have a password in it
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
