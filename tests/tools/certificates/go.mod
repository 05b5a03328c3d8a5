module kubectl-kyv/tests/tools/certificates

go 1.26.0
