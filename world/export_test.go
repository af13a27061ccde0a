package world

// Enter makes somebody use a shard.
func (w *World) Enter(shard int, who string) (leave func()) {
	w.shards[shard].Enter(who)
	return w.shards[shard].Leave
}
