// RUN: fovea-translate %s --nvvm-to-ptx -split-input-file -verify-diagnostics

// expected-error @below {{expected one kernel with 'launch.abi', found 0}}
module {
}
