// Stages and phases of pipeline ops are i32.
// RUN: fovea-opt %s --split-input-file --verify-diagnostics

func.func @verb_stage(%p: !warp.pipeline<2>, %s: index, %z: i32) {
  // expected-note@-1 {{prior use here}}
  // expected-error@+1 {{use of value '%s' expects different type than prior uses: 'i32' vs 'index'}}
  warp.consumer_wait %p[%s, %z] : !warp.pipeline<2>
  return
}
