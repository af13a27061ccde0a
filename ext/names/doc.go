// Package names finds entities by name.
//
// [Names] gives entities of a world a name each: a string, or an id from outside such
// as a row of a database. No two have the same. [Names.Lookup] returns the handle of a name,
// [Names.NameOf] the name of a handle, from any goroutine at any time, without
// waiting and without allocating. A [Reader] does so as well; given a [world.Frame] it finds
// what was there then.
//
// While systems run nothing changes. Systems and ports request to bind or remove a name,
// and the refresh applies the requests in order. An idle world makes changes at
// once. The refresh in which an entity dies removes its name.
//
//	index    64 stripes by the upper bits of a hash, each a table that grows by itself
//	table    [b3][  ][b1][  ][ x][b2][  ][  ]     x: a removed one
//	binding  name and handle, never changed: readers may hold it for as long as they like
//
// There are two indexes, by name and by handle, of the same bindings. (Tables that
// one goroutine writes and all read, with markers for what was removed, are an old
// idea; see Purcell and Harris, Non-blocking hashtables with open addressing, 2005.)
package names
