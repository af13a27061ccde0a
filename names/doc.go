// Package names finds entities by name.
//
// [Names] gives entities of a world a name each: a string, or an id from outside such
// as a row of a database. No two have the same. [Names.Lookup] takes a name to its
// handle, [Names.NameOf] a handle to its name, from any goroutine at any time, without
// waiting and without allocating. A [Reader] does so as well, and of a [world.Frame] finds
// what was there then.
//
// While systems run nothing changes. Binding a name and giving it up are requests of
// systems and ports, which the refresh applies in order; an idle world does them at
// once. The refresh in which an entity dies takes its name away.
//
//	index    64 stripes by the upper bits of a hash, each a table that grows alone
//	table    [b3][  ][b1][  ][ x][b2][  ][  ]     x: one that was removed
//	binding  name and handle, never changed: readers may hold it for as long as they like
//
// There are two indexes, by name and by handle, of the same bindings. (Tables that
// one goroutine writes and all read, with markers for what was removed, are an old
// idea; see Purcell and Harris, Non-blocking hashtables with open addressing, 2005.)
package names
