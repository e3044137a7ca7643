package proxy

import (
	"time"
)

// Bounds of one proxy. A program that exceeds them harms itself only.
const (
	maxConnections = 256
	maxRefusals    = 100
	maxHeader      = 64 << 10
	headerTime     = 10 * time.Second
	lookupTime     = 5 * time.Second
	dialTime       = 10 * time.Second
	helloTime      = 30 * time.Second // until a tunnel has named its host
	idleTime       = 2 * time.Minute  // of a connection between two requests
	tunnelIdle     = 30 * time.Minute // of a tunnel; models think for a long time
)
