module kubectl-kyv/tests/tools/compare-builds

go 1.26.0
