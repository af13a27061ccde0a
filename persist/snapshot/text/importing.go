package text

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/zeebo/xxh3"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/internal/store"
	"github.com/atoll-sim/atoll/persist/snapshot"
	"github.com/atoll-sim/atoll/persist/snapshot/internal/format"
)

// importing is the text of a snapshot that is being read.
type importing struct {
	o     snapshot.Options
	how   format.Compression
	info  format.Info
	names *format.Catalogue
	lists [3]textList  // components, messages, resources
	kinds []*valueText // of requests
	line  int
	lines struct {
		tick, options, state int
		shards               []int
	}
	consumed int64 // bytes of the text
	took     int64 // bytes of memory kept for it
	sum      xxh3.Hasher
	began    bool
	ended    bool

	settings []format.Setting
	entities map[handle.Handle]*entityText
	state    extend.State
	images   []store.Image
	sections [][]int
	mail     []mailText
	bodies   map[bytesKey]*[]byte
	named    map[string]*namesText // by extension
}

// textList has the formats of the values in a list of what is registered.
type textList struct {
	all    []*valueText
	byName map[string]int
}

type bytesKey struct {
	kind   byte
	number int
}

// entityText is an entity as in its line.
type entityText struct {
	line   int
	ids    []int // of its components, ascending
	values []byte
	flags  uint8
	marked bool
	placed bool // it has a row
}

// mailText has a shard's messages and requests.
type mailText struct {
	to       [][]handle.Handle // by message
	values   [][]byte
	requests []byte
	count    int
}

// namesText has the lines of one extension's names.
type namesText struct {
	head           [2]uint64
	names, refused []byte
	counts         [2]uint64
	taken          map[string]handleText // by name
	entities       map[handleText]bool   // those that have a name
}

// keep counts bytes that are kept. It returns an error if they are too many.
func (x *importing) keep(n int) error {
	x.took += int64(n)
	if most := format.BytesMax(x.o.BytesMax, x.consumed); x.took > most {
		return fmt.Errorf("%w: it takes %d bytes, with BytesMax = %d", snapshot.ErrTooLarge, x.took, most)
	}
	return nil
}

// find finds something that is registered by its name.
func (l *textList) find(what, name string) (*valueText, int, error) {
	at, ok := l.byName[name]
	if !ok {
		return nil, 0, fmt.Errorf("there is no %s %q", what, name)
	}
	return l.all[at], at, nil
}

// value appends a value to dst.
func (x *importing) value(dst []byte, t *valueText, text json.RawMessage) ([]byte, error) {
	if err := x.keep(t.skip.Least() + len(text)); err != nil {
		return nil, err
	}
	v, err := decodeText(text)
	if err != nil {
		return nil, inField("value", errMissing)
	}
	dst, err = t.parse(dst, v)
	if err != nil {
		return nil, inField("value", err)
	}
	return dst, nil
}

// once keeps a section.
func (x *importing) once(key bytesKey, body []byte) error {
	if x.bodies[key] != nil {
		return errors.New("it is there twice")
	}
	x.bodies[key] = &body
	return x.keep(len(body))
}

// of returns the mail of a shard.
func (x *importing) of(shard int) (*mailText, error) {
	if shard < 0 || shard >= len(x.mail) {
		return nil, fmt.Errorf("shard: there is no %d", shard)
	}
	return &x.mail[shard], nil
}

// ids returns the numbers of components.
func (x *importing) ids(names []string) (all []int, err error) {
	for _, name := range names {
		_, id, err := x.lists[0].find("component", name)
		if err != nil {
			return nil, inField("components", err)
		}
		all = append(all, id)
	}
	return all, x.keep(16 * len(names))
}

// image returns the image of the last shard, which must be this one.
func (x *importing) image(shard int) (*store.Image, error) {
	if shard != len(x.images)-1 || shard < 0 {
		return nil, inField("shard", fmt.Errorf("it is %d, and %d lines of shards came before", shard, len(x.images)))
	}
	return &x.images[shard], nil
}

// addTo adds some to the list of a name.
func addTo[T any](x *importing, lists map[string]*[]T, name string, from int, some []T) error {
	to := lists[name]
	if to == nil {
		return fmt.Errorf("there is no list %q here", name)
	}
	if from != len(*to) {
		return inField("from", fmt.Errorf("it is %d, and %d came before", from, len(*to)))
	}
	*to = append(*to, some...)
	return x.keep(8 * len(some))
}

// lastOf returns the last element, which must have this number.
func lastOf[T any](all []T, what string, number int) (*T, error) {
	if number != len(all)-1 || number < 0 {
		return nil, inField(what, fmt.Errorf("it is %d, and %d lines of them came before", number, len(all)))
	}
	return &all[number], nil
}
