// Package nodes names interchangeable servers of a cluster: [Parse] reads the URL of a backend, [Client] checks
// the nodes of a rest.Client.
package nodes

import (
	"errors"
	"fmt"
	"strings"

	"github.com/lexsem/lexsem/internal/rest"
	"github.com/lexsem/lexsem/internal/secret"
)

// Client completes a client of nodes. It fails for nodes that are not base URLs and for an invalid key.
func Client(c *rest.Client) (*rest.Client, error) {
	if len(c.URLs) == 0 {
		return nil, errors.New("no node; give one like http://127.0.0.1:8080")
	}
	if c.Key = strings.TrimSpace(c.Key); !secret.Plain(c.Key) {
		return nil, errors.New("a key that is none: it holds a blank, a line break or a letter beyond ASCII")
	}
	for _, n := range c.URLs {
		if _, err := rest.CheckURL(n, ""); err != nil {
			return nil, fmt.Errorf("a node: %w", err)
		}
	}
	c.KeyHint = "give an API key that may do this"
	if c.HTTP == nil {
		c.HTTP = rest.Cluster()
	}
	return c, nil
}
