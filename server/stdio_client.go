package server

import (
	"sync"
	"sync/atomic"

	"github.com/mark3labs/mcp-go/mcp"
	mcpserver "github.com/mark3labs/mcp-go/server"
)

// stdioClient holds the library's state of the client of a stdio connection.
type stdioClient struct {
	id            string
	initialized   atomic.Bool
	notifications chan mcp.JSONRPCNotification

	mu         sync.Mutex
	info       mcp.Implementation
	caps       mcp.ClientCapabilities
	protocol   string
	logLevel   mcp.LoggingLevel
	filter     mcp.SubscriptionFilter
	subscribed bool
}

var (
	_ mcpserver.SessionWithClientInfo         = (*stdioClient)(nil)
	_ mcpserver.SessionWithLogging            = (*stdioClient)(nil)
	_ mcpserver.SessionWithProtocolVersion    = (*stdioClient)(nil)
	_ mcpserver.SessionWithSubscriptionFilter = (*stdioClient)(nil)
)

// notificationBuffer is the number of notifications of the library that wait
// for the pump. The library drops further ones.
const notificationBuffer = 256

func newStdioClient(id string) *stdioClient {
	return &stdioClient{
		id: "stdio-" + id, logLevel: mcp.LoggingLevelError,
		notifications: make(chan mcp.JSONRPCNotification, notificationBuffer),
	}
}

func (c *stdioClient) SessionID() string { return c.id }
func (c *stdioClient) Initialize()       { c.initialized.Store(true) }
func (c *stdioClient) Initialized() bool { return c.initialized.Load() }
func (c *stdioClient) NotificationChannel() chan<- mcp.JSONRPCNotification {
	return c.notifications
}

// locked runs f with mu held.
func (c *stdioClient) locked(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f()
}

func (c *stdioClient) SetClientInfo(i mcp.Implementation) { c.locked(func() { c.info = i }) }
func (c *stdioClient) GetClientInfo() (i mcp.Implementation) {
	c.locked(func() { i = c.info })
	return i
}
func (c *stdioClient) SetClientCapabilities(v mcp.ClientCapabilities) {
	c.locked(func() { c.caps = v })
}
func (c *stdioClient) GetClientCapabilities() (v mcp.ClientCapabilities) {
	c.locked(func() { v = c.caps })
	return v
}
func (c *stdioClient) SetProtocolVersion(v string) { c.locked(func() { c.protocol = v }) }
func (c *stdioClient) ProtocolVersion() (v string) {
	c.locked(func() { v = c.protocol })
	return v
}
func (c *stdioClient) SetLogLevel(l mcp.LoggingLevel) { c.locked(func() { c.logLevel = l }) }
func (c *stdioClient) GetLogLevel() (l mcp.LoggingLevel) {
	c.locked(func() { l = c.logLevel })
	return l
}
func (c *stdioClient) SetSubscriptionFilter(f mcp.SubscriptionFilter) {
	c.locked(func() { c.filter, c.subscribed = f, !f.IsEmpty() })
}
func (c *stdioClient) SubscriptionFilter() (f mcp.SubscriptionFilter, active bool) {
	c.locked(func() { f, active = c.filter, c.subscribed })
	return f, active
}
