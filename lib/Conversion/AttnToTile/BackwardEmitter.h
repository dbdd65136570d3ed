//===- BackwardEmitter.h - Kernels of a backward pass -----------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The gradients that attn.backward asks for. A tile of queries meets all keys
// that it sees: dQ, and on the way D, what the derivatives by a row's scores
// share. A tile of keys meets all queries that see it, of all heads that share
// it: dK and dV; the scores lie the other way there, so that they are operands
// as they are. Either both are done, in kernels that sum nothing in memory; or
// tiles of keys add what they know of dQ to a sum in memory, which a kernel
// before them sets to zero and one behind them rounds. Kernels follow each
// other on a stream; the last one over tiles of keys, if there is one, is the
// main kernel, the others are its prologue and epilogue.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_CONVERSION_ATTNTOTILE_BACKWARDEMITTER_H
#define FOVEA_LIB_CONVERSION_ATTNTOTILE_BACKWARDEMITTER_H

#include "BackwardSums.h"
#include "KernelBuilder.h"
#include "OrderedBlocks.h"
#include "RegionToTile.h"
#include "TurnedLists.h"

#include "fovea/Schedule/BackwardPlans.h"

namespace fovea {

/// What one kernel does.
struct BackwardPart {
  /// Of queries: D, with zeros for dQ's sums; D, and of all pairs what is asked
  /// for; or dQ, rounded sums. Of keys: dK and dV, and what there is to add to
  /// dQ's sums.
  /// Turns: when each tile of keys may add to a block of queries.
  enum Kind { Delta, Queries, Round, Keys, Turns };
  Kind kind;
  llvm::StringRef suffix;
  /// Of a kernel of keys: what it finds.
  bool key = false, value = false;
  /// Of a kernel of queries: whether it finds dQ, and the sums by captured
  /// values, sinks and scale; whether it leaves D to others.
  bool query = false, sums = false, storesDelta = false;
  /// dQ is summed in memory.
  bool addsQuery = false;
  /// Then: in one order of the tiles, which take turns.
  bool ordersSums = false;
  /// Then: derivatives by scores stay in registers for dK's product; they are
  /// found from rounded weights.
  bool keepsGradients = false, roundsWeights = false, addsAhead = false;
  KeyRoles keyRoles = KeyRoles::Joint;
  /// Columns of a product for dQ.
  int64_t partColumns = kQueryPartColumns;
  /// What queries have of their own is read before the products beside it are
  /// issued, not when it is needed.
  bool exponentsFirst = false, deltaFirst = false;
  /// Score_mod's derivative is found with the weights, not when it is needed.
  bool slopesFirst = false;

  /// Its tiles are queries, or keys.
  bool hasQueryTiles() const { return kind != Keys && kind != Turns; }
  /// It writes whole blocks of memory in fragments, at least one.
  bool fillsFragments() const { return kind == Delta && addsQuery; }
};

/// Arguments of the kernels in scratch memory, by number.
struct BackwardScratch {
  /// D of each query: f32.
  std::optional<unsigned> delta;
  /// Where dQ is summed in memory, in fragments, as D is then: what each query
  /// adds to its exponents, f32, and the sums: f32.
  std::optional<unsigned> exponents, querySums;
  /// Where tiles take turns at a block's sums: a semaphore for each block, i32.
  /// How many tiles come before one at a block: i32 by tile and block, or
  /// nothing where each tile meets all blocks.
  std::optional<unsigned> semaphores, turns;
};

/// One kernel of a backward pass.
class BackwardEmitter {
public:
  BackwardEmitter(KernelBuilder &kb, attn::BackwardOp op, BackwardPart part,
                  plan::KernelAttr plan, const BackwardScratch &scratch,
                  BackwardSums &sums, TurnedLists &turned)
      : kb(kb), op(op), loc(op.getLoc()), part(part), plan(plan),
        scratch(scratch), sums(sums), turned(turned) {}

  /// So many turns, one behind the other, one CTA finds.
  static constexpr int64_t kTurnsOfWarp = 32;

  /// Whether a tile of keys visits a block of all heads of its group before the
  /// next one: the tiles of a head stay together then, and share what L2 holds.
  static bool visitsGroupByBlocks(attn::BackwardOp op, plan::KernelAttr plan);

  /// Emits the kernel's body where the builder stands.
  mlir::LogicalResult emit();

private:
  /// Operands of attn.backward by number.
  enum Operand : unsigned {
    kQ,
    kK,
    kV,
    kO,
    kLse,
    kOutputGradient,
    kLseGradient
  };

  /// One tile of scores, and what it is computed from: queries and output
  /// gradients, with what the rows' LSE adds to exponents and D.
  struct ScoreBlock {
    mlir::Value head, query, key;
    /// The head's number within its group, where blocks are visited head by
    /// head; or null.
    mlir::Value member;
    /// The query's row of scratch memory.
    mlir::Value scratchRow;
    mlir::Value queries, outputGradients, exponents, delta;
    mlir::Value keys, values;
    /// Those of each strip of keys, from its first key on.
    struct KeyStrip {
      mlir::Value key, keys, values;
    };
    llvm::SmallVector<KeyStrip, 2> strips;
    /// The strip at hand, whose are `key`, `keys` and `values`.
    int64_t strip = 0;
    /// What dQ's products read of the keys: so many columns, from the first one
    /// on where there are others.
    struct KeyPart {
      int64_t count;
      mlir::IntegerAttr first;
    };
    llvm::SmallVector<KeyPart, 2> keyParts;
    /// Whether some of its pairs may be masked, i1.
    mlir::Value partial;
    /// Whether the tile has a turn at dQ's sums there, i1; or null: it has.
    mlir::Value hasTurn;
    /// Where keys end: before the first one where a tile of keys that no list
    /// has meets a block in any case.
    mlir::Value keyEnd;
  };
  /// What a block's scores give: the weights before dropout, what that
  /// multiplies them by (or null), and their product as products take it; the
  /// products that scores are made of; or null, the weights times score_mod's
  /// derivative, which is all that derivatives by scores need of a pair.
  struct Weights {
    mlir::Value weight, factor, rounded, products, slope;
  };
  /// What a region of bounds says, within the rows that there are.
  struct Bounds {
    mlir::Value lower, fullLower, fullUpper, upper;
  };
  /// The blocks that a tile meets: those of a range, or single ones, which may
  /// be visited in order.
  struct Blocks {
    Bounds bounds;
    std::unique_ptr<VisitedBlocks> visited;
    std::unique_ptr<OrderedBlocks> ordered;
  };

  void emitOperands();
  void emitCoordinates();
  /// The tile among sequences that are entries of the batch, or packed.
  void emitBatchEntry();
  void emitPackedSequence();
  /// Rows of memory of a query and of a key.
  mlir::Value toQueryRow(mlir::Value query) {
    return toMemory(firstQuery, query);
  }
  /// A query's row of scratch memory.
  mlir::Value toScratchRow(mlir::Value query) {
    return toMemory(scratch.querySums ? firstScratch : firstQuery, query);
  }
  /// Where a packed sequence's blocks of queries begin in scratch memory.
  mlir::Value emitFirstScratch(const PackedTile &tile);
  mlir::Value toKeyRow(mlir::Value key) { return toMemory(firstKey, key); }
  mlir::Value toMemory(mlir::Value first, mlir::Value row);
  /// Whether tiles of keys take turns at dQ's sums from the diagonal on, each
  /// behind the one that begins a block later.
  bool followsDiagonal() const {
    return part.kind == BackwardPart::Keys && scratch.turns &&
           !visitsGroupByBlocks(op, plan);
  }
  /// Whether each of those begins at a block of its own. Those of a document
  /// without a diagonal begin at one, and wait for each other there.
  bool beginsApart() const {
    return followsDiagonal() && !(plan->classify && boundsAreOfAllKeys());
  }
  /// Whether the bounds on queries are the same for all keys.
  bool boundsAreOfAllKeys() const;
  mlir::Value emitHeadsPerSection();
  mlir::Value emitFinalTiles();
  mlir::LogicalResult emitQueryTile();
  mlir::LogicalResult emitKeyTile();
  void emitRounded();
  /// The last of the `rows` from `first` on that are below `of`, or 0.
  mlir::Value emitLastRow(mlir::Value first, mlir::Value of);
  mlir::FailureOr<Bounds> emitBounds(mlir::Region &region, mlir::Value head,
                                     mlir::Value first, mlir::Value of,
                                     mlir::Value limit);
  void loadQueries(ScoreBlock &block, bool needsOutputGradients);
  void loadKeys(ScoreBlock &block);
  /// D of the tile's rows, from O and its gradient; goes to memory, too.
  mlir::Value emitDelta(const ScoreBlock &block);
  mlir::FailureOr<Weights> emitWeights(const ScoreBlock &block);
  /// What weights are powers of 2 by.
  mlir::FailureOr<mlir::Value> emitExponent(const ScoreBlock &block,
                                            mlir::Value products,
                                            mlir::Value exponents);
  mlir::FailureOr<mlir::Value> emitModified(const ScoreBlock &block,
                                            const Weights &weights,
                                            mlir::Value gradient,
                                            Contributions contributions);
  /// Derivatives by scores before score_mod, rounded, of those by weights.
  mlir::FailureOr<mlir::Value> emitGradients(const ScoreBlock &block,
                                             const Weights &weights,
                                             mlir::Value delta,
                                             mlir::Value byWeight);
  /// The pairs whose weight counts, of rows that exist: a tile of i1.
  mlir::Value emitCounted(const ScoreBlock &block, mlir::Value weight);
  /// What a tile of queries adds to the gradient by its head's sink.
  void addSinkGradient(const ScoreBlock &block);
  /// A product of what is by queries and what is by keys, as scores lie.
  struct PairOperands {
    llvm::StringRef name;
    mlir::Value queries, keys;
  };
  /// A value of each query: of scratch memory, or known already.
  struct QueryValues {
    llvm::StringRef name;
    std::optional<unsigned> scratch;
    mlir::Value values;
    bool isFirst;
  };
  mlir::Value multiplyPairs(const ScoreBlock &block, const PairOperands &of);
  /// The product, and the values beside it.
  std::pair<mlir::Value, mlir::Value>
  emitPairProduct(const ScoreBlock &block, const PairOperands &of,
                  const QueryValues &beside);
  mlir::FailureOr<mlir::Value> emitVisible(const ScoreBlock &block,
                                           mlir::Value exponent);
  /// Hides what `keep` does not keep, if `condition` holds.
  mlir::FailureOr<mlir::Value>
  emitHidden(mlir::Value condition, mlir::Value exponent,
             llvm::function_ref<mlir::FailureOr<mlir::Value>()> keep);
  mlir::FailureOr<mlir::Value> emitListedVisible(const ScoreBlock &block,
                                                 mlir::Value exponent);
  mlir::FailureOr<mlir::Value> emitKeep(const ScoreBlock &block);
  /// The pairs whose query and key exist.
  mlir::Value emitExist(const ScoreBlock &block);
  /// Whether some pair's does not, i1.
  mlir::Value emitIsRagged(const ScoreBlock &block);
  /// What dropout multiplies weights by, or null.
  mlir::Value emitDropout(const ScoreBlock &block);
  /// The blocks of keys that a tile of queries meets.
  mlir::FailureOr<Blocks> emitKeyBlocks();
  /// The blocks of queries that a tile of keys meets.
  mlir::FailureOr<Blocks> emitQueryBlocks(ScoreBlock &block);
  /// Where the plan asks for them one by one: those within the bounds that see
  /// the tile of keys.
  mlir::LogicalResult emitClassified(const ScoreBlock &block, Blocks &blocks);
  /// Those that see it, in order, as tiles that take turns visit them.
  mlir::LogicalResult emitOrdered(const ScoreBlock &block, Blocks &blocks);
  /// Which blocks of queries within the bounds see the tile of keys: for who
  /// visits them, and for who counts turns.
  std::unique_ptr<BlockWords> makeWords(const ScoreBlock &block,
                                        const Bounds &bounds);
  /// The tile of keys as kv_classify sees it, and its last key.
  std::pair<RegionContext, mlir::Value>
  makeClassifiedTile(const ScoreBlock &block);
  /// Sums over blocks: `body` gets a block's first row, whether it may be
  /// masked and the sums so far, and gives the next ones.
  using LoopBody =
      llvm::function_ref<mlir::FailureOr<llvm::SmallVector<mlir::Value>>(
          mlir::Value, mlir::Value, mlir::ValueRange)>;
  mlir::FailureOr<mlir::ValueRange> emitLoop(const Blocks &blocks, bool upwards,
                                             mlir::ValueRange sums,
                                             LoopBody body);
  mlir::FailureOr<mlir::ValueRange>
  emitOrderedLoop(OrderedBlocks &blocks, mlir::ValueRange sums, LoopBody body);
  /// The block of one strip of the keys.
  ScoreBlock ofStrip(ScoreBlock block, int64_t strip) const {
    const ScoreBlock::KeyStrip &of = block.strips[strip];
    block.key = of.key;
    block.keys = of.keys;
    block.values = of.values;
    block.strip = strip;
    return block;
  }
  /// A name of what each strip has of its own.
  std::string getStripName(llvm::StringRef name, int64_t strip) const {
    return getStrips() == 1 ? name.str()
                            : (name + "." + llvm::Twine(strip)).str();
  }
  mlir::FailureOr<Weights> emitSharedWeights(const ScoreBlock &block);
  mlir::FailureOr<llvm::SmallVector<mlir::Value>>
  emitBlockOfKeyTile(const ScoreBlock &whole, mlir::ValueRange carried);
  mlir::FailureOr<llvm::SmallVector<mlir::Value>>
  emitVisits(ScoreBlock block, bool ofGroup, mlir::ValueRange sums);
  mlir::FailureOr<llvm::SmallVector<mlir::Value>>
  emitHeads(ScoreBlock block, mlir::ValueRange sums);
  /// A loop in which each block comes once for each head of a group: its
  /// bounds, in rows from 0 on; the number of its first block; 1 if the next
  /// blocks are those behind it, or -1; and what `emitMember` needs.
  struct GroupVisits {
    Bounds bounds;
    mlir::Value first, direction, reciprocal;
  };
  GroupVisits emitGroupVisits(const Bounds &bounds);
  mlir::Value emitVisitsUpwards();
  mlir::Value emitReciprocal();
  std::pair<mlir::Value, mlir::Value> emitMember(mlir::Value visit,
                                                 mlir::Value reciprocal);
  /// Replaces such a loop's row, and the group's first head, by the block's.
  void placeInGroup(ScoreBlock &block, const GroupVisits &visits);
  /// The block's semaphore: batch entry, head and number of the block.
  llvm::SmallVector<mlir::Value, 3> emitSemaphore(const ScoreBlock &block);
  /// Waits until the tile of keys may add to the block's sums; and lets the
  /// next tile do so. `part` is known by then.
  void emitStartOfTurn(const ScoreBlock &block, mlir::ValueRange semaphore,
                       mlir::Value part);
  void emitEndOfTurn(const ScoreBlock &block, mlir::ValueRange semaphore,
                     mlir::Value part);
  void emitNoTurnsYet();
  /// Which of the turns a tile has that a lane each stands for, a column tile
  /// of i1: they have the queries from `starts` to `ends`.
  struct TurnTiles;
  mlir::Value emitTurnsWithin(const Bounds &bounds, const TurnTiles &tiles,
                              mlir::Value starts, mlir::Value ends);
  mlir::FailureOr<mlir::Value>
  emitTurnsThatSee(mlir::Value row, const Bounds &bounds,
                   const TurnTiles &tiles, mlir::Value first, mlir::Value ends);
  mlir::LogicalResult emitTurns();
  /// Adds what the block knows of dQ to the sums in memory, from the
  /// derivatives by each strip's scores.
  void addQueryGradient(const ScoreBlock &block, mlir::ValueRange gradients);
  mlir::Value emitQueryPart(const ScoreBlock &block, mlir::ValueRange gradients,
                            int64_t index, int64_t across);
  /// Writes `scale` times the sum, or the sum, to a gradient.
  void store(mlir::Value sum, mlir::Value result, mlir::Value head,
             mlir::Value row, mlir::Value scale, llvm::StringRef name);
  /// The scale for a tile of sums `width` wide: a tile, or a scalar.
  mlir::Value emitScale(int64_t width);
  mlir::Value scratchArgument(std::optional<unsigned> number) {
    return kb.kernel.getArgument(*number);
  }
  mlir::Value resultArgument(mlir::Value result) {
    return kb.resultArgument(
        mlir::cast<mlir::OpResult>(result).getResultNumber());
  }

  RegionContext makeContext(const ScoreBlock &block);
  /// Rows of the kernel's tile.
  int64_t getTileRows() const { return plan->tileM; }
  /// Parts of it, with as many rows each, that a role of its own meets.
  int64_t getStrips() const {
    return part.keyRoles == KeyRoles::Strips ? kKeyStrips : 1;
  }
  /// Extents of a tile of scores.
  int64_t getRows() const { return getTileRows() / getStrips(); }
  int64_t getColumns() const { return plan->tileN; }
  mlir::RankedTensorType scoreType(mlir::Type element) {
    return kb.tileType(getRows(), getColumns(), element);
  }
  mlir::Value splatScore(double value) {
    return kb.splat(getRows(), getColumns(), value);
  }
  /// A value of each query as a tile of scores.
  mlir::Value broadcastRows(mlir::Value rows);
  mlir::Value product(llvm::StringRef name, mlir::Value a, mlir::Value b,
                      mlir::Value sum, bool transposeB,
                      bool transposeA = false);
  mlir::Value round(mlir::Value tile);
  mlir::Value splatLike(mlir::Value tile, double value);
  /// What is added to exponents of 2, and which rows see nothing, by LSE.
  mlir::Value emitExponents(mlir::Value rows);
  mlir::Value emitSeesNothing(mlir::Value rows);
  mlir::Value loadRowValue(mlir::Value memref, mlir::Value head,
                           mlir::Value row);
  mlir::Value loadScratchValue(std::optional<unsigned> number, mlir::Value head,
                               mlir::Value row, llvm::StringRef name);
  mlir::Value loadDelta(const ScoreBlock &block);
  /// Which of the block's queries there are: a row or a column of i1.
  mlir::Value emitQueriesExist(const ScoreBlock &block);
  void storeScratchValue(mlir::Value value, std::optional<unsigned> number,
                         mlir::Value head, mlir::Value row,
                         llvm::StringRef name);

  KernelBuilder &kb;
  attn::BackwardOp op;
  mlir::Location loc;
  BackwardPart part;
  plan::KernelAttr plan;
  BackwardScratch scratch;
  BackwardSums &sums;
  TurnedLists &turned;

  mlir::Type element;
  int64_t headDim, valueHeadDim;
  mlir::Value q, k, v, o, lse, outputGradient;
  llvm::SmallVector<mlir::Value> captures;
  KernelBuilder::Work work;
  mlir::Value queries, keys, keyHead, group;
  /// The batch entry in memory; rows where keys, and packed queries, end that
  /// the tile may see, or null; rows where packed ones begin, or null.
  mlir::Value memoryBatch, keyLimit, queryLimit, firstQuery, firstKey;
  /// Rows of scratch memory in blocks, where those of a packed sequence begin,
  /// or null.
  mlir::Value firstScratch;
};

} // namespace fovea

#endif // FOVEA_LIB_CONVERSION_ATTNTOTILE_BACKWARDEMITTER_H
