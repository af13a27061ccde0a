// Package many holds the tests of worlds with as many component types as there can
// be. It is a directory of its own because they take the compiler a minute.
package many
