package snapshot

import (
	"bytes"
	"encoding/binary"
	"errors"
	"reflect"

	"github.com/atoll-sim/atoll/internal/form"

	"github.com/atoll-sim/atoll/internal/files"
	"github.com/atoll-sim/atoll/persist/snapshot/internal/format"
	"github.com/atoll-sim/atoll/persist/state"
)

// Pack and Unpack are those of sections.
var (
	Pack   = func(how Compression, dst, body []byte) []byte { return format.Pack(format.Compression(how), dst, body) }
	Unpack = func(how Compression, dst, body []byte, length int) ([]byte, error) {
		return format.Unpack(format.Compression(how), dst, body, length)
	}
)

const (
	preamble = 12
	headSize = 32
)

// Repair gives a snapshot whose bytes were changed the checksums that it should have, and the
// lengths of its sections, as far as there are sections. Tests get behind the checksums with it.
func Repair(image []byte) []byte {
	if len(image) < preamble {
		return image
	}
	out := bytes.NewBuffer(bytes.Clone(image[:preamble]))
	w, first := format.Writer{Out: out}, true
	for rest := image[preamble:]; len(rest) >= headSize; first = false {
		stored := binary.LittleEndian.Uint64(rest[16:])
		s := format.Section{Kind: rest[0], How: format.Compression(rest[1]), Number: int(binary.LittleEndian.Uint32(rest[4:]))}
		s.Length = int(binary.LittleEndian.Uint64(rest[8:]))
		rest = rest[headSize:]
		s.Body = rest[:min(stored, uint64(len(rest)))]
		rest = rest[len(s.Body):]
		if s.How == format.None {
			s.Length = len(s.Body)
		}
		s.Sum = s.Checksum()
		if s.Kind == format.BaseSection && first {
			w.Base = new(format.Base)
		}
		if s.Kind == format.EndSection {
			_ = w.End(binary.LittleEndian.Uint64(append(bytes.Clone(s.Body), make([]byte, 24)...)[16:]))
			break
		}
		_ = w.Section(&s)
	}
	return out.Bytes()
}

// Exchange gives the first section of a kind another body, which is made of the one before.
func Exchange(image []byte, kind byte, body func(old []byte) []byte) []byte {
	out := bytes.NewBuffer(nil)
	w, r := format.Writer{Out: out}, format.SourceOf(bytes.NewReader(image))
	_, _, done := w.Begin(), r.Begin(), false
	for s := new(format.Section); s.Kind != format.EndSection; {
		if err := r.Next(s); err != nil {
			panic(err)
		}
		switch {
		case s.Kind == format.BaseSection:
			w.Base = new(format.Base)
		case s.Kind == format.EndSection:
			_ = w.End(0)
			continue
		case s.Kind == kind && !done:
			old, err := s.Unpack(new([]byte))
			if err != nil {
				panic(err)
			}
			s.Body, s.How, done = body(old), format.None, true
			if s.Length = len(s.Body); s.Kind != format.HeaderSection {
				s.Body, s.How = format.Pack(format.Zstd, nil, s.Body), format.Zstd
			}
			s.Sum = s.Checksum()
		}
		_ = w.Section(s)
	}
	return out.Bytes()
}

// SectionsOf returns where the sections of a snapshot begin, by their kind and number.
func SectionsOf(image []byte) map[string]int {
	all, r := map[string]int{}, format.SourceOf(bytes.NewReader(image))
	s, err := new(format.Section), r.Begin()
	for err == nil && s.Kind != format.EndSection {
		if err = r.Next(s); err == nil {
			all[string(s.Kind)+string(rune('0'+s.Number))] = int(s.At)
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
func Forge(image []byte, forge func(parts []form.Part) []form.Part) []byte {
	return ForgeNames(image, func(x *format.Catalogue) {
		n := &x.Components[0]
		n.Parts, n.Hash = forge(n.Parts), n.Hash+1
	})
}

// Catalogue is what ForgeNames forges.
type Catalogue = format.Catalogue

// ForgeNames changes what a snapshot that is not compressed says of what is registered.
func ForgeNames(image []byte, forge func(*Catalogue)) []byte {
	out := bytes.NewBuffer(bytes.Clone(image[:preamble]))
	w, r := format.Writer{Out: out}, format.SourceOf(bytes.NewReader(image))
	s, err := new(format.Section), r.Begin()
	for err == nil {
		if err = r.Next(s); err != nil || s.Kind == format.EndSection {
			break
		}
		if s.Kind == format.NamesSection {
			x, _ := format.ReadCatalogue(s.Body)
			forge(x)
			s.Body = x.Append(nil)
			s.Length = len(s.Body)
		}
		s.Sum = s.Checksum()
		err = w.Section(s)
	}
	_ = w.End(0)
	return out.Bytes()
}

// Conversion returns what Load would do about a component of one type in a world with another, and
// the form by which it reads the values.
func Conversion(old, now reflect.Type, codecs *state.Codecs, changes ...Change) (p Plan, form form.Form, err error) {
	const it = "it"
	saved, own := format.Named{Name: it, Of: old}, format.Named{Name: it, Of: now}
	if err := errors.Join(findForm(&saved, codecs), findForm(&own, codecs)); err != nil {
		return p, nil, err
	}
	saved.Of, saved.Form = nil, nil // a file has none
	m := matching{
		saved: &catalogue{Catalogue: &format.Catalogue{Components: []format.Named{saved}}}, own: &catalogue{Catalogue: &format.Catalogue{Components: []format.Named{own}}},
		o: &Options{Codecs: codecs, Changes: changes}, list: &p.Differences,
	}
	_, err = m.all()
	return p, m.saved.Components[0].Form, err
}
