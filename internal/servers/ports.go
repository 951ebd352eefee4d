package servers

import (
	"errors"
	"fmt"
	"net"
)

// FreePorts is the first of n ports of loopback in a row that nobody uses.
func FreePorts(n int) (first int, err error) {
	for range 100 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return 0, err
		}
		first = l.Addr().(*net.TCPAddr).Port
		free := []net.Listener{l}
		for p := first + 1; p < first+n && err == nil; p++ {
			if l, err = net.Listen("tcp", fmt.Sprint("127.0.0.1:", p)); err == nil {
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
