//go:build !atollwide

package handle

// The widths of a handle's fields, in bits. All shifts and limits derive from
// these, and they add up to 64.
const (
	HomeBits    = 12
	IndexBits   = 24
	VersionBits = 28
)

// textSizeMax is the length of the longest text form, in bytes. A test compares it with
// the text of the largest handle.
const textSizeMax = len("4095:16777215@268435455")
