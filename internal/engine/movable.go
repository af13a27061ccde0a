package engine

import (
	"fmt"
	"reflect"
	"sync"
)

// mustMove panics, when something is registered, if values of a type cannot be moved: by
// assignment, as rows are in a refresh, and messages and arguments on their way. format and values
// name what has the type.
func mustMove(t reflect.Type, format string, values ...any) {
	path, part := fixed(t, t.String(), false)
	if part == nil {
		return
	}
	why := "which must not be moved once it is used"
	if part.Size() == 0 {
		why = "which marks what must not be copied"
	}
	panic(fmt.Sprintf("world: %s: %s is a %v, %s, but the world moves such values by assignment; hold what needs it behind a pointer, or leave it out",
		fmt.Sprintf(format, values...), path, part, why))
}

// MustMove is mustMove for package world.
func MustMove(t reflect.Type, format string, values ...any) { mustMove(t, format, values...) }

// fixedTypes are types of other packages than sync that work only where they were first used: a
// Builder panics elsewhere; lists and rings have pointers to themselves; and what follows a timer
// in memory is taken for the timer's, too.
var fixedTypes = map[string]bool{
	"strings.Builder": true, "container/list.List": true, "container/list.Element": true, "container/ring.Ring": true,
	"time.Timer": true, "time.Ticker": true,
}

var locker = reflect.TypeFor[sync.Locker]()

// fixed returns the path to a part of a type that must stay where it is, and the part's type, or
// nil. These are fixedTypes; what package sync has, because who waits for a lock, or sleeps, waits
// at its address; and fields without a size whose pointers have the methods Lock and Unlock, by
// which a type says that it must not be copied.
//
// The types of sync/atomic say so, too, and are allowed all the same: nobody waits at their
// addresses, and no system runs while rows move, so nothing is lost. The goroutines that one system
// starts may well count by them.
func fixed(t reflect.Type, path string, field bool) (string, reflect.Type) {
	switch pkg := t.PkgPath(); {
	case pkg == "sync/atomic":
		return "", nil
	case fixedTypes[pkg+"."+t.Name()],
		pkg == "sync" && t.Kind() == reflect.Struct,
		field && t.Size() == 0 && reflect.PointerTo(t).Implements(locker) && !t.Implements(locker):
		return path, t
	}
	switch t.Kind() {
	case reflect.Array: // also one of no elements, which is another way to say so
		return fixed(t.Elem(), path+"[0]", field)
	case reflect.Struct:
		for i := range t.NumField() {
			f := t.Field(i)
			if p, part := fixed(f.Type, path+"."+f.Name, true); part != nil {
				return p, part
			}
		}
	}
	return "", nil
}
