package realm

// The rules of the game. Periods are in ticks.
const (
	creatureSpeed  = 12  // units per second, at most, in each direction
	creatureHealth = 100 // points
	strengthMin    = 15  // points of damage
	strengthMax    = 35
	turnPeriod     = 32   // a creature changes its direction
	attackPeriod   = 16   // a creature attacks
	rumourPeople   = 1000 // for each so many on an island, or part of them, one rumour a tick

	carryOdds = 2  // one of so many creatures carries an item
	placesMax = 8  // items in an inventory, or on another
	itemLife  = 40 // ticks until an item on the ground goes by itself
	itemSorts = 4
	worthMax  = 99

	// AvatarSpeed is how fast an avatar steered by 1 is, in units per second.
	AvatarSpeed    = 40
	avatarHealth   = 400
	avatarStrength = 30
	fierceStrength = 60 // of an avatar with a fierce stance
)
