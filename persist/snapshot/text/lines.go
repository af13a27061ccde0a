package text

import (
	"encoding/json"
	"reflect"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/persist/snapshot/internal/format"
	"github.com/atoll-sim/atoll/persist/snapshot/internal/shape"
	"github.com/atoll-sim/atoll/world"
)

// The text of a snapshot has a JSON object in each line. Its first name identifies the kind of
// line. docs/snapshot-format.md has all of them.

// textVersion is that of the text.
const textVersion = 1

// The lines of a text, except those of entities: these are many, and encoded by hand.
type (
	headLine struct {
		Text        int    `json:"text"` // the version of the text
		Snapshot    uint32 `json:"snapshot"`
		Compression string `json:"compression"`
	}
	tickLine struct {
		Tick     uint64 `json:"tick"`
		Entities int    `json:"entities"`
		Hash     string `json:"hash,omitempty"`
	}
	optionsLine struct {
		Options json.RawMessage `json:"options"`
	}
	registeredLine struct {
		Registered string     `json:"registered"` // its list, as in format.Listed
		Name       string     `json:"name"`
		Type       string     `json:"type,omitempty"`
		Form       string     `json:"form,omitempty"` // its hash
		Parts      []partText `json:"parts,omitempty"`
	}
	partText struct {
		At      int         `json:"at"`
		Size    int         `json:"size"`
		ByCodec bool        `json:"codec,omitempty"`
		Fields  []fieldText `json:"fields"`
	}
	fieldText struct {
		Path string `json:"path"`
		Type string `json:"type"`
		At   int    `json:"at"`
	}
	entityLine struct {
		Entity     handleText     `json:"entity"`
		Flags      []int          `json:"flags"`
		Marked     bool           `json:"marked"`
		Components map[string]any `json:"components"`
	}
	resourceLine struct {
		Resource string            `json:"resource"`
		Value    json.RawMessage   `json:"value"`
		Parts    []json.RawMessage `json:"parts,omitempty"`
	}
	messageLine struct {
		Message string          `json:"message"`
		Shard   int             `json:"shard"`
		To      handleText      `json:"to"`
		Value   json.RawMessage `json:"value"`
	}
	requestLine struct {
		Request string          `json:"request"`
		Kind    int             `json:"kind"`  // its number among those that are registered
		Shard   int             `json:"shard"` // the sender; the number of shards for global systems
		Flags   uint16          `json:"flags"`
		Entity  handleText      `json:"entity"`
		Value   json.RawMessage `json:"value,omitempty"`
	}
	// bytesLine is some of the bytes of a section.
	bytesLine struct {
		Bytes string          `json:"bytes"` // its kind: extension, scheduler, also
		Name  string          `json:"name"`
		From  int             `json:"from"`
		Is    json.RawMessage `json:"is"`
	}
	stateLine struct {
		State       string   `json:"state"` // of the world
		Incarnation uint32   `json:"incarnation"`
		Shard       int      `json:"shard"`
		Run         int      `json:"run"`
		Misrouted   bool     `json:"misrouted"`
		Moves       uint32   `json:"moves"`
		Gathered    uint32   `json:"gathered"`
		Pinned      []string `json:"pinned"`
		Hooks       [][]bool `json:"hooks"`
	}
	// wordsLine is some of the slots or free indexes of a shard, or of ports, whose number comes
	// after those of shards.
	wordsLine struct {
		Words string   `json:"words"`
		Shard int      `json:"shard"`
		From  int      `json:"from"`
		Are   []uint32 `json:"are"`
	}
	// handlesLine is some handles: those that ports have given back, those that hooks will be
	// notified of, or those in the rows of a chunk.
	handlesLine struct {
		Handles string       `json:"handles"`
		Shard   int          `json:"shard"`
		Table   int          `json:"table"`
		Chunk   int          `json:"chunk"`
		From    int          `json:"from"`
		Are     []handleText `json:"are"`
	}
	shardLine struct {
		Shard    int          `json:"shard"`
		Sections []int        `json:"sections"`
		Marked   []markedText `json:"marked"`
		Changes  []changeText `json:"changes"`
		Stored   []storedText `json:"stored"`
	}
	markedText struct {
		Table  int   `json:"table"`
		Chunks []int `json:"chunks"`
	}
	changeText struct {
		Entity     handleText `json:"entity"`
		Moves      uint32     `json:"moves"`
		Components []string   `json:"components"`
	}
	storedText struct {
		Entity    handleText `json:"entity"`
		Component string     `json:"component"`
	}
	tableLine struct {
		Table      int      `json:"table"`
		Shard      int      `json:"shard"`
		Components []string `json:"components"`
		Listed     bool     `json:"listed"`
		Fragmented bool     `json:"fragmented"`
		Left       uint32   `json:"left"`
		Current    int      `json:"current"`
	}
	chunkLine struct {
		Chunk    int      `json:"chunk"`
		Table    int      `json:"table"`
		Shard    int      `json:"shard"`
		Room     int      `json:"room"`
		Rows     int      `json:"rows"`
		Reserved bool     `json:"reserved"`
		Changed  uint32   `json:"changed"`
		Written  []uint32 `json:"written"`
	}
	endLine struct {
		End string `json:"end"` // the xxh3 of the lines before it, except the first
	}
)

// How many elements a line has that is not of an entity.
const (
	wordsInLine   = 32
	handlesInLine = 16
	bytesInLine   = 1536
)

// handleText is a handle in a line: text, or a number if it is not a valid handle.
type handleText handle.Handle

func (h handleText) MarshalJSON() ([]byte, error) { return appendHandle(nil, handle.Handle(h)), nil }

func (h *handleText) UnmarshalJSON(text []byte) error {
	v, err := decodeText(text)
	if err != nil {
		return err
	}
	n, err := parseWhole(v, handleShape)
	*h = handleText(n)
	return err
}

var handleShape = &shape.Shape{Kind: reflect.Uint64, Size: 8, Handle: true}

// ofThisMachine checks that the layout of numbers and handles is the one of this program.
func ofThisMachine(saved []format.Setting) error {
	own := format.Settings(&format.Info{Layout: world.Layout{HomeBits: handle.HomeBits, IndexBits: handle.IndexBits, VersionBits: handle.VersionBits}})
	for i := range format.OfMachine {
		if s := &own[i]; s.Value != saved[i].Value {
			return format.OtherWorld("%s: it was saved with %d, and this program has %d; use one that is built for that", s.Name, saved[i].Value, s.Value)
		}
	}
	return nil
}
