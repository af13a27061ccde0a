//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package durable

import (
	"fmt"
	"io"
	"os"
)

// lock does not keep others away from the directory here: there is no lock that ends with its
// process and that the standard library has.
func lock(path string) (io.Closer, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, fmt.Errorf("durable: %w", err)
	}
	return f, nil
}
