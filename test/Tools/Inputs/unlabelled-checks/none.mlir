// RUN: fovea-opt %s --fovea-to-warp=target=sm_80 | FileCheck %s --check-prefix=WARP
// RUN: fovea-compile --target=sm_80 %s \
// RUN:   | FileCheck %s --check-prefix=PTX
// WARP: warp.dot
// PTX: mma.sync
