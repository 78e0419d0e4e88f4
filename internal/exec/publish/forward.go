package publish

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"syscall"
	"time"

	"mcp-toolset/internal/exec/task"
)

// maxClients is the limit of connections of one port at a time. More wait.
const maxClients = 256

// acceptAgain is the time after which a listener that failed is tried again.
const acceptAgain = 100 * time.Millisecond

// forwarder forwards connections to a port in the network of a task.
type forwarder struct {
	task     *task.Task
	host     uint16 // port of this machine
	listener net.Listener
	cancel   context.CancelFunc
}

// close ends the forwarder and its connections.
func (f *forwarder) close() {
	_ = f.listener.Close()
	f.cancel()
}

// published returns the port of this machine for a port of a session, or 0.
func (p *Publisher) published(s service) uint16 {
	p.mu.Lock()
	defer p.mu.Unlock()
	if f := p.forwards[s]; f != nil {
		return f.host
	}
	return 0
}

// withdraw ends the forwarder of a port, if it is that of the task.
func (p *Publisher) withdraw(s service, t *task.Task) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if f := p.forwards[s]; f != nil && f.task == t {
		f.close()
		delete(p.forwards, s)
	}
}

// forward publishes a port of a session, on which a task listens. It returns the port of this
// machine, or 0 if none can be had. made reports whether the port was not published before.
func (p *Publisher) forward(s service, t *task.Task, n task.Network) (host uint16, made bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if f := p.forwards[s]; f != nil && !ended(f.task) {
		return f.host, false
	} else if f != nil { // its watch has not seen the end yet
		f.close()
		delete(p.forwards, s)
	}
	if p.closed || ended(t) {
		return 0, false
	}
	l, err := listen(s.port, p.agreed[s])
	if err != nil {
		return 0, false
	}
	ctx, cancel := context.WithCancel(context.Background())
	f := &forwarder{task: t, host: portOf(l), listener: l, cancel: cancel}
	p.forwards[s] = f
	if _, ok := p.agreed[s]; ok {
		p.agreed[s] = f.host
	}
	p.all.Go(func() { serve(ctx, l, s.port, n) })
	return f.host, true
}

// ended reports whether a task has ended.
func ended(t *task.Task) bool {
	select {
	case <-t.Done():
		return true
	default:
		return false
	}
}

func portOf(l net.Listener) uint16 { return uint16(l.Addr().(*net.TCPAddr).Port) }

// listen listens on 127.0.0.1: on the first of some ports that no program uses, or on any. A port of
// ::1 counts as used, since localhost may mean both.
func listen(ports ...uint16) (net.Listener, error) {
	for _, port := range append(ports, make([]uint16, 10)...) {
		l, err := net.Listen("tcp4", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			continue
		}
		six, err := net.Listen("tcp6", fmt.Sprintf("[::1]:%d", portOf(l)))
		if errors.Is(err, syscall.EADDRINUSE) {
			_ = l.Close()
			continue
		}
		if err == nil {
			_ = six.Close()
		}
		return l, nil
	}
	return nil, errors.New("no port of this machine is free")
}

// serve forwards the connections of a listener until it is closed, and waits for their end. ctx
// ends the connections.
func serve(ctx context.Context, l net.Listener, port uint16, n task.Network) {
	var all sync.WaitGroup
	defer all.Wait()
	slots := make(chan struct{}, maxClients)
	for {
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			return
		}
		client, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // for example, too many files are open
			<-slots
			select {
			case <-time.After(acceptAgain):
			case <-ctx.Done():
			}
			continue
		}
		all.Go(func() {
			defer func() { <-slots }()
			defer client.Close()
			server, err := n.Dial(ctx, port)
			if err != nil {
				return // as if nothing listened
			}
			defer server.Close()
			stop := context.AfterFunc(ctx, func() {
				_ = client.Close()
				_ = server.Close()
			})
			defer stop()
			join(client, server)
		})
	}
}

// join copies between two connections until both directions have ended.
func join(a, b net.Conn) {
	var both sync.WaitGroup
	for _, way := range [][2]net.Conn{{a, b}, {b, a}} {
		both.Go(func() {
			_, err := io.Copy(way[1], way[0])
			if half, ok := way[1].(interface{ CloseWrite() error }); ok && err == nil {
				_ = half.CloseWrite()
				return
			}
			_ = a.Close()
			_ = b.Close()
		})
	}
	both.Wait()
}
