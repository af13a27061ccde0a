package world

// Pin keeps entities that have any of the components in their shard when shards are balanced. Pin a
// component that only these entities have: a bundle pins all entities with any of its components.
// Move can still move them. A load of a snapshot keeps the pins of components that the snapshot does
// not have. For the others what was saved holds, so pin again after the load, as in
// durable.Options.Upgrade.
func (w *World) Pin(components ...ComponentSet) {
	w.mustIdle("World.Pin")
	w.touched = true
	w.engine.Pinned = w.engine.Pinned.Union(w.setOf("World.Pin", components))
}
