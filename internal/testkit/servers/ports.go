package servers

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
)

// Ports that systems do not use for outgoing connections (Linux uses those from 32,768, other systems from 49,152):
// such a port could be taken between FreePorts and the server's own listen.
const firstPort, lastPort = 10_000, 32_000

// FreePorts returns the first of n consecutive ports that are unused on every address of this machine.
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
