package mcp

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/lexsem/lexsem/engine"
)

// maxResource is the maximum number of bytes of a text that a resource returns at once.
const maxResource = 1 << 20

// documentURI begins the URI of a document; its id follows, percent-encoded.
const documentURI = "lexsem://documents/"

func (s *Server) addResources(srv *sdk.Server, outer context.Context) {
	srv.AddResourceTemplate(&sdk.ResourceTemplate{
		Name: "document", Title: "Document", URITemplate: documentURI + "{+id}", MIMEType: "text/plain",
		Description: "A stored document: title and text. The id is percent-encoded.",
	}, func(ctx context.Context, req *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
		ctx, cancel := within(ctx, outer)
		defer cancel()
		ctx, cancel = s.limited(ctx)
		defer cancel()
		uri := req.Params.URI
		d, err := s.resource(ctx, strings.TrimPrefix(uri, documentURI))
		switch {
		case errors.Is(err, engine.ErrNotFound):
			return nil, sdk.ResourceNotFoundError(uri)
		case err != nil:
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: s.advice(err)}
		case len(d.Text) > maxResource:
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "the text has " + bytesOf(len(d.Text)) + ", too many for a resource; use the tool get, which reads it in parts"}
		}
		text := d.Text
		if d.Title != "" {
			text = d.Title + "\n\n" + text
		}
		return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: uri, MIMEType: "text/plain", Text: strings.ToValidUTF8(text, string(utf8.RuneError))}}}, nil
	})
}

// resource returns the document with a percent-encoded id, or the document whose id is
// the undecoded text, since the template leaves the encoding to clients.
func (s *Server) resource(ctx context.Context, written string) (engine.Document, error) {
	for _, decode := range []func(string) (string, error){url.PathUnescape, func(id string) (string, error) { return id, nil }} {
		id, err := decode(written)
		if err != nil || checkID(id) != nil {
			continue
		}
		if d, err := s.db.Get(ctx, id); !errors.Is(err, engine.ErrNotFound) {
			return d, err
		}
	}
	return engine.Document{}, engine.ErrNotFound
}
