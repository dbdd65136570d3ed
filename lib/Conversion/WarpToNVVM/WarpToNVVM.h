//===- WarpToNVVM.h - Parts of warp-to-nvvm ---------------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Interface between the parts of warp-to-nvvm: types, roles, the lowerings in
// the order in which they run, and small emitters.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_CONVERSION_WARPTONVVM_WARPTONVVM_H
#define FOVEA_LIB_CONVERSION_WARPTONVVM_WARPTONVVM_H

#include "fovea/Dialect/Launch/IR/Launch.h"
#include "fovea/Dialect/Tile/IR/Tile.h"
#include "fovea/Dialect/Warp/IR/Warp.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Transforms/DialectConversion.h"

#include <map>

namespace fovea {

class Coordinates;

/// Loads of scalars by each lane, whose values differ between lanes.
using LaneReads = llvm::DenseSet<mlir::Operation *>;

/// Converts tiles to one vector per thread, shared buffers to pointers and
/// tensor memory to its 32-bit addresses.
class ThreadTypeConverter : public mlir::TypeConverter {
public:
  ThreadTypeConverter();
};

/// A memref argument of the kernel: address, sizes and strides, all i64.
struct GlobalView {
  mlir::Value pointer;
  llvm::SmallVector<mlir::Value> sizes, strides;
  mlir::MemRefType type;
};

/// Replaces memref arguments by pointers, sizes and strides, and scalars of
/// type index by i64; refines the ABI's parameters to match.
mlir::LogicalResult expandArguments(mlir::gpu::GPUFuncOp kernel,
                                    launch::AbiOp abi);
/// The pointer, sizes and strides of a memref that `expandArguments` replaced.
mlir::FailureOr<GlobalView>
getGlobalView(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value memref);
/// The pointer of a memref that is still an argument. `expandArguments`
/// resolves it.
mlir::Value emitPointer(mlir::OpBuilder &builder, mlir::Location loc,
                        mlir::Value memref);
/// Drops unused arguments from the kernel and its ABI.
void dropUnusedArguments(mlir::gpu::GPUFuncOp kernel, launch::AbiOp abi);

/// Lowers pipelines of kernels without roles to cp.async groups and barriers.
mlir::LogicalResult lowerPipelines(mlir::gpu::GPUFuncOp kernel);

//===----------------------------------------------------------------------===//
// Specialised kernels
//===----------------------------------------------------------------------===//

/// One role of a specialised kernel, as a branch that its warps take. Values
/// are i32 unless stated otherwise.
struct Role {
  mlir::StringAttr name;
  /// The role's branch.
  mlir::Block *body = nullptr;
  int64_t firstWarp = 0, warps = 0;
  /// True if one warp executes the role, and its leader issues the operations.
  bool isSingleWarp = false;
  /// Thread index in the role, counted across the CTAs of a cluster.
  mlir::Value thread;
  /// Warp index among the role's warps in the CTA. ptxas knows that it is
  /// warp-uniform.
  mlir::Value warp;
  /// i1, true in one lane of each warp that executes the role.
  mlir::Value leader;

  /// Index of the warp group among the role's groups in the CTA, warp-uniform.
  mlir::Value emitGroup(mlir::OpBuilder &builder, mlir::Location loc) const;
};

/// A kernel whose roles became branches.
struct Specialization {
  llvm::SmallVector<Role, 2> roles;
  /// The last op that thread 0 executes before the roles start.
  mlir::Operation *endOfSetup = nullptr;
  int64_t clusterSize = 1;
  /// Registers that the launch gives each thread, before roles change their
  /// budgets; 0 without roles.
  int64_t launchedRegisters = 0;
  /// Rank of the CTA in its cluster, i32; null without clusters.
  mlir::Value rank;
  /// Address of the CTA's tensor memory, i32; null without any.
  mlir::Value tensorMemory;

  bool hasRoles() const { return !roles.empty(); }
  /// The role that contains `op`, or null.
  const Role *getRole(mlir::Operation *op) const;
};

/// Lowers a kernel's `warp.specialize`, if any, to branches on the warp index,
/// after a barrier.
mlir::FailureOr<Specialization> openRoles(mlir::gpu::GPUFuncOp kernel,
                                          launch::AbiOp abi);
/// The tensor memory of a kernel. A CTA allocates it once, before its roles
/// start, and frees it when all of them have ended.
class TensorMemory {
public:
  TensorMemory(mlir::gpu::GPUFuncOp kernel, launch::AbiOp abi);

  /// Emits the allocation by one of the CTA's warps; a CTA barrier must follow.
  /// `warp` is the warp index, i32. Emits nothing if the kernel has no tensor
  /// memory, as the other functions.
  void emitAllocate(mlir::OpBuilder &builder, mlir::Location loc,
                    mlir::Value warp) const;
  /// The address of the first column, i32, after the barrier.
  mlir::Value emitAddress(mlir::OpBuilder &builder, mlir::Location loc) const;
  /// Emits the end of the allocation, which waits for all warps.
  void emitFree(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value warp,
                mlir::Value address) const;

private:
  /// Columns to allocate; 0 without tensor memory.
  int64_t columns = 0;
  /// Offset in shared memory of the word that receives the address.
  int64_t offset = 0;
};

/// Replaces thread indices in each role by indices relative to the role.
void numberThreads(const Specialization &kernel);

/// Dimensions of the memref in the order of its tensor map, innermost first:
/// columns, the dimension folded into the rows, rows, then the others.
llvm::SmallVector<int64_t> getMapDims(tile::BoxDims box, mlir::Value memref);
/// Position in the map of the dimension that the box's rows run along.
int64_t getMapRow(tile::BoxDims box);
/// The kernel argument with the tensor map of `memref`, for boxes of `boxRows`
/// rows and a panel's columns of the shared buffer. Reuses the argument of
/// another copy if possible. Fails with a diagnostic at `op`.
mlir::FailureOr<mlir::Value>
getTensorMap(mlir::Operation *op, mlir::Value memref, tile::BoxDims box,
             mlir::MemRefType shared, int64_t boxRows,
             mlir::gpu::GPUFuncOp kernel, launch::AbiOp abi);
void emitTensorMapPrefetch(mlir::OpBuilder &builder, mlir::Location loc,
                           mlir::Value map);

/// Lowers the asynchronous copies of roles to TMA instructions.
class TmaLoads {
public:
  TmaLoads(mlir::gpu::GPUFuncOp kernel, launch::AbiOp abi)
      : kernel(kernel), abi(abi) {}

  /// Collects the copies and adds their tensor maps as arguments.
  mlir::LogicalResult collect(const Specialization &roles);
  /// Prefetches the tensor maps.
  void emitPrefetches(mlir::OpBuilder &builder);
  /// Replaces `copy`, which signals its bytes to `barrier`. The lane for which
  /// `leader` is true issues it. In a cluster each CTA copies a part of the
  /// rows: its own rows if the buffer is partitioned among the CTAs, otherwise
  /// a part that is multicast to all.
  mlir::LogicalResult lower(warp::CopyOp copy, mlir::Value barrier,
                            mlir::Value leader, const Specialization &roles);

private:
  mlir::LogicalResult add(warp::CopyOp copy);

  mlir::gpu::GPUFuncOp kernel;
  launch::AbiOp abi;
  llvm::DenseMap<mlir::Operation *, mlir::Value> maps;
  /// Maximum loop depth of the copies of each source, and of all copies.
  llvm::DenseMap<mlir::Value, int64_t> depths;
  int64_t deepest = 0;
};

/// Lowers pipelines between roles to mbarriers, with the copies into their
/// stages.
mlir::LogicalResult lowerRolePipelines(mlir::gpu::GPUFuncOp kernel,
                                       launch::AbiOp abi,
                                       const Specialization &roles);
/// Lowers `warp.sync_lanes`.
void lowerLaneSyncs(mlir::gpu::GPUFuncOp kernel);
/// Lowers ping-pong turns, `warp.zero_rows`, output copies, mailboxes and the
/// work counter.
mlir::LogicalResult lowerRoleMessages(mlir::gpu::GPUFuncOp kernel,
                                      launch::AbiOp abi,
                                      const Specialization &roles);

/// Named barriers for warp groups. Barrier 0 is the CTA barrier.
inline constexpr int64_t kFirstBarrier = 1, kLastBarrier = 15;

/// Named barriers that synchronise each warp group of a role separately.
class GroupBarriers {
public:
  /// `first` is the first unused barrier.
  explicit GroupBarriers(int64_t first) : next(first) {}
  /// The threads of a warp group of the role, or all of a smaller role.
  static int64_t getThreads(const Role &role);
  /// Synchronises these threads where `op` is executed. Fails with a diagnostic
  /// at `op` if no barriers are left.
  mlir::LogicalResult emit(mlir::OpBuilder &builder, mlir::Operation *op,
                           const Role &role);

private:
  int64_t next;
  llvm::DenseMap<const Role *, int64_t> barriers;
};

/// Lowers `tile.arrive` to an atomic increment and barriers of the role.
/// `barrier` is the first unused named barrier, which advances.
mlir::LogicalResult lowerArrivals(mlir::gpu::GPUFuncOp kernel,
                                  launch::AbiOp abi,
                                  const Specialization &roles,
                                  int64_t &barrier);

/// Lowers `tile.take_share` to loops over groups, 32 at a time, one per lane.
void lowerShares(mlir::gpu::GPUFuncOp kernel, LaneReads &reads);

/// Lowers `warp.zero_rows` to stores of the role's warp groups.
mlir::LogicalResult lowerZeroRows(mlir::gpu::GPUFuncOp kernel,
                                  const Specialization &roles,
                                  GroupBarriers &barriers);
/// Lowers copies from shared to global memory to TMA instructions, with their
/// fences and barriers. Patterns lower the stores to shared memory.
mlir::LogicalResult lowerOutputs(mlir::gpu::GPUFuncOp kernel, launch::AbiOp abi,
                                 const Specialization &roles,
                                 GroupBarriers &barriers);

/// A shared-memory operand: a buffer, and a stage of it unless null.
struct SharedView {
  warp::AllocOp buffer;
  mlir::Value stage;
  mlir::MemRefType type;

  /// Bytes from one stage to the next.
  int64_t getStageBytes() const { return warp::getStorageBytes(type); }
  int64_t getPanel() const { return warp::getPanelColumns(type); }
  int64_t getRowBytes() const { return warp::getRowBytes(type); }
};
mlir::FailureOr<SharedView> getSharedView(mlir::Operation *user,
                                          mlir::Value memref);

/// Appends an argument to a kernel and its ABI.
mlir::Value appendArgument(mlir::gpu::GPUFuncOp kernel, launch::AbiOp abi,
                           mlir::Type type, mlir::Attribute parameter);

/// The number of MMAs that may stay outstanding at each wait for one. It is
/// computed before the conversion, which rewrites the loops that carry
/// outstanding results.
class WaitCounts {
public:
  explicit WaitCounts(mlir::gpu::GPUFuncOp kernel);
  /// Fails, with a diagnostic, if the awaited MMA is not known.
  llvm::FailureOr<int64_t> get(mlir::Operation *wait) const;

private:
  llvm::DenseMap<mlir::Operation *, int64_t> counts;
};

/// `counts` must live as long as the patterns.
void populateWgmmaPatterns(mlir::RewritePatternSet &patterns,
                           const mlir::TypeConverter &converter,
                           const Specialization &roles, launch::AbiOp abi,
                           const WaitCounts &counts);
void populateColumnPatterns(mlir::RewritePatternSet &patterns,
                            const mlir::TypeConverter &converter);
void populateLayoutPatterns(mlir::RewritePatternSet &patterns,
                            const mlir::TypeConverter &converter);

/// Splits code with loads of large vectors into a version for plain vectors and
/// one for others. A vector is plain if all its elements exist and are
/// contiguous.
class VectorLoads {
public:
  /// Splits the code from the vector loads to the last user, such as the
  /// application of a mask, into two versions.
  void split(mlir::gpu::GPUFuncOp kernel);

  /// True for loads in the version for plain vectors.
  bool isPlain(tile::LoadOp load) const { return plain.contains(load); }
  /// The elements that each lane has prefetched of a plain vector, which a
  /// shuffle distributes; empty without a prefetch.
  llvm::ArrayRef<mlir::Value> getShares(tile::LoadOp load) const {
    return plain.find(load)->second;
  }
  bool isRare(tile::LoadOp load) const { return rare.contains(load); }

  /// Local memory for the elements of a load that is not plain, and for one
  /// additional word. Loads that may be live at the same time, in one branch or
  /// in nested ones, have different buffers; others share them.
  struct Buffer {
    mlir::Value elements, word;
  };
  Buffer getBuffer(tile::LoadOp load, mlir::Type element, int32_t count);

private:
  void split(mlir::Block &block);

  /// Plain loads, with their prefetched elements.
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<mlir::Value, 2>> plain;
  /// Other loads, with buffer indices that differ if both loads may be live.
  llvm::DenseMap<mlir::Operation *, unsigned> rare;
  /// By buffer index, type and count.
  std::map<std::tuple<unsigned, const void *, int32_t>, Buffer> buffers;
};

/// Kernels of one launch that overlap. The check runs before arguments are
/// expanded; the lowering of waits runs after it.
mlir::LogicalResult checkOverlap(mlir::gpu::GPUFuncOp kernel,
                                 launch::AbiOp abi);
void lowerOverlap(mlir::gpu::GPUFuncOp kernel, launch::AbiOp abi);

/// Rejects ops of earlier levels with a diagnostic that names the pass which
/// removes them.
mlir::LogicalResult checkPassOrder(mlir::gpu::GPUFuncOp kernel);
/// Runs a conversion. If it fails at an op that an earlier pass should have
/// removed, the error names this pass.
mlir::LogicalResult
explainPassOrder(mlir::MLIRContext *context,
                 llvm::function_ref<mlir::LogicalResult()> convert);

//===----------------------------------------------------------------------===//
// Patterns
//===----------------------------------------------------------------------===//

/// Maxima of the columns of loads from tensor memory, by the loaded tile: one
/// scalar for each instruction.
using LoadedMaxima =
    llvm::DenseMap<mlir::Value, llvm::SmallVector<mlir::Value>>;

/// `coordinates` and `maxima` must live as long as the patterns. `packsFloats`
/// is the target's `packsFloats`.
void populateTilePatterns(mlir::RewritePatternSet &patterns,
                          const mlir::TypeConverter &converter,
                          Coordinates &coordinates, bool packsFloats,
                          const LoadedMaxima &maxima);
/// Tensor memory, and dots into it. With `reducesLoads`, the target's
/// `reducingTmemLoads`, loads whose maxima are needed add them to `maxima`.
void populateTensorMemoryPatterns(mlir::RewritePatternSet &patterns,
                                  const mlir::TypeConverter &converter,
                                  const Specialization &roles,
                                  bool reducesLoads, LoadedMaxima &maxima);
void populateRelativePositionPatterns(mlir::RewritePatternSet &patterns,
                                      const mlir::TypeConverter &converter);
void populateRandomPatterns(mlir::RewritePatternSet &patterns,
                            const mlir::TypeConverter &converter);
/// Scalar loads whose values are used only as semaphore slots, in this
/// iteration of a loop or the next one. Computed before the conversion.
class SemaphoreSlotReads {
public:
  explicit SemaphoreSlotReads(mlir::gpu::GPUFuncOp kernel);
  bool contains(mlir::Operation *load) const { return reads.contains(load); }

private:
  llvm::DenseSet<mlir::Operation *> reads;
};

/// Scratch memory that the kernel both writes and loads: loads must not move
/// across synchronisation. Its rows are aligned.
class ExchangeMemory {
public:
  ExchangeMemory(mlir::gpu::GPUFuncOp kernel, launch::AbiOp abi);
  bool contains(mlir::Operation *op) const { return ops.contains(op); }

private:
  /// Loads and stores of such memory.
  llvm::DenseSet<mlir::Operation *> ops;
};

/// `vectorLoads`, `exchange`, `slotReads`, `laneReads` and `coordinates`
/// must live as long as the patterns.
void populateGlobalMemoryPatterns(
    mlir::RewritePatternSet &patterns, const mlir::TypeConverter &converter,
    launch::AbiOp abi, const Specialization &roles, VectorLoads &vectorLoads,
    const ExchangeMemory &exchange, const SemaphoreSlotReads &slotReads,
    const LaneReads &laneReads, Coordinates &coordinates);
/// `tile.semaphore_wait` and `tile.semaphore_release`.
void populateSemaphorePatterns(mlir::RewritePatternSet &patterns,
                               const mlir::TypeConverter &converter,
                               launch::AbiOp abi, const Specialization &roles);
/// Gathers and scatters.
void populateGatherScatterPatterns(mlir::RewritePatternSet &patterns,
                                   const mlir::TypeConverter &converter,
                                   Coordinates &coordinates);
/// `tile.copy_rows`.
void populateCopyRowsPatterns(mlir::RewritePatternSet &patterns,
                              const mlir::TypeConverter &converter,
                              launch::AbiOp abi, const Specialization &roles);
/// Copies whose first column is provably a multiple of the columns that one
/// instruction copies. Computed before the conversion, which rewrites the
/// induction variables of loops.
class CopyStarts {
public:
  explicit CopyStarts(mlir::gpu::GPUFuncOp kernel);
  bool isAligned(mlir::Operation *copy) const { return aligned.contains(copy); }

private:
  llvm::DenseSet<mlir::Operation *> aligned;
};

/// Copies are distributed over the threads of the CTA. `starts` must live as
/// long as the patterns.
void populateSharedMemoryPatterns(mlir::RewritePatternSet &patterns,
                                  const mlir::TypeConverter &converter,
                                  launch::AbiOp abi, const CopyStarts &starts);
/// Register tiles to shared buffers.
void populateLocalStorePatterns(mlir::RewritePatternSet &patterns,
                                const mlir::TypeConverter &converter);
void populateMmaSyncPatterns(mlir::RewritePatternSet &patterns,
                             const mlir::TypeConverter &converter, bool tf32);
/// Fails if the kernel computes with 8-bit floats other than by moving them and
/// by conversions that the target has.
llvm::LogicalResult checkEightBitFloats(mlir::gpu::GPUFuncOp kernel,
                                        launch::AbiOp abi);
/// Moves transposed loads of 8-bit tiles to the store that is their only use,
/// unless their stage is released before. The store then loads in parts.
void sinkTransposedLoads(mlir::gpu::GPUFuncOp kernel);
/// Conversions of 8-bit floats, and their transposition between buffers.
void populateEightBitPatterns(mlir::RewritePatternSet &patterns,
                              const mlir::TypeConverter &converter);
/// Functions of `math` without a hardware instruction.
void populateMathPatterns(mlir::RewritePatternSet &patterns);

//===----------------------------------------------------------------------===//
// Small emitters
//===----------------------------------------------------------------------===//

/// Bytes of an element.
inline int64_t getBytes(mlir::Type element) {
  return element.getIntOrFloatBitWidth() / 8;
}

/// The byte alignment that the host guarantees for the start of the view's
/// rows.
int64_t getAlignment(launch::AbiOp abi, const GlobalView &view);

/// The thread index in the CTA, i32.
mlir::Value emitThread(mlir::OpBuilder &builder, mlir::Location loc);
mlir::Value emitI32(mlir::OpBuilder &builder, mlir::Location loc,
                    int64_t value);
mlir::Value emitI64(mlir::OpBuilder &builder, mlir::Location loc,
                    int64_t value);
/// index or i32 to i64.
mlir::Value emitToI64(mlir::OpBuilder &builder, mlir::Location loc,
                      mlir::Value value);
/// index or i64 to i32.
mlir::Value emitToI32(mlir::OpBuilder &builder, mlir::Location loc,
                      mlir::Value value);

/// Emits inline PTX and returns its results separately.
llvm::SmallVector<mlir::Value>
emitAsm(mlir::OpBuilder &builder, mlir::Location loc, llvm::StringRef text,
        llvm::StringRef constraints, mlir::ValueRange operands,
        mlir::TypeRange results = {}, bool hasSideEffects = true);
/// Address of byte `offset` of the CTA's dynamic shared memory, i32.
mlir::Value emitSharedAddress(mlir::OpBuilder &builder, mlir::Location loc,
                              int64_t offset);
/// Converts a shared-memory address to the pointer type of NVVM's ops.
mlir::Value emitSharedPointer(mlir::OpBuilder &builder, mlir::Location loc,
                              mlir::Value address);
/// Converts an address in tensor memory, i32, to the pointer type of NVVM's
/// ops.
mlir::Value emitTensorPointer(mlir::OpBuilder &builder, mlir::Location loc,
                              mlir::Value address);
/// Synchronises `threads` threads, in whole warps, at the named barrier.
void emitNamedBarrier(mlir::OpBuilder &builder, mlir::Location loc,
                      mlir::Value barrier, int64_t threads);
/// i1, true if `condition` holds in all lanes.
mlir::Value emitAll(mlir::OpBuilder &builder, mlir::Location loc,
                    mlir::Value condition);
/// Broadcasts the value of lane 0 to the warp.
mlir::Value emitUniform(mlir::OpBuilder &builder, mlir::Location loc,
                        mlir::Value value);

/// The value of the lane `steps` after this one, and an i1 that is true if that
/// lane is not after `last`.
std::pair<mlir::Value, mlir::Value>
emitShuffleDown(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value,
                mlir::Value steps, mlir::Value last);

/// The value that another lane holds: lane `lane` (i32), or with `bfly` the
/// lane whose index is this lane's xor `lane`.
mlir::Value emitShuffle(mlir::OpBuilder &builder, mlir::Location loc,
                        mlir::Value value, mlir::NVVM::ShflKind kind,
                        mlir::Value lane);

/// Byte offset of 16-byte chunk `chunk` of row `row` in a panel whose rows have
/// `rowBytes` bytes, i32.
mlir::Value emitSwizzle(mlir::OpBuilder &builder, mlir::Location loc,
                        mlir::Value row, mlir::Value chunk, int64_t rowBytes);

/// Addresses of the thread's elements of a tile with one row or one column in a
/// shared buffer. Such buffers are not swizzled.
llvm::SmallVector<mlir::Value> emitVectorAddresses(mlir::OpBuilder &builder,
                                                   mlir::Location loc,
                                                   mlir::RankedTensorType tile,
                                                   mlir::Value buffer);

/// Name of the symbol for the CTA's dynamic shared memory.
inline constexpr llvm::StringLiteral kSharedMemorySymbol = "fovea_shared";

} // namespace fovea

#endif // FOVEA_LIB_CONVERSION_WARPTONVVM_WARPTONVVM_H
