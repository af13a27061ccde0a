package extend

// Framed is an Extension or a Derived that frames can have a copy of, as it was at their refresh.
//
// Ownership: as for Extension; the capture step of the refresh calls, or the idle world.
type Framed interface {
	// Changed reports whether readers may see a difference from the newest copy.
	Changed() bool
	// CopySize returns how many bytes a new copy takes, about.
	CopySize() uint64
	// Copy begins a copy. old is nil or a copy that nobody reads any more, whose memory is used
	// again. Copy returns the number of parts that the copying is divided into, and its bytes.
	// Nothing changes until all parts are done.
	Copy(old Copy) (c Copy, parts, bytes int)
	// Forget says that no copy is needed for a while, and that no old copy will be passed to Copy.
	Forget()
}

// Copy is a frame's copy of an extension. It must not keep the world in memory.
//
// Ownership: Part, by any goroutine, does one part of the copying. After that nobody writes.
type Copy interface {
	Part(i int)
	// Bytes returns the memory that the copy takes.
	Bytes() uint64
}

// Runs are pieces of memory to be copied, in parts of about the same size.
type Runs[T any] struct {
	runs  []run[T]
	ends  []int // of the parts
	begun int   // how many elements are in the parts
	size  int   // and in all pieces
}

// run is a piece of memory and where it goes.
type run[T any] struct{ to, from []T }

// runsEach is about how many elements a part has: 256 KB of words.
const runsEach = 1 << 15

// Reset begins new runs.
func (r *Runs[T]) Reset() { r.runs, r.ends, r.begun, r.size = r.runs[:0], r.ends[:0], 0, 0 }

// Add adds a piece of memory to copy, before Parts is called. Nothing is copied yet.
func (r *Runs[T]) Add(to, from []T) {
	for len(from) > 0 {
		n := min(len(from), runsEach)
		r.runs = append(r.runs, run[T]{to[:n], from[:n]})
		if r.size += n; r.size-r.begun >= runsEach {
			r.ends, r.begun = append(r.ends, len(r.runs)), r.size
		}
		to, from = to[n:], from[n:]
	}
}

// Parts returns how many parts there are, and how many elements are in them. Nothing may be added
// after it.
func (r *Runs[T]) Parts() (parts, size int) {
	if r.begun < r.size {
		r.ends, r.begun = append(r.ends, len(r.runs)), r.size
	}
	return len(r.ends), r.size
}

// Part copies one part, and forgets its source. Any goroutine may copy a part.
func (r *Runs[T]) Part(i int) {
	from := 0
	if i > 0 {
		from = r.ends[i-1]
	}
	part := r.runs[from:r.ends[i]]
	for _, x := range part {
		copy(x.to, x.from)
	}
	clear(part)
}
