//===- Columns.cpp - Column slices of tiles ---------------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lowers the extraction and concatenation of columns, which only select
// registers: each thread must hold the same columns before and after.
//
//===----------------------------------------------------------------------===//

#include "WarpToNVVM.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace fovea;

namespace {
/// Registers of a tile by the coordinates of their elements, relative to the
/// thread's first element.
class RegisterMap {
public:
  void add(RankedTensorType tile, ValueRange registers, int64_t firstColumn) {
    auto [rows, columns] = getOffsets(tile);
    for (auto [index, value] : llvm::enumerate(registers))
      known[{rows[index], columns[index] + firstColumn}] = value;
  }

  /// Registers of `tile` at columns `firstColumn` on of the map; fails if the
  /// thread does not hold one of them.
  FailureOr<SmallVector<Value>> get(RankedTensorType tile,
                                    int64_t firstColumn) const {
    SmallVector<Value> result;
    auto [rows, columns] = getOffsets(tile);
    for (auto [row, column] : llvm::zip(rows, columns)) {
      auto found = known.find({row, column + firstColumn});
      if (found == known.end())
        return failure();
      result.push_back(found->second);
    }
    return result;
  }

private:
  static std::pair<SmallVector<int64_t>, SmallVector<int64_t>>
  getOffsets(RankedTensorType tile) {
    auto layout = cast<warp::ThreadLayoutAttrInterface>(tile.getEncoding());
    return {layout.getOffsets(tile.getShape(), 0),
            layout.getOffsets(tile.getShape(), 1)};
  }

  std::map<std::pair<int64_t, int64_t>, Value> known;
};

/// True if columns `distance` further on belong to the same threads.
static bool keepsColumns(RankedTensorType tile, int64_t distance) {
  auto layout = cast<warp::ThreadLayoutAttrInterface>(tile.getEncoding());
  return distance % layout.getPeriod(1) == 0 && tile.getDimSize(1) != 1;
}

struct ExtractColumnsLowering : OpConversionPattern<warp::ExtractColumnsOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(warp::ExtractColumnsOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    RankedTensorType source = op.getSource().getType(), result = op.getType();
    if (source == result) {
      rewriter.replaceOp(op, adaptor.getSource());
      return success();
    }
    auto elements = vector::ToElementsOp::create(rewriter, op.getLoc(),
                                                 adaptor.getSource());
    RegisterMap map;
    map.add(source, elements.getResults(), 0);
    FailureOr<SmallVector<Value>> registers = map.get(result, op.getFrom());
    if (failed(registers) || !keepsColumns(source, op.getFrom()) ||
        !keepsColumns(result, op.getFrom()))
      return op.emitOpError("columns from ")
             << op.getFrom()
             << " on must belong to the same threads as columns from 0 on in "
                "layout "
             << source.getEncoding();
    rewriter.replaceOpWithNewOp<vector::FromElementsOp>(
        op, cast<VectorType>(getTypeConverter()->convertType(result)),
        *registers);
    return success();
  }
};

struct ConcatColumnsLowering : OpConversionPattern<warp::ConcatColumnsOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(warp::ConcatColumnsOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    RankedTensorType result = op.getType();
    if (op.getParts().size() == 1) {
      rewriter.replaceOp(op, adaptor.getParts());
      return success();
    }
    RegisterMap map;
    int64_t column = 0;
    for (auto [part, vector] : llvm::zip(op.getParts(), adaptor.getParts())) {
      auto type = cast<RankedTensorType>(part.getType());
      if (!keepsColumns(type, column))
        return op.emitOpError("columns of part ")
               << type
               << " must belong to the same threads as the columns from "
               << column << " on of " << result;
      auto elements =
          vector::ToElementsOp::create(rewriter, op.getLoc(), vector);
      map.add(type, elements.getResults(), column);
      column += type.getDimSize(1);
    }
    FailureOr<SmallVector<Value>> registers = map.get(result, 0);
    if (failed(registers))
      return op.emitOpError("parts do not cover all columns of ") << result;
    rewriter.replaceOpWithNewOp<vector::FromElementsOp>(
        op, cast<VectorType>(getTypeConverter()->convertType(result)),
        *registers);
    return success();
  }
};
} // namespace

void fovea::populateColumnPatterns(RewritePatternSet &patterns,
                                   const TypeConverter &converter) {
  patterns.add<ConcatColumnsLowering, ExtractColumnsLowering>(
      converter, patterns.getContext());
}
