package world_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/world"
)

// TestMisuseNil passes nil where somebody or something is wanted.
func TestMisuseNil(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 2})
	h := f.newUnit(1)
	health := world.Read[Health](f.World)
	holder := []string{"by a nil Actor", "pass a *World, *Context, *EntityContext, *Tx or *Port"}
	build := func(use func(b *world.Build)) func() {
		return func() { use((*world.Build)(engine.Of(f.World).NewBuild(0, "careless"))) }
	}
	for name, test := range map[string]struct {
		run  func()
		says []string
	}{
		"New world of a component": {func() { world.Register[Unknown](nil, "x") }, []string{"Register in a nil World", "world.New"}},
		"world of a message":       {func() { world.RegisterMessage[Unknown](nil, "x") }, []string{"RegisterMessage in a nil World", "world.New"}},
		"world of a bundle":        {func() { world.NewBundle[Unit](nil) }, []string{"NewBundle in a nil World", "world.New"}},
		"asker of a reader":        {func() { world.Read[Health](nil) }, []string{"world.Read is asked of nil", "a *Build in a system's constructor, or a *World"}},
		"asker of a writer":        {func() { world.Write[Health](nil) }, []string{"world.Write is asked of nil"}},
		"asker of a filter":        {func() { world.With[Health](nil) }, []string{"world.With is asked of nil"}},
		"asker of another":         {func() { world.Without[Health](nil) }, []string{"world.Without is asked of nil"}},
		"build of a foreign reader": {func() { world.ReadForeign[Health](nil) },
			[]string{"world.ReadForeign of a nil Build", "a system's constructor is given"}},
		"build of a receiver": {func() { world.Receive[Hit](nil) }, []string{"world.Receive of a nil Build", "a system's constructor is given"}},
		"holder that creates": {func() { _, _ = f.unit.Create(nil, Unit{}) }, append(holder, `bundle "world_test.Unit"`)},
		"holder that sets":    {func() { _ = f.health.Set(nil, h, Health{}) }, append(holder, `component "health"`)},
		"holder that adds":    {func() { _ = f.name.Add(nil, h, Name{}) }, append(holder, `component "name"`)},
		"holder that removes": {func() { _ = f.name.Remove(nil, h) }, append(holder, `component "name"`)},
		"holder of a bundle":  {func() { _ = f.mover.Add(nil, h, Mover{}) }, append(holder, `bundle "world_test.Mover"`)},
		"holder that sends":   {func() { _ = f.hit.Send(nil, h, Hit{}) }, append(holder, `message "hit"`)},
		"component of Has":    {func() { f.Has(h, nil) }, []string{"World.Has: part 0 is nil", "pass a *Component"}},
		"part of Add": {func() { _ = f.mover.Add(f.World, h, Mover{}, f.health, nil) },
			[]string{"Add: part 1 is nil", "pass a *Component or a *Bundle"}},
		"part of AddTo":     {func() { _ = f.mover.AddTo(f.Query(), nil, nil) }, []string{"AddTo: part 0 is nil", "pass a *Component"}},
		"part of Remove":    {func() { _ = f.Query().Remove(nil) }, []string{"Query.Remove: part 0 is nil", "pass a *Component"}},
		"part of Creates":   {build(func(b *world.Build) { b.Creates(nil) }), []string{"Build.Creates: part 0 is nil", "pass a *Component or a *Bundle"}},
		"query of AddTo":    {func() { _ = f.name.AddTo(nil, nil) }, []string{"AddTo of a nil Query", "ask the World for one"}},
		"query of a bundle": {func() { _ = (*world.Query)(nil).Remove(f.mover) }, []string{"Remove of a nil Query", "ask the World for one"}},
		"term":              {func() { f.Query(health, nil) }, []string{"World.Query: term 1 is nil", "pass accessors, With"}},
		"accessor":          {func() { f.Query((*world.Reader[Health])(nil)) }, []string{"term 0 is a nil *world.Reader", "world.Read or world.Write"}},
		"term of Optional":  {func() { world.Optional(nil) }, []string{"Optional takes a Reader or a Writer"}},
		"term of AnyOf":     {func() { world.AnyOf(health, nil) }, []string{"AnyOf takes one or more of Reader, Writer and With"}},
	} {
		t.Run(name, func(t *testing.T) { mustPanic(t, test.says, test.run) })
	}
	t.Run("what may be nil", func(t *testing.T) {
		f.unit.PlaceBy(nil)
		require.NoError(t, f.unit.CreateN(f.World, 1, nil))
		require.NoError(t, f.unit.CreateRows(f.World, 1, func(world.Chunk) {}))
		require.NoError(t, f.name.AddTo(f.Query(), nil))
		require.NoError(t, f.mover.AddTo(f.Query(), nil))
		require.NoError(t, f.unit.AddTo(f.Query(), nil))
		_, err := f.unit.AppendN(nil, f.World, 1, nil)
		require.NoError(t, err)
		require.Zero(t, *world.Read[Health](f.World).Get(firstOf(f.Query(health))), "nobody has filled it in")
	})
}

func firstOf(q *world.Query) handle.Handle {
	all := chosen(q)
	return all[len(all)-1]
}

// TestMisuseQuery makes queries of what does not go together.
func TestMisuseQuery(t *testing.T) {
	f, other := newFixture(t, world.Options{Shards: 2}), newFixture(t, world.Options{})
	health, velocity := world.Read[Health](f.World), world.Write[Velocity](f.World)
	b, c := (*world.Build)(engine.Of(f.World).NewBuild(0, "one")), (*world.Build)(engine.Of(f.World).NewBuild(1, "two"))
	elsewhere := []string{"ask for all terms where the query is asked for"}
	for name, test := range map[string]struct {
		run  func()
		says []string
	}{
		"accessor of another world": {func() { f.Query(health, world.Read[Position](other.World)) },
			append(elsewhere, "World.Query: the term of world_test.Position was asked of another world")},
		"writer of another world": {func() { f.Query(world.Write[Position](other.World)) },
			append(elsewhere, "the term of world_test.Position was asked of another world")},
		"filter of another world": {func() { f.Query(health, world.Without[Position](other.World)) },
			append(elsewhere, "the term of world_test.Position was asked of another world")},
		"optional of another world": {func() { f.Query(world.Optional(world.Read[Position](other.World))) },
			append(elsewhere, "the term of world_test.Position was asked of another world")},
		"any of another world": {func() { f.Query(world.AnyOf(world.With[Name](other.World), world.Read[Position](other.World))) },
			append(elsewhere, "the term of world_test.Name or world_test.Position was asked of another world")},
		"any of two worlds": {func() { world.AnyOf(health, world.Read[Position](other.World)) },
			[]string{"AnyOf: the terms of world_test.Health and world_test.Position were asked of different worlds or Builds", "ask all of the same"}},
		"accessor of the World in a system": {func() { b.Query(health) },
			append(elsewhere, `system "one", Build.Query: the term of world_test.Health was asked of the World`)},
		"accessor of a system in the World": {func() { f.Query(world.Read[Health](b)) },
			append(elsewhere, "World.Query: the term of world_test.Health was asked of a Build of shard 0")},
		"accessor of another shard": {func() { c.Query(world.Read[Health](b)) },
			append(elsewhere, `system "two", Build.Query: the term of world_test.Health was asked of a Build of shard 0`)},
		"component twice": {func() { f.Query(health, world.With[Health](f.World)) }, []string{`component "health" is named twice`, "name it once"}},
		"twice by AnyOf":  {func() { world.AnyOf(health, world.With[Health](f.World)) }, []string{"component world_test.Health is named twice", "name it once"}},
		"by AnyOf and else": {func() { f.Query(velocity, world.AnyOf(health, world.With[Velocity](f.World))) },
			[]string{`component "velocity" is named twice`, "name it once"}},
		"Optional of a filter":   {func() { world.Optional(world.With[Health](f.World)) }, []string{"Optional takes a Reader or a Writer"}},
		"Optional of Optional":   {func() { world.Optional(world.Optional(health)) }, []string{"Optional takes a Reader or a Writer"}},
		"AnyOf of Without":       {func() { world.AnyOf(health, world.Without[Name](f.World)) }, []string{"AnyOf takes one or more of Reader, Writer and With"}},
		"AnyOf of AnyOf":         {func() { world.AnyOf(world.AnyOf(health)) }, []string{"AnyOf takes one or more of Reader, Writer and With"}},
		"negative limit":         {func() { f.Query().Limit(-1) }, []string{"Query.Limit of -1", "want 0 or more"}},
		"batch of a system":      {func() { _ = f.name.AddTo(b.Query(), nil) }, []string{"AddTo of a Query of a system", "for a query asked of an idle World"}},
		"destroying of a system": {func() { b.Query().Destroy() }, []string{"Query.Destroy of a Query of a system", "for a query asked of an idle World"}},
		"batch of another world": {func() { _ = other.name.AddTo(f.Query(), nil) }, []string{`component "name" belongs to another world`, "that world's own"}},
		"bundle of another world": {func() { _ = other.mover.AddTo(f.Query(), nil) },
			[]string{"bundle \"world_test.Mover\" belongs to another world", "that world's own"}},
		"parts of another world": {func() { _ = f.Query().Remove(f.name, other.health) }, []string{`component "health" belongs to another world`, "that world's own"}},
		"exchange of another world": {func() { _ = f.mover.AddTo(f.Query(), nil, other.unit) },
			[]string{"bundle \"world_test.Unit\" belongs to another world", "that world's own"}},
		"build after its end": {func() {
			b := (*world.Build)(engine.Of(f.World).NewBuild(0, "late"))
			(*engine.Build)(b).Finish()
			b.Query()
		}, []string{`system "late" calls Build.Query after its constructor returned`, "ask for all access within it"}},
		"end without a tick": {func() { tick := engine.Of(f.World).BeginTick(); tick.End(serial); tick.End(serial) }, []string{"the end of a tick that is over", "end each tick once"}},
		"message name twice": {func() { world.RegisterMessage[Unknown](f.World, "hit") }, []string{`message name "hit" is taken by world_test.Hit`, "pass another"}},
	} {
		t.Run(name, func(t *testing.T) { mustPanic(t, test.says, test.run) })
	}
}

// TestMisuseLimits goes beyond each limit that has a name: an error says which,
// or a panic where nothing could be done about it.
func TestMisuseLimits(t *testing.T) {
	type Big struct{ Bytes [2000]byte }
	for name, o := range map[string]world.Options{
		"Shards": {Shards: handle.HomeMax + 1}, "IndexMax": {IndexMax: handle.IndexMax + 1}, "VersionMax": {VersionMax: handle.VersionMax + 1},
		"PortsMax": {PortsMax: -1}, "QueueRequests": {QueueRequests: -1}, "QueueBytes": {QueueBytes: -1},
		"OutboxRequests": {OutboxRequests: 1<<24 + 1}, "OutboxBytes": {OutboxBytes: -5}, "TickInterval": {TickInterval: -1},
	} {
		_, err := world.New(o)
		require.ErrorContains(t, err, "world: "+name+" is ")
		require.ErrorContains(t, err, "want ")
		mustPanic(t, []string{name + " is", "want"}, func() { world.MustNew(o) })
	}
	f := newFixture(t, world.Options{Shards: 2, QueueBytes: 1000, OutboxBytes: 1000, PortsMax: 1})
	big := world.Register[Big](f.World, "big")
	h := f.newUnit(1)
	p := f.port()
	err := big.Set(p, h, Big{})
	require.ErrorIs(t, err, world.ErrFull)
	require.ErrorContains(t, err, "too large for any queue, even an empty one; send less at a time, or raise QueueRequests or QueueBytes")
	f.during("sender", 1-int(h.Home()), func(c *world.Context) {
		err := big.Set(c, h, Big{})
		require.ErrorIs(t, err, world.ErrFull)
		require.ErrorContains(t, err, "OutboxBytes")
	})
	_, err = f.OpenPort()
	require.ErrorIs(t, err, world.ErrPorts)
	require.ErrorContains(t, err, "PortsMax is 1; close ports or raise it")
}
