package store

import (
	"reflect"

	"github.com/dgraph-io/badger/v4"
)

// Badger keeps the buffers of up to eight builders of tables for the next ones, and lets go of one in two seconds
// without any table. Each has grown to the largest table that it ever had: 28 MiB for a memtable of 8. So 150 to 220 MiB
// would stay while little is written.

// pooledBuilders is how many of them Badger keeps.
const pooledBuilders = 8

// freeBuilders lets go of the buffers that no builder uses. The database must stay open meanwhile.
func freeBuilders(db *badger.DB) (bytes uint64) {
	pool := reflect.ValueOf(db).Elem().FieldByName("allocPool") // v4.9.6; nothing else reaches it
	if !pool.IsValid() {
		return 0
	}
	get := reflect.NewAt(pool.Type(), pool.Addr().UnsafePointer()).Elem().MethodByName("Get")
	for range pooledBuilders {
		b := get.Call([]reflect.Value{reflect.ValueOf(0), reflect.ValueOf("")})[0].Interface().(interface {
			Allocated() uint64
			Release()
		})
		n := b.Allocated()
		b.Release()
		if n <= 512 { // the least: it is a new one
			break
		}
		bytes += n
	}
	return bytes
}
