package misuse_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestMisuseComplete holds the table against what the packages export: each function and
// method is in it, or is left out for a reason.
func TestMisuseComplete(t *testing.T) {
	inTable := map[string]bool{}
	for _, s := range misuseSections {
		for _, row := range s.rows {
			name, _, _ := strings.Cut(row.call, " ")
			name = strings.TrimSuffix(name, ",")
			inTable[name] = true
		}
	}
	leftOut := map[string]bool{}
	for _, names := range misuseLeftOut {
		for name := range strings.FieldsSeq(names) {
			require.False(t, leftOut[name], "%s is left out twice", name)
			leftOut[name] = true
		}
	}
	exported := map[string]bool{}
	for _, pkg := range []string{"world", "scheduler", "ext/reference", "ext/names", "ext/hierarchy", "ext/timer", "ext/async", "ext/near", "ext/prefab", "ext/interest", "ext/transit", "ext/transit/link", "inspect", "ext/region", "persist/state", "persist/inputlog", "persist/snapshot", "persist/snapshot/text", "persist/durable"} {
		addExported(t, exported, pkg)
	}
	unknown := maps.Clone(leftOut)
	for _, name := range slices.Sorted(maps.Keys(exported)) {
		_, short, _ := strings.Cut(name, ":")
		if inTable[short] == leftOut[short] {
			t.Errorf("%s is in the table: %v, left out: %v; want one of them", name, inTable[short], leftOut[short])
		}
		delete(unknown, short) // several packages may have one of that name
	}
	require.Empty(t, unknown, "is exported by no package")
}

// addExported adds the functions and methods that a package exports.
func addExported(t *testing.T, to map[string]bool, pkg string) {
	files, err := filepath.Glob("../../" + pkg + "/*.go")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	pkg = path.Base(pkg)
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		require.NoError(t, err)
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || !fn.Name.IsExported() || slices.Contains(plainMethods, fn.Name.Name) {
				continue
			}
			name := fn.Name.Name
			if fn.Recv != nil {
				on := fn.Recv.List[0].Type
				for {
					switch x := on.(type) {
					case *ast.StarExpr:
						on = x.X
						continue
					case *ast.IndexExpr:
						on = x.X
						continue
					case *ast.IndexListExpr:
						on = x.X
						continue
					}
					break
				}
				if !ast.IsExported(on.(*ast.Ident).Name) {
					continue
				}
				name = on.(*ast.Ident).Name + "." + name
			} else if pkg != "world" {
				name = pkg + "." + name
			}
			to[pkg+":"+name] = true
		}
	}
}

// plainMethods are those of values that belong to who has them.
var plainMethods = []string{"Error", "LogValue", "MarshalJSON", "MarshalText", "String", "Unwrap", "UnmarshalJSON", "UnmarshalText", "Name"}

// misuseLeftOut are the calls that the table does not have, by the reason.
var misuseLeftOut = map[string]string{
	"make what is used later, or belong to no world": `New MustNew scheduler.After scheduler.Before scheduler.Disabled scheduler.Every scheduler.Optional scheduler.SkipOptional scheduler.Stretch scheduler.Refuse scheduler.Slow scheduler.Global
		scheduler.IfPanics scheduler.In scheduler.Level scheduler.When AnyOf Optional Query.Limit inputlog.Open snapshot.Inspect snapshot.ReadPiece Piece.Bytes Piece.Handles Piece.Len snapshot.Verify snapshot.PlanFiles text.Compare snapshot.Merge text.Export text.Import Comparison.Equal Plan.Blocking Log.SetContent Log.Unlike Log.Empty Log.AcceptOther Player.Differences snapshot.Renamed snapshot.RenamedField snapshot.Dropped snapshot.Migrated interest.Encode Dir.Newest Dir.Open state.NewHasher state.Register state.RegisterEnum
		prefab.With prefab.Child prefab.Extends prefab.In prefab.For prefab.Local region.Divide Memory.SizeNeeded Hasher.Add transit.RefOf transit.ParseRef Ref.World Ref.Handle Ref.AppendText Ref.AppendBinary Ref.MarshalBinary Ref.UnmarshalBinary link.Named link.NewClient link.NewServer Server.Add Server.Remove`,
	"is Add, and panics with its error":                                        "Scheduler.MustAdd",
	"are snapshot.Write and Load, with a file":                                 "Dir.Save Dir.Load",
	"are of what snapshot.Capture or Insert returned, which looks at the time": "Inserted.All Inserted.Handle Inserted.Len Captured.Hash Captured.Release Captured.Write Chain.Write Dir.SaveCaptured",
	"tell what does not change": `World.Incarnation Relation.Options Names.Options Timers.Options Roads.Options Roads.World Roads.Ref Index.Options Index.Cell Index.Where Prefab.Entity Prefab.Len Grid.AppendNeighbours Grid.Corner Grid.Options Grid.Regions Grid.Shard Grid.Side
		Build.Shard Build.Shards Log.Note Log.Program Log.Tick inputlog.ThisProgram Player.Ticks Player.Err Recorder.Err Schedule.DOT 
		`,
	"are for any goroutine at any time": `Owner.Alive Owner.Handle Owner.Shares Owner.Weak Weak.Alive Weak.Clear Weak.Equal
		Completion.Done Completion.Outcome Answer.Value Frame.Alive Frame.Count Frame.Diff Frame.Flags Frame.Has Frame.Locate Frame.Owner
		Frame.Query Frame.Release Frame.Tick Diff.Changed Reader.Diff
		Packet.AppendTo Clients.Open Clients.Update Client.Ack Client.Change Client.User Client.Close Client.Lost Client.Options`,
	"wait for a refresh: within a tick they must not be called":                  `View.Capture Clients.Run transit.Carry transit.Cut Client.Carry`,
	"are of a Store, which package durable tests":                                `durable.Follow durable.Open durable.Plan Store.Close Store.Durable Store.Err Store.Follow Store.Recovered Store.Save Store.Wait`,
	"is for any goroutine at any time, and waits for what runs":                  "Pool.Close",
	"is of what Prefab.CreateN gives out, for the time of its function":          "Instance.Set",
	"are of an Inspector, for any goroutine at any time, and wait for the world": `inspect.New Inspector.Close Inspector.ListenAndServe Inspector.Serve Inspector.ServeHTTP`,
	"are of a link, for any goroutine at any time":                               `Client.Err Server.Serve`,
	"is a system": "Grid.System",
	"are of what Log.Play returned, which looks at the time":          "Player.Close Player.Left Player.Make Player.Next Player.Then Player.Verify",
	"are look-ups of a few nanoseconds, unchecked in a release build": `Writer.At ResourceReader.Get`,
}
