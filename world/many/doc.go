// Package many holds the tests of entities with many components, ten and forty. It is
// a directory of its own because their types take the compiler a while.
package many
