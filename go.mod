module github.com/atoll-sim/atoll

go 1.26.0

require (
	github.com/fxamacker/cbor/v2 v2.9.6
	github.com/gofrs/flock v0.13.2
	github.com/klauspost/compress v1.20.3
	github.com/stretchr/testify v1.12.1
	github.com/zeebo/xxh3 v1.1.0
	go.uber.org/atomic v1.12.0
	go.uber.org/goleak v1.3.0
	golang.org/x/sync v0.24.0
)

require (
	github.com/klauspost/cpuid/v2 v2.2.10 // indirect
	github.com/x448/float16 v0.8.4 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
	golang.org/x/sys v0.49.0 // indirect
)
