// Each sequence form round-trips.
// RUN: fovea-opt %s | fovea-opt | FileCheck %s

// CHECK-LABEL: func.func @lengths
// CHECK: attn.forward %{{.*}}, %{{.*}}, %{{.*}} lengths(%{{.*}} : tensor<2xi32>) :
func.func @lengths(%q: tensor<2x4x?x32xf16>, %n: tensor<2xi32>) -> tensor<2x4x?x32xf16> {
  %o = attn.forward %q, %q, %q lengths(%n : tensor<2xi32>)
    : tensor<2x4x?x32xf16>, tensor<2x4x?x32xf16>, tensor<2x4x?x32xf16> -> tensor<2x4x?x32xf16>
  return %o : tensor<2x4x?x32xf16>
}

// CHECK-LABEL: func.func @packed
// CHECK: attn.forward %{{.*}}, %{{.*}}, %{{.*}} packed(%{{.*}}, %{{.*}} : tensor<?xi32>, tensor<?xi32>) :
func.func @packed(%q: tensor<1x4x?x32xf16>, %cu: tensor<?xi32>) -> tensor<1x4x?x32xf16> {
  %o = attn.forward %q, %q, %q packed(%cu, %cu : tensor<?xi32>, tensor<?xi32>)
    : tensor<1x4x?x32xf16>, tensor<1x4x?x32xf16>, tensor<1x4x?x32xf16> -> tensor<1x4x?x32xf16>
  return %o : tensor<1x4x?x32xf16>
}

// CHECK-LABEL: func.func @paged
// CHECK: attn.forward %{{.*}}, %{{.*}}, %{{.*}} paged(%{{.*}}, %{{.*}} : tensor<2x?xi32>, tensor<2xi32>, page = 16) :
func.func @paged(%q: tensor<2x4x?x32xf16>, %k: tensor<?x4x16x32xf16>, %table: tensor<2x?xi32>,
                 %n: tensor<2xi32>) -> tensor<2x4x?x32xf16> {
  %o = attn.forward %q, %k, %k paged(%table, %n : tensor<2x?xi32>, tensor<2xi32>, page = 16)
    : tensor<2x4x?x32xf16>, tensor<?x4x16x32xf16>, tensor<?x4x16x32xf16> -> tensor<2x4x?x32xf16>
  return %o : tensor<2x4x?x32xf16>
}

// CHECK-LABEL: func.func @packed_queries
// CHECK: attn.forward %{{.*}}, %{{.*}}, %{{.*}} packed(%{{.*}} : tensor<?xi32>) :
// CHECK: attn.forward %{{.*}}, %{{.*}}, %{{.*}} packed(%{{.*}} : tensor<?xi32>) lengths(%{{.*}} : tensor<?xi32>) sinks(
// CHECK: attn.forward %{{.*}}, %{{.*}}, %{{.*}} packed(%{{.*}} : tensor<?xi32>, most = 4) paged(%{{.*}}, %{{.*}} : tensor<?x?xi32>, tensor<?xi32>, page = 16) :
func.func @packed_queries(%q: tensor<1x4x?x32xf16>, %k: tensor<?x4x?x32xf16>, %pool: tensor<?x4x16x32xf16>,
                          %cu: tensor<?xi32>, %table: tensor<?x?xi32>, %n: tensor<?xi32>, %sinks: tensor<4xf32>) {
  %0 = attn.forward %q, %k, %k packed(%cu : tensor<?xi32>)
    : tensor<1x4x?x32xf16>, tensor<?x4x?x32xf16>, tensor<?x4x?x32xf16> -> tensor<1x4x?x32xf16>
  %1 = attn.forward %q, %k, %k sinks(%sinks : tensor<4xf32>) packed(%cu : tensor<?xi32>) lengths(%n : tensor<?xi32>)
    : tensor<1x4x?x32xf16>, tensor<?x4x?x32xf16>, tensor<?x4x?x32xf16> -> tensor<1x4x?x32xf16>
  %2 = attn.forward %q, %pool, %pool
    packed(%cu : tensor<?xi32>, most = 4) paged(%table, %n : tensor<?x?xi32>, tensor<?xi32>, page = 16)
    : tensor<1x4x?x32xf16>, tensor<?x4x16x32xf16>, tensor<?x4x16x32xf16> -> tensor<1x4x?x32xf16>
  return
}

// Pages of all sequences in one list, alone and with packed queries.
// CHECK-LABEL: func.func @listed
// CHECK: attn.forward {{.*}} paged(%{{.*}}, %{{.*}}, %{{.*}} : tensor<?xi32>, tensor<3xi32>, tensor<2xi32>, page = 16) :
// CHECK: attn.forward {{.*}} packed(%{{.*}} : tensor<?xi32>) paged(%{{.*}}, %{{.*}}, %{{.*}} : tensor<?xi32>, tensor<?xi32>, tensor<?xi32>, page = 16) :
func.func @listed(%q: tensor<2x4x?x32xf16>, %p: tensor<1x4x?x32xf16>, %k: tensor<?x4x16x32xf16>, %pages: tensor<?xi32>, %starts: tensor<3xi32>,
                  %n: tensor<2xi32>, %cu: tensor<?xi32>, %any: tensor<?xi32>) -> (tensor<2x4x?x32xf16>, tensor<1x4x?x32xf16>) {
  %o = attn.forward %q, %k, %k paged(%pages, %starts, %n : tensor<?xi32>, tensor<3xi32>, tensor<2xi32>, page = 16)
    : tensor<2x4x?x32xf16>, tensor<?x4x16x32xf16>, tensor<?x4x16x32xf16> -> tensor<2x4x?x32xf16>
  %r = attn.forward %p, %k, %k packed(%cu : tensor<?xi32>) paged(%pages, %any, %any : tensor<?xi32>, tensor<?xi32>, tensor<?xi32>, page = 16)
    : tensor<1x4x?x32xf16>, tensor<?x4x16x32xf16>, tensor<?x4x16x32xf16> -> tensor<1x4x?x32xf16>
  return %o, %r : tensor<2x4x?x32xf16>, tensor<1x4x?x32xf16>
}
