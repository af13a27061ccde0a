package realm

// Kind is what an entity is.
type Kind uint8

// The kinds of entities. The zero Kind is nothing.
const (
	Nothing Kind = iota
	Creatures
	Items
	Avatars
	Dens  // one for each island: where rumours arrive
	kinds // how many there are, with the zero Kind
)

// AllKinds lists the kinds in order.
var AllKinds = []Kind{Creatures, Items, Avatars, Dens}

// String returns the kind in the plural.
func (k Kind) String() string {
	if k >= kinds {
		return "unknown"
	}
	return [...]string{"nothing", "creatures", "items", "avatars", "dens"}[k]
}

// One returns the kind in the singular.
func (k Kind) One() string {
	if k >= kinds {
		return "unknown"
	}
	return [...]string{"nothing", "creature", "item", "avatar", "den"}[k]
}
