package metrics

// Collect gives families to Prometheus.
var Collect = collect
