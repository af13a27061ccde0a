package names_test

import (
	"fmt"

	"github.com/atoll-sim/atoll/ext/names"
	"github.com/atoll-sim/atoll/world"
)

// Two players want the same name for their new characters; the first gets it. When
// the character dies, its name is free.
func ExampleNames() {
	type Level struct{ Number int }
	type Character struct{ Level }
	w := world.MustNew(world.Options{})
	world.Register[Level](w, "level")
	characters := world.NewBundle[Character](w)
	called := names.New[string](w, "characters", names.Options{})

	first, _ := w.OpenPort()
	second, _ := w.OpenPort()
	var done world.Completion
	ann, _ := characters.Create(first, Character{})
	_ = called.Bind(first, ann, "Ann")
	other, _ := characters.Create(second, Character{})
	_ = called.Bind(second.Notify(&done), other, "Ann")
	w.Refresh()

	h, ok := called.Lookup("Ann")
	fmt.Println(h == ann, ok, "second:", done.Outcome())
	for _, refused := range called.Conflicts() {
		fmt.Println(refused.Name, "is", refused.Holder == ann)
	}

	w.Destroy(ann)
	w.Refresh()
	_, ok = called.Lookup("Ann")
	fmt.Println(ok)
	// Output:
	// true true second: refused
	// Ann is true
	// false
}

// Accounts of a database by their number, which need not be dense.
func ExampleNames_NameOf() {
	type Account uint64
	type Gold struct{ Coins int }
	type Player struct{ Gold }
	w := world.MustNew(world.Options{})
	world.Register[Gold](w, "gold")
	players := world.NewBundle[Player](w)
	accounts := names.New[Account](w, "accounts", names.Options{})

	h, _ := players.Create(w, Player{})
	_ = accounts.Bind(w, h, 4_000_000_017)
	account, ok := accounts.NameOf(h)
	fmt.Println(account, ok)
	fmt.Println(accounts.Bind(w, h, 12), accounts.Len()) // a new number instead
	for h, account := range accounts.All() {
		fmt.Println(h, account)
	}
	// Output:
	// 4000000017 true
	// <nil> 1
	// 0:0@1 12
}

// A world has as many kinds of names as it likes, each with its limits.
func ExampleNew() {
	w := world.MustNew(world.Options{})
	characters := names.New[string](w, "characters", names.Options{LengthMax: 5})
	accounts := names.New[uint64](w, "accounts", names.Options{})
	h, _ := world.NewBundle[struct{}](w).Create(w, struct{}{})

	fmt.Println(characters.Bind(w, h, "Annabel"))
	fmt.Println(characters.Bind(w, h, "Ann"), accounts.Bind(w, h, 17))
	// Output:
	// names: name is longer than LengthMax, which is 5 of "characters"
	// <nil> <nil>
}

// A frame has the names as they were.
func ExampleReader() {
	type Level struct{ Number int }
	type Character struct{ Level }
	w := world.MustNew(world.Options{})
	world.Register[Level](w, "level")
	ann, _ := world.NewBundle[Character](w).Create(w, Character{})
	called := names.New[string](w, "characters", names.Options{})
	_ = called.Bind(w, ann, "Ann")

	view, _ := w.NewView(called)
	frame, _ := view.Now()
	_ = called.Bind(w, ann, "Anna")
	was := called.Read(frame) // for any goroutine, until frame.Release
	h, ok := was.Lookup("Ann")
	fmt.Println(h == ann, ok, was.Len())
	fmt.Println(called.NameOf(ann))
	// Output:
	// true true 1
	// Anna true
}

// What two frames differ in is found without looking at all names.
func ExampleReader_Diff() {
	w := world.MustNew(world.Options{})
	all, _ := world.NewBundle[struct{}](w).AppendN(nil, w, 2, nil)
	called := names.New[string](w, "characters", names.Options{})
	_ = called.Bind(w, all[0], "Ann")

	view, _ := w.NewView(called)
	before, _ := view.Now()
	defer before.Release()
	_ = called.Bind(w, all[0], "Anna")
	_ = called.Bind(w, all[1], "Bob")
	after, _ := view.Now()
	defer after.Release()
	for _, x := range called.Read(after).Diff(called.Read(before)) {
		fmt.Printf("%q %v, %q %v\n", x.From, x.Was, x.To, x.Is)
	}
	// Output:
	// "Ann" true, "Anna" true
	// "" false, "Bob" true
}
