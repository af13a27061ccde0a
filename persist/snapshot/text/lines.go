package text

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	forms "github.com/atoll-sim/atoll/internal/form"

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
		Registered string       `json:"registered"` // its list, as in format.Listed
		Name       string       `json:"name"`
		Type       string       `json:"type,omitempty"`
		Form       string       `json:"form,omitempty"` // its hash
		Count      int          `json:"count,omitempty"`
		Parts      []forms.Part `json:"parts,omitempty"`
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
		TxRuns      uint64   `json:"tx_runs"`
		Pinned      []string `json:"pinned"`
		Hooks       [][]bool `json:"hooks"`
	}
	// wordsLine is some of the slots or free indexes of a shard, or of ports, whose number comes
	// after those of shards.
	wordsLine struct {
		Words string   `json:"words"`
		Shard int      `json:"shard"`
		Home  int      `json:"home,omitempty"` // of the shard; 0 is the first
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
		Homes    int          `json:"homes,omitempty"`   // besides the first
		Drawing  int          `json:"drawing,omitempty"` // the home that it draws from
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

// MarshalJSON writes the handle as lines have it.
func (h handleText) MarshalJSON() ([]byte, error) { return appendHandle(nil, handle.Handle(h)), nil }

// UnmarshalJSON reads what MarshalJSON writes. An error ends the import.
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

// ofThisMachine checks that the layout of numbers and handles is the one of this program. The error
// is ErrOtherWorld.
func ofThisMachine(saved []format.Setting) error {
	own := format.Settings(&format.Info{Layout: world.Layout{HomeBits: handle.HomeBits, IndexBits: handle.IndexBits, VersionBits: handle.VersionBits}})
	for i := range format.OfMachine {
		if s := &own[i]; s.Value != saved[i].Value {
			return format.OtherWorld("%s: it was saved with %d, and this program has %d; use one that is built for that", s.Name, saved[i].Value, s.Value)
		}
	}
	return nil
}

// What follows has the words of JSON: how numbers, texts, bytes and handles are written and read.

// decodeText reads one JSON value.
func decodeText(text []byte) (v any, err error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	err = d.Decode(&v)
	return v, err
}

// appendName appends the name of the i-th field of an object.
func appendName(dst []byte, name string, i int) []byte {
	if i > 0 {
		dst = append(dst, ',')
	}
	return append(appendString(dst, name), ':')
}

// wholeMost is the largest integer that is written as a number. Floats of 64 bits hold all up to
// it, and so do all JSON tools.
const wholeMost = 1 << 53

// appendWhole appends an integer, as text if it is large.
func appendWhole(dst []byte, n uint64, signed bool) []byte {
	quoted := n > wholeMost
	if signed {
		quoted = int64(n) > wholeMost || int64(n) < -wholeMost
	}
	if quoted {
		dst = append(dst, '"')
	}
	if signed {
		dst = strconv.AppendInt(dst, int64(n), 10)
	} else {
		dst = strconv.AppendUint(dst, n, 10)
	}
	if quoted {
		dst = append(dst, '"')
	}
	return dst
}

// appendNumber appends a bool, an integer, a float or a handle to a line, by its bits.
func appendNumber(dst []byte, bits uint64, s *shape.Shape) []byte {
	switch {
	case s.Kind == reflect.Bool:
		return strconv.AppendBool(dst, bits != 0)
	case shape.IsFloat(s.Kind):
		return appendFloat(dst, bits, s.Size)
	case s.Handle:
		return appendHandle(dst, handle.Handle(bits))
	}
	return appendWhole(dst, bits, s.Kind <= reflect.Int64)
}

// appendHandle appends a handle as text, or as a number if it is not a valid handle.
func appendHandle(dst []byte, h handle.Handle) []byte {
	if text, err := h.AppendText(append(dst, '"')); err == nil {
		return append(text, '"')
	}
	return appendWhole(dst, uint64(h), false)
}

// notANumber is Go's NaN. Others are written by their bits.
var notANumber = map[int]uint64{4: uint64(math.Float32bits(float32(math.NaN()))), 8: math.Float64bits(math.NaN())}

// floatOf returns the float of 4 or 8 bytes that has some bits.
func floatOf(bits uint64, size int) float64 {
	if size == 4 {
		return float64(math.Float32frombits(uint32(bits)))
	}
	return math.Float64frombits(bits)
}

// appendFloat appends a float of 4 or 8 bytes to a line, as text if JSON has no number for it.
func appendFloat(dst []byte, bits uint64, size int) []byte {
	f := floatOf(bits, size)
	switch {
	case math.IsNaN(f) && bits != notANumber[size]:
		return fmt.Appendf(dst, `"NaN %#x"`, bits)
	case math.IsNaN(f), math.IsInf(f, 0):
		return append(strconv.AppendFloat(append(dst, '"'), f, 'g', -1, 64), '"')
	}
	format := byte('f')
	if a := math.Abs(f); a != 0 && (a < 1e-6 || a >= 1e21) {
		format = 'e'
	}
	return strconv.AppendFloat(dst, f, format, -1, size*8)
}

// appendString appends a valid UTF-8 string to a line, in quotes.
func appendString(dst []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			quoted := new(strings.Builder)
			e := json.NewEncoder(quoted)
			e.SetEscapeHTML(false)
			_ = e.Encode(s) // of a text
			return append(dst, strings.TrimSuffix(quoted.String(), "\n")...)
		}
	}
	return append(append(append(dst, '"'), s...), '"')
}

// appendText appends a string, which need not be UTF-8.
func appendText(dst, bytes []byte) []byte {
	if utf8.Valid(bytes) {
		return appendString(dst, string(bytes))
	}
	return append(append64(append(dst, `{"base64":`...), bytes), '}')
}

// appendBytes is appendText for bytes. They are text only if they are letters and the like.
func appendBytes(dst, bytes []byte) []byte {
	for _, c := range bytes {
		if c < ' ' || c == 0x7f {
			return append(append64(append(dst, `{"base64":`...), bytes), '}')
		}
	}
	return appendText(dst, bytes)
}

// append64 appends bytes as base64, in quotes.
func append64(dst, bytes []byte) []byte {
	return append(base64.StdEncoding.AppendEncode(append(dst, '"'), bytes), '"')
}

var errMissing = errors.New("it is missing: write it as a value, 0 for nothing")

// unknown returns an error for a name that is not among the known ones, or nil.
func unknown(all map[string]any, known []string) error {
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if !slices.Contains(known, name) {
			return inField(name, fmt.Errorf("there is no such field; there are %q", known))
		}
	}
	return nil
}

// fieldError is an error with the path of its field.
type fieldError struct {
	path string
	err  error
}

// Error returns the path and the error.
func (f *fieldError) Error() string { return f.path + ": " + f.err.Error() }

// Unwrap returns the error without the path.
func (f *fieldError) Unwrap() error { return f.err }

// inField puts a name in front of the path of an error.
func inField(name string, err error) error {
	if name == "" || err == nil {
		return err
	}
	if e, ok := err.(*fieldError); ok {
		if !strings.HasPrefix(e.path, "[") {
			name += "."
		}
		return &fieldError{name + e.path, e.err}
	}
	return &fieldError{name, err}
}

// objectOf returns the fields of a JSON object, or an error if v is none.
func objectOf(v any) (map[string]any, error) {
	all, ok := v.(map[string]any)
	if !ok {
		return nil, wants("an object", v)
	}
	return all, nil
}

// listOf returns the elements of a JSON list, which must have n of them, or with 0 any number.
// Otherwise it returns an error.
func listOf(v any, n int) ([]any, error) {
	all, ok := v.([]any)
	switch {
	case !ok:
		return nil, wants("a list", v)
	case n > 0 && len(all) != n:
		return nil, fmt.Errorf("it has %d elements, want %d", len(all), n)
	}
	return all, nil
}

// inElement puts the number of an element in front of the path of an error.
func inElement(i int, err error) error {
	if err == nil {
		return nil
	}
	return inField(fmt.Sprintf("[%d]", i), err)
}

// shownOf is how much of a wrong value an error shows.
const shownOf = 60

// wants returns an error that shows a value, and says what it should be.
func wants(what string, v any) error {
	text, _ := json.Marshal(v) // of JSON
	if len(text) > shownOf {
		text = append(text[:shownOf:shownOf], "…"...)
	}
	return fmt.Errorf("%s is no %s", text, strings.TrimPrefix(strings.TrimPrefix(what, "a "), "an "))
}

// parseNumber reads the bits of a bool, an integer, a float or a handle. An error says what is
// wrong with it.
func parseNumber(v any, s *shape.Shape) (bits uint64, err error) {
	switch is, ok := v.(bool); {
	case shape.IsFloat(s.Kind):
		return parseFloat(v, shape.SizeOf(s.Kind))
	case s.Kind != reflect.Bool:
		return parseWhole(v, s)
	case !ok:
		return 0, wants("a bool: write true or false", v)
	case is:
		bits = 1
	}
	return bits, nil
}

// parseWhole reads an integer of a kind, or a handle, from JSON. An error says what is wrong with
// it.
func parseWhole(v any, s *shape.Shape) (n uint64, err error) {
	text, ok := v.(string)
	if number, is := v.(json.Number); is {
		text, ok = number.String(), true
	}
	if !ok {
		return 0, wants("a number", v)
	}
	if s.Handle && (strings.Contains(text, ":") || text == handle.None.String()) {
		h, err := handle.Parse(text)
		return uint64(h), err
	}
	if width := shape.SizeOf(s.Kind) * 8; s.Kind <= reflect.Int64 {
		var signed int64
		signed, err = strconv.ParseInt(text, 10, width)
		n = uint64(signed)
	} else {
		n, err = strconv.ParseUint(text, 10, width)
	}
	switch {
	case errors.Is(err, strconv.ErrRange):
		return 0, fmt.Errorf("%s does not fit in %s", text, s.Kind)
	case err != nil && s.Handle:
		return 0, wants("a handle, as in 3:1047@5 or none", v)
	case err != nil:
		return 0, wants("a whole number of type "+s.Kind.String(), v)
	}
	return n, nil
}

// parseFloat reads the bits of a float from JSON. An error says what is wrong with it.
func parseFloat(v any, size int) (bits uint64, err error) {
	text, ok := v.(string)
	if number, is := v.(json.Number); is {
		text, ok = number.String(), true
	} else if digits, is := strings.CutPrefix(text, "NaN 0x"); is {
		bits, err = strconv.ParseUint(digits, 16, size*8)
		if err != nil || !math.IsNaN(floatOf(bits, size)) {
			return 0, wants("a NaN", v)
		}
		return bits, nil
	}
	if !ok {
		return 0, wants("a number", v)
	}
	f, err := strconv.ParseFloat(text, size*8)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return 0, fmt.Errorf("%s does not fit in float%d", text, size*8)
	case err != nil:
		return 0, wants("a number", v)
	case math.IsNaN(f):
		return notANumber[size], nil
	case size == 4:
		return uint64(math.Float32bits(float32(f))), nil
	}
	return math.Float64bits(f), nil
}

// parseText appends what appendText wrote. An error says what is wanted.
func parseText(dst []byte, v any) ([]byte, error) {
	switch v := v.(type) {
	case string:
		return append(dst, v...), nil
	case map[string]any:
		if coded, ok := v["base64"].(string); ok && len(v) == 1 {
			return parse64(dst, coded)
		}
	}
	return nil, wants(`a text, or {"base64":"…"}`, v)
}

// textIn appends the text that a line has as JSON. An error says what is wanted.
func textIn(dst []byte, text json.RawMessage) ([]byte, error) {
	v, err := decodeText(text)
	if err != nil {
		return nil, err
	}
	return parseText(dst, v)
}

// parse64 appends the bytes that base64 stands for, or returns an error.
func parse64(dst []byte, coded string) ([]byte, error) {
	dst, err := base64.StdEncoding.Strict().AppendDecode(dst, []byte(coded))
	if err != nil {
		return nil, fmt.Errorf("it is no base64: %w", err)
	}
	return dst, nil
}
