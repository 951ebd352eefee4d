package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// patient is a transport that reports the end of input only after all earlier calls are
// answered: the SDK drops the answers of calls in progress at the end, so a client that
// pipes its questions in would get none.
type patient struct {
	sdk.Transport
	in *messages
}

// Connect implements sdk.Transport.
func (p patient) Connect(ctx context.Context) (sdk.Connection, error) {
	c, err := p.Transport.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &pending{Connection: c, in: p.in, calls: map[any]bool{}, closed: make(chan struct{}), none: make(chan struct{}, 1)}, nil
}

// pending is a connection that tracks unanswered calls.
type pending struct {
	sdk.Connection
	in    *messages
	mu    sync.Mutex
	calls map[any]bool  // ids of calls, and whether the client wants the answer
	none  chan struct{} // told whenever calls becomes empty

	once   sync.Once
	closed chan struct{}
}

// Read implements sdk.Connection.
func (p *pending) Read(ctx context.Context) (jsonrpc.Message, error) {
	msg, err := p.Connection.Read(ctx)
	if errors.Is(err, io.EOF) {
		p.wait(ctx)
	}
	if r, ok := msg.(*jsonrpc.Request); ok {
		p.mu.Lock()
		defer p.mu.Unlock()
		if r.IsCall() {
			p.calls[r.ID.Raw()] = true
		} else if id, ok := cancelled(r); ok && p.calls[id] {
			p.calls[id] = false
		}
	}
	return msg, err
}

// cancelled is the id of the call that a notification cancels.
func cancelled(r *jsonrpc.Request) (id any, ok bool) {
	var params struct {
		RequestID any `json:"requestId"`
	}
	if r.Method != "notifications/cancelled" || json.Unmarshal(r.Params, &params) != nil {
		return nil, false
	}
	made, err := jsonrpc.MakeID(params.RequestID)
	return made.Raw(), err == nil
}

// Write implements sdk.Connection.
func (p *pending) Write(ctx context.Context, msg jsonrpc.Message) error {
	r, ok := msg.(*jsonrpc.Response)
	if !ok {
		return p.Connection.Write(ctx, msg)
	}
	defer p.done(r.ID)
	p.mu.Lock()
	wanted, known := p.calls[r.ID.Raw()]
	p.mu.Unlock()
	if known && !wanted && !p.in.batches.Load() { // the SDK sends a batch when each of its calls has an answer
		return nil // the protocol: a cancelled call has none
	}
	return p.Connection.Write(ctx, msg)
}

// Close implements sdk.Connection.
func (p *pending) Close() error {
	p.once.Do(func() { close(p.closed) })
	return p.Connection.Close()
}

func (p *pending) done(id jsonrpc.ID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if delete(p.calls, id.Raw()); len(p.calls) == 0 {
		select {
		case p.none <- struct{}{}:
		default:
		}
	}
}

// wait returns when every call has its answer, or the connection ends.
func (p *pending) wait(ctx context.Context) {
	for {
		p.mu.Lock()
		n := len(p.calls)
		p.mu.Unlock()
		if n == 0 {
			return
		}
		select {
		case <-p.none:
		case <-p.closed:
			return
		case <-ctx.Done():
			return
		}
	}
}
