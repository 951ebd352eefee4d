package elastic

import (
	"encoding/json"

	"github.com/lexsem/lexsem/engine/remote/internal/nodes"
	"github.com/lexsem/lexsem/internal/rest"
)

func newClient(o Options) (*rest.Client, error) {
	return nodes.Client(&rest.Client{
		URLs: o.Nodes, Scheme: "ApiKey", Key: o.Key, Patience: o.Patience, HTTP: o.HTTP, Err: ErrServer, Refusal: refusal,
		// A search may have used a shard copy on a node that has just gone.
		Passes: func(f *rest.Failure) bool {
			return f.Busy() || f.Status == 500 && f.Kind == "search_phase_execution_exception"
		},
	})
}

// refusal reads the body of an error.
func refusal(body []byte) (kind, reason string) {
	var out struct {
		Error struct {
			Type, Reason string
			Root         []struct{ Type, Reason string } `json:"root_cause"`
		}
	}
	if json.Unmarshal(body, &out) != nil {
		return "", ""
	}
	kind, reason = out.Error.Type, out.Error.Reason
	if root := out.Error.Root; len(root) > 0 && root[0].Reason != reason {
		reason += ": " + root[0].Reason
	}
	return kind, reason
}
