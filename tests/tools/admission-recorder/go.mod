module kubectl-kyv/tests/tools/admission-recorder

go 1.26.0
