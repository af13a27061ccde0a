/*
 * A protocol model of the slots that ports create from: how ports draw handles and send
 * requests, and what a refresh does meanwhile. See docs/design.md, "Handles and slots"
 * and "The tick". Checked exhaustively by ./check.
 *
 *   PORTS ports ── queue ──▶ refresh ── pool ──▶ ports      SLOTS slots, VERSIONS versions
 *         └────── recalled ──────▶                         QUEUE requests in a queue
 *
 * One transition is what the code does with one atomic operation, with one locked
 * section, or with memory that nobody else looks at. Memory is sequentially consistent,
 * as Go's atomics are.
 *
 * What is simpler than the code, and why nothing is lost by it:
 *   - A port takes one handle at a time, so it has none in hand: those are its own.
 *   - An epoch is "this one" or "an earlier one", which is all that Queue.Drain asks: what
 *     carries the epoch becomes old when it is raised.
 *   - Room in a queue, once seen, stays until the port uses it. So looking for it is one
 *     transition with what follows.
 *   - Setting the bit of a port that has it already changes nothing, so Port.activate is
 *     one transition.
 *   - Which of the handles in the pool is taken is not said.
 *   - Of the stale handles any does as well as another in a request to destroy.
 *   - No port decides by what the steps from store to release write: those are one
 *     transition.
 *   - What systems see of the home of ports follows from settled and the words of slots,
 *     which nobody writes while they run: so they are not in the model.
 *   - A batch that is taken back is one create, told of and not sent.
 *   - The staging over what a refresh creates and destroys at once is left out: from store
 *     to sweep is one transition to whoever asks.
 *   - The parallel steps of a refresh touch one slot each, so one process does them.
 *
 * -DBROKEN=n breaks the protocol in one place, for ./check to see that it is noticed.
 */

#ifndef PORTS
#define PORTS 2
#endif
#ifndef SLOTS
#define SLOTS 2
#endif
#ifndef VERSIONS
#define VERSIONS 3
#endif
#ifndef QUEUE
#define QUEUE 2
#endif
#ifndef BROKEN
#define BROKEN 0
#endif
#define NO_EPOCH_CHECK     1 /* a refresh takes what was sent after the cut */
#define SAME_VERSION       2 /* a slot is freed with the version that it had */
#define WRAP_VERSION       3 /* a slot whose versions are used up starts again */
#define SPLIT_DRAW         4 /* a fresh index is drawn in two steps */
#define ACTIVE_FIRST       5 /* a port sets its bit before it publishes the request */
#define NOT_ACTIVE_AGAIN   6 /* a port with requests left over is not looked at again */
#define NO_LOCK            7 /* handles are taken from the pool without the lock */
#define NO_MARK_CHECK      8 /* who destroys does not look whether another has */
#define WRONG_ORDER        9 /* queues are read from the last port to the first */
#define TOLD_TOO_EARLY    10 /* outcomes are told before the slots are freed */
#define RECALLED_AS_IS    11 /* what is recalled goes into the pool as it is */
#define CLOSED_TOO_EARLY  12 /* a closed port is forgotten with requests in its queue */
#define SETTLED_TOO_EARLY 13 /* what was drawn is settled before the epoch is over */

/* A handle is slot * VERSIONS + version - 1; a set of them has a bit for each. */
#define HANDLES (SLOTS * VERSIONS)
#define HANDLE(slot, version) ((slot) * VERSIONS + (version) - 1)
#define SLOT(h) ((h) / VERSIONS)
#define VERSION(h) ((h) % VERSIONS + 1)
#define BIT(h) (1 << (h))
#define NONE 255

/* The word of a slot; 0 if it was never used. That a handle is told and its entity not
   stored is in no slot. */
#define UNUSED 1
#define ALIVE 3
#define RETIRED 4
#define WORD(state, version) ((state) * 8 + (version))
#define STATE_OF(w) ((w) / 8)
#define VERSION_OF(w) ((w) % 8)
#define IS(h, state) (gen[SLOT(h)] == WORD(state, VERSION(h)))
#define TO_COME(h) (IS(h, UNUSED) || (gen[SLOT(h)] == 0 && VERSION(h) == 1))

byte gen[SLOTS];
byte fresh;                        /* indexes drawn so far */
byte pool[SLOTS], poolN;           /* used handles, for all ports */
short recalled;                    /* handles that were told of, and taken back */

/* Of each port. */
byte queue_h[PORTS * QUEUE];         /* the handle that each request in the queue concerns */
bool queue_create[PORTS * QUEUE];    /* create or destroy */
bool queue_old[PORTS * QUEUE];       /* sent in an earlier epoch */
byte published[PORTS];             /* requests in the queue */
byte taken[PORTS];                 /* taken by the refresh, and still holding room */
bool flagged[PORTS];               /* its bit in ports.active */
bool loading[PORTS];               /* it has loaded the epoch, and not published yet */
bool loaded_old[PORTS];            /* the epoch that it loaded is an earlier one by now */
#ifdef CLOSE
bool closed[PORTS];
#endif

/* Ghosts: what is known of the past, for the assertions. */
short told;                        /* handles that creates returned, for all to know */
short dead;                        /* handles whose slot was freed */
short won;                         /* handles that somebody destroyed */
bool accepted[PORTS];              /* the call that sent the last request has returned */
byte must[PORTS];                  /* requests that this refresh has to take */
byte first[HANDLES];               /* the first port whose destroy it has to take, or NONE */

#define ROOM(p) (published[p] + taken[p] < QUEUE)

/* take_used takes a handle from the pool. */
inline take_used(h) {
	if
	:: poolN > 0 ->
		poolN--;
		h = pool[poolN];
		pool[poolN] = NONE
	:: else
	fi
}

/* put puts a handle into the pool. */
inline put(h) {
	pool[poolN] = h;
	poolN++
}

/* say tells of a handle that a create returned. */
inline say(h) {
	assert(!(told & BIT(h)));          /* no handle is given twice */
	told = told | BIT(h)
}

/* pick chooses a handle of those in a set. */
inline pick(h, set) {
	if
	:: (set) & BIT(0) -> h = 0
	:: (set) & BIT(1) -> h = 1
#if HANDLES > 2
	:: (set) & BIT(2) -> h = 2
	:: (set) & BIT(3) -> h = 3
#endif
#if HANDLES > 4
	:: (set) & BIT(4) -> h = 4
	:: (set) & BIT(5) -> h = 5
#endif
	fi
}

/* What others know and may be alive, and the lowest of the stale ones. */
#define KNOWN ((told & ~dead) | ((told & dead) & -(told & dead)))

inline publish(p, h, create) {
	queue_h[p * QUEUE + published[p]] = h;
	queue_create[p * QUEUE + published[p]] = create;
	queue_old[p * QUEUE + published[p]] = loaded_old[p];
	published[p]++;
	loading[p] = false; loaded_old[p] = false;
	accepted[p] = false
}

/* back is the return of the call: others can know of the request from here on. */
inline back(p, h, create) {
	accepted[p] = true;
	if
	:: create -> say(h)
	:: else
	fi;
	h = NONE; create = false
}

proctype port(byte p) {
	byte h = NONE, i;
	bool create;
end:
	do
	/* Check. */
	:: atomic { told != 0 -> pick(h, told);
			assert(!(IS(h, ALIVE) && (dead & BIT(h))));   /* a stale handle is never valid again */
			h = NONE
		}
#ifdef CLOSE
	/* Close, and open another port of the same number when the refresh lets it go. */
	:: closed[p] = true; !closed[p]
#endif
	/* Request. */
	:: if
		/* Destroy; load the epoch. */
		:: atomic { ROOM(p) && told != 0 -> pick(h, KNOWN); loading[p] = true }

		/* Create with a used handle, or else a fresh one. */
#if BROKEN == NO_LOCK
		:: ROOM(p) ->
			i = poolN;
			if
			:: i > 0 ->
				h = pool[i - 1];
				d_step { poolN = i - 1; i = 0; create = true }
			:: else -> create = true
			fi;
#else
		:: d_step { ROOM(p) -> take_used(h); create = true };
#endif
			if
			:: d_step { h != NONE -> loading[p] = true }   /* load the epoch */
#if BROKEN == SPLIT_DRAW
			:: h == NONE && fresh < SLOTS ->
				i = fresh;
				d_step { fresh = i + 1; h = HANDLE(i, 1); i = 0 };
				loading[p] = true
#else
			:: d_step { h == NONE && fresh < SLOTS -> h = HANDLE(fresh, 1); fresh++ };
				loading[p] = true
#endif
			:: d_step { h == NONE && fresh == SLOTS -> create = false };
				goto end       /* there is none until the refresh frees some */

			/* It is told of, and taken back with its batch. */
			:: d_step { h != NONE -> say(h); recalled = recalled | BIT(h); h = NONE; create = false };
				goto end
			fi
		fi;
#if BROKEN == ACTIVE_FIRST
		flagged[p] = true;
		d_step { publish(p, h, create); back(p, h, create) }
#else
		d_step { publish(p, h, create) };
		d_step { flagged[p] = true; back(p, h, create) }
#endif
	od
}

/* The refresh's own. */
#define ALL (PORTS * QUEUE)
byte creates[ALL], createsN;
byte others[ALL], sender[ALL], othersN;
bool look[PORTS];                  /* the port had its bit set */
bool marked[SLOTS];
short due;                         /* of the recalled, when what was drawn was settled */
byte settled;                      /* fresh, at that moment */

/* mark_some marks whom the systems of the tick like, of those that are alive. */
inline mark_some() {
	do
	:: i < SLOTS ->
		if
		:: STATE_OF(gen[i]) == ALIVE && !marked[i] -> marked[i] = true; won = won | BIT(HANDLE(i, VERSION_OF(gen[i])))
		:: true
		fi;
		i++
	:: else -> break
	od;
	i = 0
}

/* raise raises the epoch. What was sent, by calls that have returned, is to be taken. */
inline raise() {
	for (p : 0 .. PORTS - 1) {
		loaded_old[p] = loading[p];
		must[p] = published[p];
		if
		:: must[p] > 0 && !accepted[p] -> must[p]--
		:: else
		fi;
		i = 0;
		do
		:: i < published[p] ->
			queue_old[p * QUEUE + i] = true;
			h = queue_h[p * QUEUE + i];
			if
			:: i < must[p] && !queue_create[p * QUEUE + i] && first[h] == NONE -> first[h] = p
			:: else
			fi;
			i++
		:: else -> break
		od
	}
	p = 0; i = 0; h = 0
}

/* settle is PortAllocator.Cut: what was drawn by now is pending to systems, and what was recalled
   by now is freed by this refresh. */
inline settle() {
#if BROKEN != SETTLED_TOO_EARLY
	settled = fresh;
#endif
	due = recalled; recalled = 0
}

/* collect takes the bits of all ports at once. */
inline collect() {
	for (p : 0 .. PORTS - 1) {
		look[p] = flagged[p];
		flagged[p] = false
	}
	p = 0
}

/* A request of the port that is read is there, and of an earlier epoch. */
#define OFFERS(p) (look[p] && published[p] > 0 && (queue_old[p * QUEUE] || BROKEN == NO_EPOCH_CHECK))

#if BROKEN == WRONG_ORDER
#define NTH(p) (PORTS - 1 - p)
#else
#define NTH(p) p
#endif

/* take takes the next request of a port. */
inline take(p) {
	h = queue_h[p * QUEUE];
	if
	:: queue_create[p * QUEUE] ->
		creates[createsN] = h;
		createsN++
	:: else ->
		others[othersN] = h;
		sender[othersN] = p;
		othersN++
	fi;
	for (i : 1 .. QUEUE - 1) {
		queue_h[p * QUEUE + i - 1] = queue_h[p * QUEUE + i];
		queue_create[p * QUEUE + i - 1] = queue_create[p * QUEUE + i];
		queue_old[p * QUEUE + i - 1] = queue_old[p * QUEUE + i]
	}
	published[p]--;
	i = p * QUEUE + published[p];
	queue_h[i] = 0; queue_create[i] = false; queue_old[i] = false;
	taken[p]++;
	if
	:: must[p] > 0 -> must[p]--
	:: else
	fi;
	if
	:: published[p] == 0 -> accepted[p] = true   /* it does not matter any more */
	:: else
	fi;
	h = 0; i = 0
}

/* leave ends the reading of a queue. What was sent after the cut is left to the next. */
inline leave(p) {
	assert(must[p] == 0);              /* what was sent before the cut is taken */
#if BROKEN != NOT_ACTIVE_AGAIN
	if
	:: look[p] && published[p] > 0 -> flagged[p] = true
	:: else
	fi
#endif
}

/* store makes the entities alive whose creates were taken. */
inline store() {
	do
	:: createsN > 0 ->
		createsN--;
		h = creates[createsN];
		creates[createsN] = 0;
		assert(TO_COME(h));            /* no create is lost, and none is done twice */
		assert(SLOT(h) < settled);     /* what is created was settled */
		assert(!(dead & BIT(h)));      /* a stale handle is never valid again */
		gen[SLOT(h)] = WORD(ALIVE, VERSION(h))
	:: else -> break
	od;
	h = 0
}

/* apply routes the requests to destroy, and marks in their order. */
inline apply() {
	do
	:: i < othersN ->
		h = others[i];
		assert(!TO_COME(h) || (due & BIT(h)) || (recalled & BIT(h)));   /* nothing is taken without what caused it */
		if
		:: IS(h, ALIVE) && (!marked[SLOT(h)] || BROKEN == NO_MARK_CHECK) ->
			marked[SLOT(h)] = true;
			assert(!(won & BIT(h)));   /* one destroys */
			assert(first[h] == NONE || sender[i] <= first[h]);   /* the first in order */
			won = won | BIT(h)
		:: else
		fi;
		i++
	:: else -> break
	od;
	i = 0; h = 0
}

/* free frees the slot of a handle that is over. */
inline free(h) {
	dead = dead | BIT(h);
	if
#if BROKEN == SAME_VERSION
	:: gen[SLOT(h)] = WORD(UNUSED, VERSION(h)); put(h)
#else
	:: VERSION(h) < VERSIONS -> gen[SLOT(h)] = WORD(UNUSED, VERSION(h) + 1); put(h + 1)
#if BROKEN == WRAP_VERSION
	:: else -> gen[SLOT(h)] = WORD(UNUSED, 1); put(HANDLE(SLOT(h), 1))
#else
	:: else -> gen[SLOT(h)] = WORD(RETIRED, VERSION(h))
#endif
#endif
	fi
}

/* sweep frees the slots of the marked, and of what was recalled. */
inline sweep() {
	do
	:: i < SLOTS ->
		if
		:: marked[i] ->
			h = HANDLE(i, VERSION_OF(gen[i]));
			marked[i] = false;
			free(h)
		:: else
		fi;
		i++
	:: else -> break
	od;
	i = 0; h = 0;
	do
	:: h < HANDLES ->
		if
		:: due & BIT(h) ->
#if BROKEN == RECALLED_AS_IS
			put(h)
#else
			free(h)
#endif
		:: else
		fi;
		h++
	:: else -> break
	od;
	due = 0; h = 0
}

/* release gives the queues' room back. */
inline release() {
	for (p : 0 .. PORTS - 1) { taken[p] = 0 }
	p = 0
}

#ifdef CLOSE
/* retire lets go of closed ports once their queues are empty. */
inline retire() {
	for (p : 0 .. PORTS - 1) {
		if
		:: closed[p] && (published[p] == 0 || BROKEN == CLOSED_TOO_EARLY) ->
			published[p] = 0;
			flagged[p] = false;
			closed[p] = false
		:: else
		fi
	}
	p = 0
}
#endif

/* clear_looks forgets whose bit was set. */
inline clear_looks() {
	for (p : 0 .. PORTS - 1) { look[p] = false }
	p = 0
}

/* tell tells the outcomes. */
inline tell() {
	do
	:: i < othersN ->
		assert(!IS(others[i], ALIVE));   /* whoever is told finds it gone */
		others[i] = 0; sender[i] = 0;
		i++
	:: else -> break
	od;
	othersN = 0;
	for (h : 0 .. HANDLES - 1) {
		assert(first[h] == NONE || (dead & BIT(h)));   /* no destroy is lost */
		first[h] = NONE;
		if
		:: (told & ~dead & ~recalled & BIT(h)) && TO_COME(h) ->    /* then its create is on the way */
			for (p : 0 .. PORTS - 1) {
				for (i : 0 .. QUEUE - 1) {
					if
					:: i < published[p] && queue_create[p * QUEUE + i] && queue_h[p * QUEUE + i] == h -> found = true
					:: else
					fi
				}
			}
			assert(found);                         /* no create is lost */
			found = false
		:: else
		fi
	}
	p = 0; i = 0; h = 0
}

proctype refresh() {
	byte p, i, h;
	bool found;
end:
	do
#if BROKEN == SETTLED_TOO_EARLY
	:: atomic { mark_some(); settled = fresh };
		atomic { raise() };
#else
	:: atomic { mark_some(); raise() };
#endif
		d_step { settle() };
		d_step { collect() };
		do
		:: d_step { p < PORTS && OFFERS(NTH(p)) -> take(NTH(p)) }
		:: d_step { p < PORTS && !OFFERS(NTH(p)) -> leave(NTH(p)); p++ }
		:: d_step { p == PORTS ->
				p = 0;
				store();
				apply();
#if BROKEN == TOLD_TOO_EARLY
				tell();
#endif
				sweep();
				release()
			};
			break
		od;
		atomic {
			clear_looks();
#ifdef CLOSE
			retire();
#endif
#if BROKEN != TOLD_TOO_EARLY
			tell()
#endif
		}
	od
}

init {
	byte i;
	d_step {
		for (i : 0 .. HANDLES - 1) { first[i] = NONE }
		for (i : 0 .. SLOTS - 1) { pool[i] = NONE }
		for (i : 0 .. PORTS - 1) { accepted[i] = true }
		i = 0
	};
	atomic {
		for (i : 0 .. PORTS - 1) { run port(i) }
		run refresh()
	}
}
