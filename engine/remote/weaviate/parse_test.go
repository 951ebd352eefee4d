package weaviate_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/remote/weaviate"
)

func TestParse(t *testing.T) {
	got, err := weaviate.Parse("weaviate://a:1,b:2/Notes?shards=3&replicas=2&consistency=one&tls=true")
	want := weaviate.Options{Nodes: []string{"https://a:1", "https://b:2"}, Class: "Notes", Shards: 3, Replicas: 2, Consistency: "one"}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("%+v, %v, want %+v", got, err, want)
	}
	if _, err := weaviate.Open(got); err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{"", "http://a:1/Notes", "weaviate://a:1/notes", "weaviate://a:1", "weaviate:///Notes", "weaviate://u:secret@a:1/Notes", "weaviate://a:1/Notes?shards=x",
		"weaviate://a:1/Notes?shards=-1", "weaviate://a:1/Notes?tls=perhaps", "weaviate://a:1/Notes?other=1", "weaviate://a:1/Notes?consistency=SOME", "weaviate://a:1/Not es", "weaviate://a:1/N" + strings.Repeat("n", 200)} {
		o, err := weaviate.Parse(s)
		if err == nil {
			_, err = weaviate.Open(o)
		}
		if !errors.Is(err, engine.ErrInvalid) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v", s, err)
		}
	}
}
