module github.com/atoll-sim/atoll/bench

go 1.26.0

require github.com/atoll-sim/atoll v0.0.0

replace github.com/atoll-sim/atoll => ../
