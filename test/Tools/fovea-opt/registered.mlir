// Everything Fovea has is registered in fovea-opt.
// RUN: fovea-opt --show-dialects | FileCheck %s --check-prefix=DIALECTS
// RUN: fovea-opt --help | FileCheck %s --check-prefix=HELP

// DIALECTS-DAG: attn
// DIALECTS-DAG: launch
// DIALECTS-DAG: tile

// HELP-DAG: --fovea-compile
// HELP-DAG: --fovea-to-host
// HELP-DAG: --fovea-to-nvvm
// HELP-DAG: --fovea-to-tile
// HELP-DAG: --fovea-to-warp
