package wheel

// ID names an entry that is set; 0 names none. When the entry is gone, its ID is not given to
// another until its place was used 268 million times.
type ID uint64

// An ID has the home of an entry, its index there, and the generation of that.
const (
	generationBits = 28
	generationMost = 1<<generationBits - 1
	indexBits      = 24
)

// idOf makes the ID of an entry, from its place and generation.
func idOf(home, index int, generation uint32) ID {
	return ID(home)<<(indexBits+generationBits) | ID(index)<<generationBits | ID(generation)
}

// Home returns the home, and Index the index, whether or not they exist.
func (id ID) Home() int  { return int(id >> (indexBits + generationBits)) }
func (id ID) Index() int { return int(id>>generationBits) & (1<<indexBits - 1) }

// generation returns the generation of the entry that has the ID.
func (id ID) generation() uint32 { return uint32(id) & generationMost }
