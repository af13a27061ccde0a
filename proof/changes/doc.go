// Package changes has the tests of how a newer version of a program loads what an older one has saved,
// for each type of a field. They register some hundred components, for each of which the compiler takes
// most of a second, so they are apart from the other tests of package snapshot.
package changes
