package httpapi

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
)

// openapiJSON describes the paths of a server, with those of a database only once.
//
//go:embed openapi.json
var openapiJSON []byte

// description is the OpenAPI document of a server: it repeats each path of a database for
// collections.
func description(version string) ([]byte, error) {
	var doc map[string]any
	if err := json.Unmarshal(openapiJSON, &doc); err != nil {
		return nil, fmt.Errorf("openapi.json: %w", err)
	}
	if version != "" {
		doc["info"].(map[string]any)["version"] = version
	}
	paths := doc["paths"].(map[string]any)
	name := paths[collectionPrefix].(map[string]any)["parameters"].([]any)[0]
	for path, item := range maps.Clone(paths) {
		rest, ok := strings.CutPrefix(path, prefix)
		if !ok || strings.HasPrefix(path, prefix+"/collections") {
			continue
		}
		in := maps.Clone(item.(map[string]any))
		own, _ := in["parameters"].([]any)
		in["parameters"] = append([]any{name}, own...)
		for method, o := range in {
			if op, ok := o.(map[string]any); ok {
				op = maps.Clone(op)
				op["operationId"] = op["operationId"].(string) + "InCollection"
				in[method] = op
			}
		}
		paths[collectionPrefix+rest] = in
	}
	return json.Marshal(doc)
}
