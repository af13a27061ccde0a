package meta_test

import (
	"os"
	"testing"
)

// TestMain runs the tests in the root of the module: their paths begin there.
func TestMain(m *testing.M) {
	if err := os.Chdir("../.."); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}
