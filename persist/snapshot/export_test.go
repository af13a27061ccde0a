package snapshot

import (
	"bytes"
	"encoding/binary"
	"errors"
	"reflect"

	"github.com/atoll-sim/atoll/internal/drive"
	"github.com/atoll-sim/atoll/internal/files"
	"github.com/atoll-sim/atoll/persist/state"
)

// Pack and Unpack are those of sections.
var Pack, Unpack = pack, unpack

// Repair gives a snapshot whose bytes were changed the checksums that it should have, and the
// lengths of its sections, as far as there are sections. Tests get behind the checksums with it.
func Repair(image []byte) []byte {
	if len(image) < preamble {
		return image
	}
	out := bytes.NewBuffer(bytes.Clone(image[:preamble]))
	w := writer{out: out}
	for rest := image[preamble:]; len(rest) >= headSize; {
		stored := binary.LittleEndian.Uint64(rest[16:])
		s := section{kind: rest[0], how: Compression(rest[1]), number: int(binary.LittleEndian.Uint32(rest[4:]))}
		s.length = int(binary.LittleEndian.Uint64(rest[8:]))
		rest = rest[headSize:]
		s.body = rest[:min(stored, uint64(len(rest)))]
		rest = rest[len(s.body):]
		if s.how == None {
			s.length = len(s.body)
		}
		s.sum = s.checksum()
		if s.kind == baseSection && w.sections == 0 {
			w.base = new(base)
		}
		if s.kind == endSection {
			_ = w.end(binary.LittleEndian.Uint64(append(bytes.Clone(s.body), make([]byte, 24)...)[16:]))
			break
		}
		_ = w.section(&s)
	}
	return out.Bytes()
}

// Exchange gives the first section of a kind another body, which is made of the one before.
func Exchange(image []byte, kind byte, body func(old []byte) []byte) []byte {
	out := bytes.NewBuffer(nil)
	w, r := writer{out: out}, reader{in: bytes.NewReader(image)}
	_, _, done := w.begin(), r.begin(), false
	for s := new(section); s.kind != endSection; {
		if err := r.next(s); err != nil {
			panic(err)
		}
		switch {
		case s.kind == baseSection:
			w.base = new(base)
		case s.kind == endSection:
			_ = w.end(0)
			continue
		case s.kind == kind && !done:
			old := must(s.unpack(new([]byte)))
			s.body, s.how, done = body(old), None, true
			if s.length = len(s.body); s.kind != headerSection {
				s.body, s.how = pack(Zstd, nil, s.body), Zstd
			}
			s.sum = s.checksum()
		}
		_ = w.section(s)
	}
	return out.Bytes()
}

// SectionsOf returns where the sections of a snapshot begin, by their kind and number.
func SectionsOf(image []byte) map[string]int {
	all, r := map[string]int{}, reader{in: bytes.NewReader(image)}
	s, err := new(section), r.begin()
	for err == nil && s.kind != endSection {
		if err = r.next(s); err == nil {
			all[string(s.kind)+string(rune('0'+s.number))] = int(s.at)
		}
	}
	return all
}

// What a Dir asks of a file system.
type (
	Files = files.Files
	File  = files.File
)

// Use makes a Dir use a file system.
func (d *Dir) Use(f Files) { d.files = f }

// Forge changes what a snapshot that is not compressed says of the form of its first component.
func Forge(image []byte, forge func(parts []drive.Part) []drive.Part) []byte {
	out := bytes.NewBuffer(bytes.Clone(image[:preamble]))
	w, r := writer{out: out}, reader{in: bytes.NewReader(image)}
	s, err := new(section), r.begin()
	for err == nil {
		if err = r.next(s); err != nil || s.kind == endSection {
			break
		}
		if s.kind == namesSection {
			x, _ := readCatalogue(s.body)
			n := &x.components[0]
			n.parts, n.hash = forge(n.parts), n.hash+1
			s.body = x.append(nil)
			s.length = len(s.body)
		}
		s.sum = s.checksum()
		err = w.section(s)
	}
	_ = w.end(0)
	return out.Bytes()
}

// Conversion returns what Load would do about a component of one type in a world with another, and
// the form by which it reads the values.
func Conversion(old, now reflect.Type, codecs *state.Codecs, changes ...Change) (p Plan, form drive.Form, err error) {
	saved, own := named{name: "it", rows: old}, named{name: "it", rows: now}
	if err := errors.Join(saved.formOf(codecs), own.formOf(codecs)); err != nil {
		return p, nil, err
	}
	saved.rows, saved.form = nil, nil // a file has none
	m := matching{
		saved: &catalogue{components: []named{saved}}, own: &catalogue{components: []named{own}},
		o: &Options{Codecs: codecs, Changes: changes}, list: &p.Differences,
	}
	_, err = m.all()
	return p, m.saved.components[0].form, err
}
