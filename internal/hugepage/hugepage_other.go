//go:build !linux

package hugepage

// Size returns the bytes of a huge page: 0, because this system has no way to ask for one.
func Size() uintptr { return 0 }

// Ask asks for the huge page that begins at an address. It must not be called.
func Ask(uintptr) bool { return false }
