// Package bench compares Atoll with its peers. It is a module of its own, so
// that no peer ever reaches the go.mod of the library.
package bench

import _ "github.com/atoll-sim/atoll" // measured here
