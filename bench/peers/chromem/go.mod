module github.com/lexsem/lexsem/bench/peers/chromem

go 1.26.0

require (
	github.com/philippgille/chromem-go v0.7.0
	golang.org/x/sys v0.49.0
)
