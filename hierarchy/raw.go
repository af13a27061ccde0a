package hierarchy

import (
	"encoding/binary"
	"unsafe"
)

// This file is the one with unsafe: it copies memory as bytes, which is what makes
// saving and loading one copy.

// littleEndian says whether words in memory are as they are in an image.
var littleEndian = binary.NativeEndian.Uint16([]byte{1, 0}) == 1

// bytesOf returns the memory of words as bytes.
//
// Safety: words hold no pointers, every byte of them may be read and written, and
// the slice has just as many.
func bytesOf(words []word) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), len(words)*wordBytes)
}

// appendWords appends words in the order of an image.
//
// Safety: as of bytesOf.
func appendWords(dst []byte, words []word) []byte {
	if littleEndian {
		return append(dst, bytesOf(words)...)
	}
	for _, w := range words {
		dst = binary.LittleEndian.AppendUint64(dst, uint64(w))
	}
	return dst
}

// readWords fills words from an image, which has as many.
//
// Safety: as of bytesOf.
func readWords(words []word, image []byte) {
	if littleEndian {
		copy(bytesOf(words), image)
		return
	}
	for i := range words {
		words[i] = word(binary.LittleEndian.Uint64(image[i*wordBytes:]))
	}
}
