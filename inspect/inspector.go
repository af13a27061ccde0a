package inspect

import (
	"cmp"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net/http"

	"golang.org/x/sync/semaphore"

	"github.com/atoll-sim/atoll/internal/figures"
	"github.com/atoll-sim/atoll/scheduler"
)

// TokenMin is the least number of characters of Options.Token.
const TokenMin = 16

// ConnectionsMax is the default of Options.ConnectionsMax.
const ConnectionsMax = 1000

// Options shape an Inspector. The zero value means the defaults: only clients on the same machine
// may read, and none may change anything.
type Options struct {
	Name string // of the server, for the page's title
	// Token must be sent, as "Authorization: Bearer …", for every change. Clients on other machines
	// must send it for everything but the page's own files. It has TokenMin characters or more.
	// Without one there are no changes, and other machines are not served.
	Token string
	// TLS, if not nil, is what ListenAndServe uses.
	TLS *tls.Config
	// Insecure lets ListenAndServe serve other machines without TLS: behind a proxy that has TLS,
	// or in a network where the token may be read.
	Insecure bool
	// Logger, if not nil, gets records of requested changes, and of failures. A panic of its handler
	// is written to standard error.
	Logger *slog.Logger
	// GoTraces keeps an execution trace of the Go runtime of the last 5 seconds in memory, 8 MB,
	// and adds it to recordings of ticks that overran, for `go tool trace`. It costs the program a
	// few percent, and a program can have one such trace.
	GoTraces bool
	// ConnectionsMax is how many streams may be open at a time, and how many connections
	// ListenAndServe has besides. Default: 1,000.
	ConnectionsMax int
}

// check returns an error that says which option is wrong, or fills in the default.
func (o *Options) check() error {
	switch {
	case o.Token != "" && len(o.Token) < TokenMin:
		return fmt.Errorf("inspect: Token has %d characters, want %d or more, or none for no controls", len(o.Token), TokenMin)
	case o.ConnectionsMax < 0:
		return fmt.Errorf("inspect: ConnectionsMax is %d, want 1 or more, or 0 for %d", o.ConnectionsMax, ConnectionsMax)
	}
	o.ConnectionsMax = cmp.Or(o.ConnectionsMax, ConnectionsMax)
	return nil
}

// Inspector serves the inspector of one world over HTTP. It is an [http.Handler].
//
// Ownership: any goroutine. Only functions of Scheduler.Between read the world.
type Inspector struct {
	*visitor
	o        Options
	routes   map[string]route
	origins  *http.CrossOriginProtection
	schemas  *schemas
	samples  *samples
	answers  *answers
	entities *entities
	controls *controls
	recorder *recorder
	figures  *figures.Reader
}

// New makes the inspector of a scheduler and its world. It serves when it is mounted in a server,
// or by ListenAndServe, and ends by Close or when the world is closed. It returns an error that
// names the option that is wrong, or the world's if that is closed or broken. It panics for a nil
// Scheduler.
//
// Safe from any goroutine at any time, while ticks run, too. A world may have several.
func New(s *scheduler.Scheduler, o Options) (*Inspector, error) {
	if s == nil {
		panic("inspect: New for a nil Scheduler; make one with scheduler.New")
	}
	if err := o.check(); err != nil {
		return nil, err
	}
	if err := s.World().Err(); err != nil {
		return nil, err
	}
	v := newVisitor(s, o.Logger)
	i := &Inspector{visitor: v, o: o, origins: http.NewCrossOriginProtection(), schemas: &schemas{visitor: v}, answers: newAnswers(v), figures: figures.NewReader(s)}
	i.samples = newSamples(v, i.schemas)
	places := &streams{v, i.samples, semaphore.NewWeighted(int64(o.ConnectionsMax))}
	i.entities = &entities{v, i.schemas, newFrames(v), i.answers, places}
	i.controls = &controls{visitor: v, schemas: i.schemas, samples: i.samples, steps: semaphore.NewWeighted(1)}
	i.recorder = &recorder{visitor: v, samples: i.samples, answers: i.answers}
	i.routes = i.makeRoutes()
	if o.GoTraces {
		if err := i.samples.flights.start(); err != nil {
			return nil, err
		}
	}
	i.samples.kept = s.KeepOverruns(overrunsMax)
	v.work.start(i.samples.run)
	return i, nil
}

// Close ends all streams and the sampling, and waits for the sampling. From then on every request
// is answered with 503, except those for problems, history and the list of recordings. Closing
// twice is no error. Safe from any goroutine, but not in a function of Scheduler.Between, which it
// may wait for.
func (i *Inspector) Close() error {
	i.end()
	i.work.close()
	i.controls.close()
	i.samples.kept.Close()
	i.samples.flights.stop()
	return nil
}
