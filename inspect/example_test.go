package inspect_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/atoll-sim/atoll/inspect"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// A world is mounted in a server, and asked for entities.
func ExampleNew() {
	w := world.MustNew(world.Options{Shards: 1})
	world.Register[Health](w, "Health")
	units := world.NewBundle[struct{ Health }](w)
	for hp := range 100 {
		if _, err := units.Create(w, struct{ Health }{Health{HP: hp}}); err != nil {
			panic(err)
		}
	}
	s := scheduler.New(w, scheduler.Options{})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()

	x, err := inspect.New(s, inspect.Options{Name: "zone 3"})
	if err != nil {
		panic(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/inspect/", http.StripPrefix("/inspect", x))

	r := httptest.NewRequest(http.MethodGet, "http://localhost/inspect/api/query?q=Health.HP+%3C+20&limit=1", nil)
	r.RemoteAddr = "127.0.0.1:50000" // this machine
	answer := httptest.NewRecorder()
	mux.ServeHTTP(answer, r)
	_, rest, _ := strings.Cut(answer.Body.String(), `,"rows"`)
	fmt.Println(answer.Code, rest)

	x.Close()
	cancel()
	<-ended
	// Output: 200 :[{"handle":"0:0@1","shard":0,"flags":[],"components":{"Health":{"HP":0,"Most":0}}}],"more":true,"next":"0:0@1"}
}

// Who has no token changes nothing, and other machines see nothing.
func ExampleInspector() {
	x, err := inspect.New(scheduler.New(world.MustNew(world.Options{}), scheduler.Options{}), inspect.Options{})
	if err != nil {
		panic(err)
	}
	defer x.Close()
	r := httptest.NewRequest(http.MethodPost, "http://localhost/api/pause", strings.NewReader("{}"))
	r.RemoteAddr = "127.0.0.1:50000"
	answer := httptest.NewRecorder()
	x.ServeHTTP(answer, r)
	fmt.Println(answer.Code)
	fmt.Println(x.ListenAndServe(context.Background(), "0.0.0.0:8080"))
	// Output:
	// 403
	// inspect: other machines can reach 0.0.0.0:8080, and there is no Token; set one, or listen at 127.0.0.1
}
