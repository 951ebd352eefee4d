package httpapi

import (
	"net"
	"net/http"
	"sync"
)

// bounded is a listener that has a bounded number of connections open. It hands them on as they are: only of a TLS
// connection that it knows does net/http tell a client that speaks plain HTTP what is wrong.
type bounded struct {
	net.Listener
	open chan struct{} // one for each open connection
	end  chan struct{}
	once sync.Once
}

func newBounded(l net.Listener, most int) *bounded {
	return &bounded{Listener: l, open: make(chan struct{}, most), end: make(chan struct{})}
}

func (b *bounded) Accept() (net.Conn, error) {
	select {
	case b.open <- struct{}{}:
	case <-b.end:
		return nil, net.ErrClosed
	}
	c, err := b.Listener.Accept()
	if err != nil {
		<-b.open
	}
	return c, err
}

func (b *bounded) Close() error {
	b.once.Do(func() { close(b.end) })
	return b.Listener.Close()
}

// ended is the http.Server's ConnState.
func (b *bounded) ended(_ net.Conn, s http.ConnState) {
	if s == http.StateClosed || s == http.StateHijacked {
		<-b.open
	}
}
