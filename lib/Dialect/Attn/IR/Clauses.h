//===- Clauses.h - Common clauses of attn ops -------------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_DIALECT_ATTN_IR_CLAUSES_H
#define FOVEA_LIB_DIALECT_ATTN_IR_CLAUSES_H

#include "fovea/Dialect/Attn/IR/Attn.h"

namespace fovea::attn {

/// Parses the part of the `layout` clause after its keyword: `(bhsd)` or
/// `(bshd)`.
inline mlir::FailureOr<LayoutAttr> parseLayout(mlir::OpAsmParser &parser) {
  llvm::StringRef name;
  mlir::SMLoc loc;
  if (parser.parseLParen() || parser.getCurrentLocation(&loc) ||
      parser.parseKeyword(&name) || parser.parseRParen())
    return mlir::failure();
  std::optional<Layout> layout = symbolizeLayout(name);
  if (!layout)
    return parser.emitError(loc, "expected 'bhsd' or 'bshd', found '")
           << name << "'";
  return LayoutAttr::get(parser.getContext(), *layout);
}

} // namespace fovea::attn

#endif // FOVEA_LIB_DIALECT_ATTN_IR_CLAUSES_H
