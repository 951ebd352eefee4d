package servers

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
)

// Ports that systems do not give to connections that go out (Linux begins at 32,768, others at 49,152): one of those may
// be taken between FreePorts and the server's own listen.
const firstPort, lastPort = 10_000, 32_000

// FreePorts is the first of n ports in a row that nobody uses, on no address of this machine.
func FreePorts(n int) (int, error) {
	for range 100 {
		var err error
		first := firstPort + rand.IntN(lastPort-firstPort-n)
		var free []net.Listener
		for p := first; p < first+n && err == nil; p++ {
			var l net.Listener
			if l, err = net.Listen("tcp", fmt.Sprint(":", p)); err == nil {
				free = append(free, l)
			}
		}
		for _, l := range free {
			l.Close()
		}
		if err == nil {
			return first, nil
		}
	}
	return 0, errors.New("no free ports in a row")
}
