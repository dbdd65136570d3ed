// RUN: fovea-opt %s --fovea-to-warp | FileCheck %s --check-prefix=WARP
// RUN: fovea-compile %s \
// RUN:   | FileCheck %s --check-prefix=PTX
// WARP: warp.dot
// PTX: mma.sync
