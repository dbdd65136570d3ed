//===- fovea-mask-test.cpp - The mask analysis against masks ----*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Generates random masks, runs attn-analyze-mask on them, and compares the
// results of kv_bounds, query_bounds and kv_classify for random blocks with the
// mask at every query and key of the block. The first block with a wrong result
// is printed with its mask, and the exit code is 1.
//
//===----------------------------------------------------------------------===//

#include "RandomMask.h"

#include "fovea/Dialect/Attn/IR/Attn.h"
#include "fovea/Dialect/Attn/Transforms/Passes.h"
#include "fovea/InitAll.h"
#include "fovea/Interpreter/Handlers.h"
#include "fovea/Interpreter/Interpreter.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/Support/CommandLine.h"

#include <limits>

using namespace mlir;
using namespace fovea;
using namespace fovea::interp;
using fovea::test::kTableSize;
using fovea::test::Random;
namespace cl = llvm::cl;

static cl::opt<uint64_t> seed("seed", cl::desc("First seed; one per mask"),
                              cl::init(1));
static cl::opt<int64_t> blocks("blocks", cl::desc("Number of blocks to check"),
                               cl::init(100000));
static cl::opt<int64_t>
    leastKnown("least-known", cl::init(0),
               cl::desc("Fail if fewer per cent of the blocks without visible "
                        "keys, or of those without hidden keys, are known"));
static cl::opt<bool> print("print", cl::desc("Print each mask"));

namespace {
/// Number of blocks checked, of blocks without visible keys and of blocks
/// without hidden keys, and how many of these the analysis recognizes.
struct Counts {
  int64_t masks = 0, classified = 0, blocks = 0;
  int64_t none = 0, knownNone = 0, all = 0, knownAll = 0;
  /// Blocks of keys with no query in their bounds.
  int64_t leftOut = 0;
};

/// Sizes and captured values of one run, and the block of queries.
struct Problem {
  SequenceLengths lengths;
  int64_t batch, head, firstQuery, lastQuery, firstKey, numKeys, blockKeys;
  SmallVector<RuntimeValue> captures;
};

/// One mask under test.
class MaskTest {
public:
  MaskTest(attn::BackwardOp op, const InterpreterRegistry &registry,
           Counts &counts)
      : op(op), registry(registry), counts(counts) {}

  /// Checks the problem's blocks of keys and prints the first error.
  LogicalResult check(const Problem &problem);

private:
  LogicalResult run(const Problem &problem, Region &region,
                    ArrayRef<RuntimeValue> coordinates,
                    SmallVectorImpl<RuntimeValue> &results);
  LogicalResult evaluateMask(const Problem &problem);
  LogicalResult checkBounds(const Problem &problem);
  LogicalResult checkBlock(const Problem &problem, int64_t first, int64_t last);
  /// Checks query_bounds of the problem's keys from `first` to `last`.
  LogicalResult checkQueryBounds(const Problem &problem, int64_t first,
                                 int64_t last);
  bool isVisible(int64_t query, int64_t key) const {
    return visible[query * numKeys + key];
  }
  LogicalResult fail(const Problem &problem, const Twine &what);

  attn::BackwardOp op;
  const InterpreterRegistry &registry;
  Counts &counts;
  /// The mask at the problem's queries and keys, row by row.
  std::vector<char> visible;
  int64_t numQueries = 0, numKeys = 0;
};
} // namespace

static RuntimeValue makeArray(ArrayRef<int64_t> shape,
                              ArrayRef<int64_t> elements) {
  auto array = std::make_shared<Array>(shape, Storage::Int);
  llvm::copy(elements, array->data<int64_t>());
  return RuntimeValue::array(std::move(array));
}

static RuntimeValue makeSteps(int64_t first, int64_t count, bool areRows) {
  SmallVector<int64_t> steps =
      llvm::to_vector(llvm::seq<int64_t>(first, first + count));
  if (areRows)
    return makeArray({count, 1}, steps);
  return makeArray({1, count}, steps);
}

LogicalResult MaskTest::fail(const Problem &problem, const Twine &what) {
  llvm::errs() << "queries " << problem.firstQuery << " to "
               << problem.lastQuery << " of " << problem.lengths.queries
               << ", batch entry " << problem.batch << ", head " << problem.head
               << ", " << problem.lengths.keys << " keys, captured scalars";
  for (const RuntimeValue &capture : problem.captures)
    if (capture.isInteger())
      llvm::errs() << ' ' << capture.getInteger();
  llvm::errs() << ": " << what << "\n";
  return failure();
}

LogicalResult MaskTest::run(const Problem &problem, Region &region,
                            ArrayRef<RuntimeValue> coordinates,
                            SmallVectorImpl<RuntimeValue> &results) {
  SmallVector<RuntimeValue> arguments = {RuntimeValue::integer(problem.batch),
                                         RuntimeValue::integer(problem.head)};
  llvm::append_range(arguments, coordinates);
  llvm::append_range(arguments, problem.captures);
  Frame frame(registry, Precision::Exact);
  frame.setEnvironment(&problem.lengths);
  if (succeeded(frame.run(region, arguments, results)))
    return success();
  frame.emitDiagnostic();
  return fail(problem, "a region can't be evaluated");
}

LogicalResult MaskTest::evaluateMask(const Problem &problem) {
  numQueries = problem.lastQuery - problem.firstQuery + 1;
  numKeys = problem.numKeys;
  SmallVector<RuntimeValue> results;
  if (failed(run(problem, op.getMaskMod(),
                 {makeSteps(problem.firstQuery, numQueries, /*areRows=*/true),
                  makeSteps(problem.firstKey, numKeys, /*areRows=*/false)},
                 results)))
    return failure();
  visible.assign(numQueries * numKeys, 0);
  if (results[0].isInteger()) {
    llvm::fill(visible, results[0].getInteger() != 0);
    return success();
  }
  const Array &array = results[0].getArray();
  const int64_t *data = array.data<int64_t>();
  int64_t rows = array.getShape()[0], columns = array.getShape()[1];
  for (int64_t i = 0; i < numQueries; ++i)
    for (int64_t j = 0; j < numKeys; ++j)
      visible[i * numKeys + j] =
          data[(rows == 1 ? 0 : i) * columns + (columns == 1 ? 0 : j)] != 0;
  return success();
}

LogicalResult MaskTest::checkBounds(const Problem &problem) {
  SmallVector<RuntimeValue> bounds;
  if (failed(run(problem, op.getKvBounds(),
                 {RuntimeValue::integer(problem.firstQuery),
                  RuntimeValue::integer(problem.lastQuery)},
                 bounds)))
    return failure();
  int64_t lb = bounds[0].getInteger(), fb = bounds[1].getInteger(),
          fe = bounds[2].getInteger(), ub = bounds[3].getInteger();
  std::string text = ("kv_bounds " + Twine(lb) + ", " + Twine(fb) + ", " +
                      Twine(fe) + ", " + Twine(ub))
                         .str();
  if (lb < 0 || lb > fb || fb > fe || fe > ub || ub > problem.lengths.keys)
    return fail(problem, Twine("not in order: ") + text);
  for (int64_t i = 0; i < numQueries; ++i)
    for (int64_t n = 0; n < numKeys; ++n) {
      int64_t j = problem.firstKey + n;
      if (isVisible(i, n) && (j < lb || j >= ub))
        return fail(problem, text + " leave out key " + Twine(j));
      if (!isVisible(i, n) && j >= fb && j < fe)
        return fail(problem, text + " show key " + Twine(j));
    }
  return success();
}

LogicalResult MaskTest::checkQueryBounds(const Problem &problem, int64_t first,
                                         int64_t last) {
  SmallVector<RuntimeValue> bounds;
  if (failed(run(problem, op.getQueryBounds(),
                 {RuntimeValue::integer(problem.firstKey + first),
                  RuntimeValue::integer(problem.firstKey + last)},
                 bounds)))
    return failure();
  int64_t lb = bounds[0].getInteger(), fb = bounds[1].getInteger(),
          fe = bounds[2].getInteger(), ub = bounds[3].getInteger();
  std::string text =
      ("keys " + Twine(problem.firstKey + first) + " to " +
       Twine(problem.firstKey + last) + ", query_bounds " + Twine(lb) + ", " +
       Twine(fb) + ", " + Twine(fe) + ", " + Twine(ub))
          .str();
  if (lb < 0 || lb > fb || fb > fe || fe > ub || ub > problem.lengths.queries)
    return fail(problem, Twine("not in order: ") + text);
  bool isLeftOut = true;
  for (int64_t n = 0; n < numQueries; ++n) {
    int64_t i = problem.firstQuery + n;
    bool isAny = false, isAll = true;
    for (int64_t key = first; key <= last; ++key) {
      isAny |= isVisible(n, key);
      isAll &= isVisible(n, key);
    }
    if (isAny && (i < lb || i >= ub))
      return fail(problem, text + " leave out query " + Twine(i));
    if (!isAll && i >= fb && i < fe)
      return fail(problem, text + " show query " + Twine(i));
    isLeftOut &= i < lb || i >= ub;
  }
  counts.leftOut += isLeftOut;
  return success();
}

LogicalResult MaskTest::checkBlock(const Problem &problem, int64_t first,
                                   int64_t last) {
  bool isAny = false, isAll = true;
  for (int64_t i = 0; i < numQueries; ++i)
    for (int64_t n = first; n <= last; ++n) {
      isAny |= isVisible(i, n);
      isAll &= isVisible(i, n);
    }
  SmallVector<RuntimeValue> found;
  if (failed(run(problem, op.getKvClassify(),
                 {RuntimeValue::integer(problem.firstQuery),
                  RuntimeValue::integer(problem.lastQuery),
                  RuntimeValue::integer(problem.firstKey + first),
                  RuntimeValue::integer(problem.firstKey + last)},
                 found)))
    return failure();
  bool any = found[0].getInteger(), all = found[1].getInteger();
  std::string text = ("keys " + Twine(problem.firstKey + first) + " to " +
                      Twine(problem.firstKey + last))
                         .str();
  if (isAny && !any)
    return fail(problem, text + " hold a visible one, but no 'any'");
  if (!isAll && all)
    return fail(problem, text + " hold a hidden one, but 'all'");
  counts.none += !isAny;
  counts.knownNone += !any;
  counts.all += isAll;
  counts.knownAll += all;
  return success();
}

LogicalResult MaskTest::check(const Problem &problem) {
  if (failed(evaluateMask(problem)) || failed(checkBounds(problem)))
    return failure();
  for (int64_t first = 0; first < numKeys; first += problem.blockKeys) {
    ++counts.blocks;
    int64_t last = std::min(first + problem.blockKeys, numKeys) - 1;
    if (failed(checkQueryBounds(problem, first, last)) ||
        (!op.getKvClassify().empty() &&
         failed(checkBlock(problem, first, last))))
      return failure();
  }
  return success();
}

/// An i32 or index that a host may pass: mostly small, now and then extreme.
static int64_t makeScalar(Random &random, int64_t extreme) {
  switch (random.below(10)) {
  case 0:
    return extreme - random.below(3);
  case 1:
    return -extreme - 1 + random.below(3);
  case 2:
    return random.between(-1000000, 1000000);
  default:
    return random.between(-40, 150);
  }
}

static Problem makeProblem(Random &random, bool readsPositions) {
  Problem problem;
  int64_t longest =
      readsPositions
          ? kTableSize
          : random.pick<int64_t>(
                {70, 400, 100000, attn::BackwardOp::kMaxSequenceLength});
  problem.lengths = {random.between(1, longest), random.between(1, longest)};
  problem.batch = random.below(2);
  problem.head = random.below(4);
  auto range = [&](int64_t length, int64_t most, int64_t &first,
                   int64_t &count) {
    count = random.between(1, std::min(most, length));
    // Mostly near the other coordinate, because masks differ there.
    int64_t start = random.chance(60)
                        ? random.below(std::min<int64_t>(length, 200))
                        : random.below(length);
    first = std::min(start, length - count);
  };
  int64_t numQueries;
  range(problem.lengths.queries, random.pick({1, 4, 16, 24}),
        problem.firstQuery, numQueries);
  problem.lastQuery = problem.firstQuery + numQueries - 1;
  range(problem.lengths.keys, 64, problem.firstKey, problem.numKeys);
  problem.blockKeys = random.pick({1, 3, 8, 16});

  auto fill = [&](ArrayRef<int64_t> shape, auto element) {
    int64_t count = 1;
    for (int64_t size : shape)
      count *= size;
    SmallVector<int64_t> elements;
    for (int64_t n = 0; n < count; ++n)
      elements.push_back(element(n % shape.back()));
    return makeArray(shape, elements);
  };
  int64_t step = random.between(5, 40), spread = random.pick({0, 0, 3, 100});
  auto document = [&](int64_t n) {
    return n / step + random.below(spread + 1);
  };
  auto far = [&](int64_t) { return makeScalar(random, INT32_MAX); };
  bool isExtreme = random.chance(10), isMixed = random.chance(30);
  problem.captures = {RuntimeValue::integer(makeScalar(random, INT32_MAX)),
                      RuntimeValue::integer(makeScalar(random, INT64_MAX)),
                      fill({2}, far),
                      isExtreme ? fill({2, kTableSize}, far)
                                : fill({2, kTableSize}, document),
                      fill({kTableSize},
                           [&](int64_t n) {
                             return isMixed ? random.between(-128, 127) : n / 3;
                           }),
                      fill({2, kTableSize}, [&](int64_t n) {
                        return int64_t(isMixed ? random.below(2) : n < 50);
                      })};
  return problem;
}

static LogicalResult testMask(MLIRContext &context, uint64_t maskSeed,
                              const InterpreterRegistry &registry,
                              Counts &counts) {
  Random random(maskSeed);
  fovea::test::RandomMask mask = fovea::test::makeRandomMask(random);
  if (print)
    llvm::outs() << "// seed " << maskSeed << "\n" << mask.source;
  auto module = parseSourceString<ModuleOp>(mask.source, &context);
  if (!module)
    return failure();
  PassManager pm(&context);
  if (random.chance(50))
    pm.addPass(createCanonicalizerPass());
  pm.addPass(attn::createAttnAnalyzeMask());
  if (failed(pm.run(*module)))
    return failure();
  attn::BackwardOp op;
  module->walk([&](attn::BackwardOp found) { op = found; });
  // Canonicalization removes a mask that is always true.
  if (op.getMaskMod().empty())
    return success();
  // It also removes captured values, but problems have all of them.
  ++counts.masks;
  counts.classified += !op.getKvClassify().empty();
  MaskTest test(op, registry, counts);
  for (int n = 0; n < 8; ++n) {
    Problem problem = makeProblem(random, mask.readsPositions);
    SmallVector<RuntimeValue> kept;
    for (unsigned index = 0; index < op.getCaptures().size(); ++index)
      kept.push_back(problem.captures[op.getCaptureNumber(index)]);
    problem.captures = kept;
    if (succeeded(test.check(problem)))
      continue;
    llvm::errs() << "seed " << maskSeed << ":\n";
    module->print(llvm::errs());
    return failure();
  }
  return success();
}

int main(int argc, char **argv) {
  cl::ParseCommandLineOptions(argc, argv,
                              "Random tests of the mask analysis\n");
  DialectRegistry dialects;
  fovea::registerDialects(dialects);
  MLIRContext context(dialects, MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  // Masks that hide everything are expected.
  ScopedDiagnosticHandler handler(&context, [](Diagnostic &diagnostic) {
    return success(diagnostic.getSeverity() == DiagnosticSeverity::Warning);
  });
  InterpreterRegistry registry;
  registerAllHandlers(registry);
  Counts counts;
  for (uint64_t next = seed; counts.blocks < blocks; ++next)
    if (failed(testMask(context, next, registry, counts)))
      return 1;
  llvm::outs() << counts.blocks << " blocks of " << counts.masks << " masks, "
               << counts.classified << " of them classified\n"
               << "blocks without visible keys: " << counts.knownNone << " of "
               << counts.none << " known\n"
               << "blocks without hidden keys: " << counts.knownAll << " of "
               << counts.all << " known\n"
               << "blocks of keys with other queries alone: " << counts.leftOut
               << "\n";
  if (100 * counts.knownNone < leastKnown * counts.none ||
      100 * counts.knownAll < leastKnown * counts.all) {
    llvm::errs() << "fewer than " << leastKnown << " % are known\n";
    return 1;
  }
  return 0;
}
