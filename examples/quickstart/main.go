// Command quickstart keeps two notes in a database and searches them. The
// README shows it. The first run fetches a model.
package main

import (
	"context"
	"fmt"

	"github.com/lexsem/lexsem"
)

func main() {
	ctx := context.Background()
	db, err := lexsem.Open(ctx, "notes.db") // the model is fetched once
	check(err)
	defer db.Close()
	check(db.Upsert(ctx,
		lexsem.Document{ID: "keys", Text: "Rotate the signing keys with keyctl rotate."},
		lexsem.Document{ID: "old", Text: "Signing keys were once rotated by hand."}))
	res, err := db.Search(ctx, "keyctl rotate") // or lexsem.Query{…}
	check(err)
	fmt.Println(res.Hits[0].ID, res.Hits[0].Text)
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
