//go:build atollwide

package handle

// The widths of a handle's fields, in bits, for worlds of up to 255 homes that hold up
// to a thousand million entities each. All shifts and limits derive from these, and they
// add up to 64.
const (
	HomeBits    = 8
	IndexBits   = 30
	VersionBits = 26
)

// textSizeMax is the length of the longest text form, in bytes. A test compares it with
// the text of the largest handle.
const textSizeMax = len("255:1073741823@67108863")
