module github.com/atoll-sim/atoll/bench

go 1.26.0

require (
	github.com/akmonengine/volt v1.7.0
	github.com/atoll-sim/atoll v0.0.0
	github.com/kelindar/column v0.4.1
	github.com/marioolofo/go-gameengine-ecs v0.9.0
	github.com/mlange-42/arche v0.15.3
	github.com/mlange-42/ark v0.8.3
	github.com/stretchr/testify v1.12.1
	github.com/unitoftime/ecs v0.0.3
	github.com/yohamta/donburi v1.15.8
	golang.org/x/sys v0.49.0
)

require (
	github.com/fxamacker/cbor/v2 v2.9.6 // indirect
	github.com/gofrs/flock v0.13.2 // indirect
	github.com/kelindar/bitmap v1.4.1 // indirect
	github.com/kelindar/intmap v1.1.0 // indirect
	github.com/kelindar/iostream v1.3.0 // indirect
	github.com/kelindar/simd v1.1.2 // indirect
	github.com/kelindar/smutex v1.0.0 // indirect
	github.com/klauspost/compress v1.20.3 // indirect
	github.com/klauspost/cpuid/v2 v2.2.10 // indirect
	github.com/tidwall/btree v1.6.0 // indirect
	github.com/unitoftime/cod v0.0.0-20240909130117-f553b1d09d22 // indirect
	github.com/x448/float16 v0.8.4 // indirect
	github.com/zeebo/xxh3 v1.1.0 // indirect
	go.uber.org/atomic v1.12.0 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
	golang.org/x/net v0.62.0 // indirect
	golang.org/x/sync v0.24.0 // indirect
)

replace github.com/atoll-sim/atoll => ../

replace github.com/atoll-sim/atoll/inspect => ../inspect

require github.com/atoll-sim/atoll/inspect v0.0.0
