//===- Names.cpp - Names of streams, dots and stores ----------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fovea/Dialect/Tile/IR/Tile.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace fovea;
using namespace fovea::tile;

/// A name is a sequence of words of letters, digits and underscores, separated
/// by dots.
LogicalResult fovea::tile::detail::verifyName(Operation *op) {
  StringAttr name = cast<NamedOpInterface>(op).getNameAttr();
  if (!name)
    return success();
  SmallVector<StringRef> words;
  name.getValue().split(words, '.');
  auto isWord = [](StringRef word) {
    return !word.empty() && llvm::all_of(word, [](char c) {
      return llvm::isAlnum(c) || c == '_';
    });
  };
  if (llvm::all_of(words, isWord))
    return success();
  return op->emitOpError("name must be words of letters, digits and "
                         "underscores, separated by dots, found ")
         << name;
}

Value fovea::tile::makeStaged(OpBuilder &b, Location loc, plan::KernelAttr plan,
                              StringRef name, Value value) {
  if (!plan || !plan.getStream(name).isStaged)
    return value;
  return StreamOp::create(b, loc, value.getType(), value,
                          b.getStringAttr(name));
}

StringRef fovea::tile::getFamily(StringAttr name) {
  return name ? name.getValue().split('.').first : StringRef();
}
