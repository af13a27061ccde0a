package crash

// Fault is what a test has servers do wrong, and what the audit says then.
type Fault struct {
	fault fault
	Want  string
	Kills int // that it is found in, at most
}

// Faults has one of each.
var Faults = []Fault{
	{early, `[1-9]\d* told and lost`, 20},
	{hasty, `[1-9]\d* told and lost(?s:.*)was told done, and the last is`, 2000}, // 70 or less as a rule
	{twice, `, [1-9]\d* doubled(?s:.*)(comes again, and is answered by|was told done, and now)`, 20},
	{half, `account \d+, \d+, has -?\d+ gold, and should have`, 20},
	{stays, `ware \d+(: it is \S+ .* before| is in the bag of \d+, and belongs to)`, 20},
}

// TownFaults has one of each that towns may have.
var TownFaults = []Fault{
	{early, `restored to an older day|[1-9]\d* told and lost`, 100},
	{twice, `, [1-9]\d* doubled(?s:.*)has sent`, 100},
	{apart, `has got (back )?\d+ payments of \d+ gold, and should have`, 400},
}

// Plant has the servers do something wrong.
func (c *Config) Plant(f Fault) { c.fault = f.fault }
