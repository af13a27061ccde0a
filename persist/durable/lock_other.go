//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package durable

import (
	"fmt"
	"io"
	"os"
)

// lock does nothing here: the standard library has no lock for this system that ends with its
// process.
func lock(path string) (io.Closer, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, fmt.Errorf("durable: %w", err)
	}
	return f, nil
}
