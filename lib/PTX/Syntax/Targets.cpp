//===- Targets.cpp - Features by target architecture ----------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Syntax/Targets.h"

#include "llvm/Support/ErrorHandling.h"

using namespace fovea::ptx;
using llvm::StringRef;

namespace {
/// "sm_103a": the number 103 and the suffix 'a'; 'f' names a family; 0: none.
struct Target {
  unsigned number = 0;
  char suffix = 0;
};
} // namespace

static Target parse(StringRef name) {
  Target target;
  name.consume_front("sm_");
  if (name.ends_with("a") || name.ends_with("f")) {
    target.suffix = name.back();
    name = name.drop_back();
  }
  if (name.getAsInteger(10, target.number))
    target.number = 0;
  return target;
}

/// The families of sm_100f and sm_110f; sm_101 is sm_110's older name.
static bool isFamily100(unsigned number) {
  return number == 100 || number == 103;
}
static bool isFamily110(unsigned number) {
  return number == 101 || number == 110;
}

bool fovea::ptx::hasFeature(StringRef name, Feature feature) {
  Target target = parse(name);
  unsigned number = target.number;
  bool hasTcgen05 =
      target.suffix && (isFamily100(number) || isFamily110(number));
  switch (feature) {
  case Feature::Tcgen05:
  case Feature::TensorCopyGroup:
    return hasTcgen05;
  case Feature::IntegerMma:
    return hasTcgen05 && target.suffix == 'a' && number != 103;
  case Feature::ScaleInputD:
    return hasTcgen05 && isFamily100(number);
  case Feature::ScaleVec:
    return hasTcgen05 && target.suffix == 'a';
  case Feature::ReducingLoad:
    return hasTcgen05 && number != 100;
  case Feature::ThreeInputMinMax:
    return number >= 100;
  }
  llvm_unreachable("unknown feature");
}

StringRef fovea::ptx::describeTargets(Feature feature) {
  switch (feature) {
  case Feature::Tcgen05:
  case Feature::TensorCopyGroup:
    return "sm_100a, sm_103a, sm_110a or their families (sm_100f)";
  case Feature::IntegerMma:
    return "sm_100a or sm_110a";
  case Feature::ScaleInputD:
    return "sm_100a, sm_103a or their family (sm_100f)";
  case Feature::ScaleVec:
    return "sm_100a, sm_103a or sm_110a";
  case Feature::ReducingLoad:
    return "sm_103a, sm_110a or their families (sm_103f)";
  case Feature::ThreeInputMinMax:
    return "sm_100 or higher";
  }
  llvm_unreachable("unknown feature");
}
