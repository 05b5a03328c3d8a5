module kubectl-kyv/tests/tools/cel-spec

go 1.26.0

require (
	cel.dev/expr v0.25.1
	google.golang.org/protobuf v1.36.11
)
