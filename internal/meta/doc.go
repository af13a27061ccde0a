// Package meta has the tests of what is no code of a package: the documents, the lists of the API, the
// names, and which package imports which.
package meta
