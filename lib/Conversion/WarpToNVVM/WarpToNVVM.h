//===- WarpToNVVM.h - Parts of warp-to-nvvm ---------------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
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

/// Tiles to one vector a thread, shared buffers to pointers.
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
/// The parts of a memref that `expandArguments` made.
mlir::FailureOr<GlobalView>
getGlobalView(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value memref);
/// The pointer of a memref that is still an argument: `expandArguments` fills
/// it in.
mlir::Value emitPointer(mlir::OpBuilder &builder, mlir::Location loc,
                        mlir::Value memref);
/// Drops arguments that nothing reads, from the kernel and its ABI.
void dropUnusedArguments(mlir::gpu::GPUFuncOp kernel, launch::AbiOp abi);

/// Pipeline verbs to cp.async groups and barriers.
mlir::LogicalResult lowerPipelines(mlir::gpu::GPUFuncOp kernel);

//===----------------------------------------------------------------------===//
// Specialised kernels
//===----------------------------------------------------------------------===//

/// One role of a specialised kernel, as a branch of the program that all warps
/// start. Values are i32 unless said otherwise.
struct Role {
  mlir::StringAttr name;
  /// The role's branch.
  mlir::Block *body = nullptr;
  int64_t firstWarp = 0, warps = 0;
  /// Carried out by one warp, whose leader acts: no warp groups.
  bool isSingleWarp = false;
  /// Number of the thread in the role, counted through the CTAs of a cluster.
  mlir::Value thread;
  /// Number of its warp in the role's part in the CTA. It is known to ptxas to
  /// be the same in all lanes.
  mlir::Value warp;
  /// i1, true in one lane of each warp that carries out the role.
  mlir::Value leader;

  /// Number of the warp group in the CTA, uniform.
  mlir::Value emitGroup(mlir::OpBuilder &builder, mlir::Location loc) const;
};

/// A kernel whose roles became branches.
struct Specialization {
  llvm::SmallVector<Role, 2> roles;
  /// Ends what one thread does before any role starts.
  mlir::Operation *endOfSetup = nullptr;
  int64_t clusterSize = 1;
  /// Registers of a thread as the launch gives them, before roles ask for other
  /// budgets; 0 without roles.
  int64_t launchedRegisters = 0;
  /// Number of the CTA in its cluster, i32; null if it is alone.
  mlir::Value rank;

  bool hasRoles() const { return !roles.empty(); }
  /// The role whose program `op` belongs to; null outside.
  const Role *getRole(mlir::Operation *op) const;
};

/// Turns a kernel's `warp.specialize`, if it has one, into branches on the
/// warp's number, behind a barrier.
mlir::FailureOr<Specialization> openRoles(mlir::gpu::GPUFuncOp kernel,
                                          launch::AbiOp abi);
/// Makes threads of each role count from its first one.
void numberThreads(const Specialization &kernel);

/// Dimensions of a box's memref as its tensor map has them, innermost first:
/// columns, rows (what they are folded along first), then the others.
llvm::SmallVector<int64_t> getMapDims(tile::BoxDims box, mlir::Value memref);
/// The dimension of the map that a box's rows run along, the outer one.
int64_t getMapRow(tile::BoxDims box);
/// The kernel's argument for the map of a tensor, by boxes of `boxRows` rows
/// and a panel's columns of the shared buffer: a new one, or one of another
/// copy. Fails with a diagnostic at `op`.
mlir::FailureOr<mlir::Value>
getTensorMap(mlir::Operation *op, mlir::Value memref, tile::BoxDims box,
             mlir::MemRefType shared, int64_t boxRows,
             mlir::gpu::GPUFuncOp kernel, launch::AbiOp abi);
void emitTensorMapPrefetch(mlir::OpBuilder &builder, mlir::Location loc,
                           mlir::Value map);

/// Copies of roles, as instructions of the copy engine.
class TmaLoads {
public:
  TmaLoads(mlir::gpu::GPUFuncOp kernel, launch::AbiOp abi)
      : kernel(kernel), abi(abi) {}

  /// Finds the copies and makes their tensor maps arguments.
  mlir::LogicalResult collect(const Specialization &roles);
  /// Brings the tensor maps close.
  void emitPrefetches(mlir::OpBuilder &builder);
  /// Replaces `copy`; `barrier` hears of its bytes. The lane where `leader` is
  /// true issues it. In a cluster each CTA copies a part of the rows: its own
  /// if the CTAs part the buffer, else one for all.
  mlir::LogicalResult lower(warp::CopyOp copy, mlir::Value barrier,
                            mlir::Value leader, const Specialization &roles);

private:
  mlir::LogicalResult add(warp::CopyOp copy);

  mlir::gpu::GPUFuncOp kernel;
  launch::AbiOp abi;
  llvm::DenseMap<mlir::Operation *, mlir::Value> maps;
  /// Depth of the deepest loop that copies from a source, and of all.
  llvm::DenseMap<mlir::Value, int64_t> depths;
  int64_t deepest = 0;
};

/// Pipelines between roles to mbarriers, with the copies into their stages.
mlir::LogicalResult lowerRolePipelines(mlir::gpu::GPUFuncOp kernel,
                                       launch::AbiOp abi,
                                       const Specialization &roles);
/// Turns, rows that become zero, mailboxes and the counter of work items.
mlir::LogicalResult lowerRoleMessages(mlir::gpu::GPUFuncOp kernel,
                                      launch::AbiOp abi,
                                      const Specialization &roles);

/// Barrier 0 is the whole CTA's.
inline constexpr int64_t kFirstBarrier = 1, kLastBarrier = 15;

/// Named barriers at which a role's warp groups meet, each for itself.
class GroupBarriers {
public:
  /// `first` is the first barrier that nobody uses.
  explicit GroupBarriers(int64_t first) : next(first) {}
  /// The threads of `op`'s warp group meet. Fails with a diagnostic at `op`
  /// where there are no more barriers.
  mlir::LogicalResult emit(mlir::OpBuilder &builder, mlir::Operation *op,
                           const Role &role);

private:
  int64_t next;
  llvm::DenseMap<const Role *, int64_t> barriers;
};

/// Rows that become zero, by stores of a role's warp groups.
mlir::LogicalResult lowerZeroRows(mlir::gpu::GPUFuncOp kernel,
                                  const Specialization &roles,
                                  GroupBarriers &barriers);
/// Copies out of roles, as instructions of the copy engine. What stores to
/// shared memory is left to patterns.
mlir::LogicalResult lowerOutputs(mlir::gpu::GPUFuncOp kernel, launch::AbiOp abi,
                                 const Specialization &roles,
                                 GroupBarriers &barriers);

/// What a role's operand in shared memory is: a buffer, and a stage of it
/// unless null.
struct SharedView {
  warp::AllocOp buffer;
  mlir::Value stage;
  mlir::MemRefType type;

  /// Byte distance of neighbouring stages.
  int64_t getStageBytes() const { return warp::getStorageBytes(type); }
  int64_t getPanel() const { return warp::getPanelColumns(type); }
  int64_t getRowBytes() const { return warp::getRowBytes(type); }
};
mlir::FailureOr<SharedView> getSharedView(mlir::Operation *user,
                                          mlir::Value memref);

/// Appends an argument to a kernel and its ABI.
mlir::Value appendArgument(mlir::gpu::GPUFuncOp kernel, launch::AbiOp abi,
                           mlir::Type type, mlir::Attribute parameter);

/// How many products may stay in flight at each wait for one: found in the
/// kernel as it is, since loops that carry products are taken apart on the way.
class WaitCounts {
public:
  explicit WaitCounts(mlir::gpu::GPUFuncOp kernel);
  /// Fails, with a diagnostic, where it is not known what is waited for.
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

/// In which code vectors of many registers are loaded, of which most are plain:
/// they exist whole and lie side by side.
class VectorLoads {
public:
  /// Where a branch ends with what is computed from vectors, as masks do, it
  /// becomes two, one for plain vectors.
  void split(mlir::gpu::GPUFuncOp kernel);

  /// Loads in code for plain vectors, and in that for others.
  bool isPlain(tile::LoadOp load) const { return plain.contains(load); }
  /// What lanes share of a plain vector, where that has been read ahead.
  llvm::ArrayRef<mlir::Value> getShares(tile::LoadOp load) const {
    return plain.find(load)->second;
  }
  bool isRare(tile::LoadOp load) const { return rare.contains(load); }

  /// Local memory for a rare load's elements, and for a word besides. Loads of
  /// one branch have different ones, and so have those of branches in it, while
  /// others use them one after the other.
  struct Buffer {
    mlir::Value elements, word;
  };
  Buffer getBuffer(tile::LoadOp load, mlir::Type element, int32_t count);

private:
  void split(mlir::Block &block);

  /// With what lanes share of them.
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<mlir::Value, 2>> plain;
  /// With numbers that differ where both may be in use.
  llvm::DenseMap<mlir::Operation *, unsigned> rare;
  /// By that number, type and count.
  std::map<std::tuple<unsigned, const void *, int32_t>, Buffer> buffers;
};

/// Kernels of one launch that run at the same time: what stands before a wait,
/// before arguments are expanded, and the waits themselves, behind that.
mlir::LogicalResult checkOverlap(mlir::gpu::GPUFuncOp kernel,
                                 launch::AbiOp abi);
void lowerOverlap(mlir::gpu::GPUFuncOp kernel, launch::AbiOp abi);

/// Refuses ops that belong to earlier levels, and says which pass takes them
/// away.
mlir::LogicalResult checkPassOrder(mlir::gpu::GPUFuncOp kernel);
/// Runs a conversion. Where it fails at an op that an earlier pass should have
/// taken away, its error says which.
mlir::LogicalResult
explainPassOrder(mlir::MLIRContext *context,
                 llvm::function_ref<mlir::LogicalResult()> convert);

//===----------------------------------------------------------------------===//
// Patterns
//===----------------------------------------------------------------------===//

/// `coordinates` must live as long as the patterns.
void populateTilePatterns(mlir::RewritePatternSet &patterns,
                          const mlir::TypeConverter &converter,
                          Coordinates &coordinates);
void populateDiagonalPatterns(mlir::RewritePatternSet &patterns,
                              const mlir::TypeConverter &converter);
void populateRandomPatterns(mlir::RewritePatternSet &patterns,
                            const mlir::TypeConverter &converter);
/// Scalars read from memory that nothing but turns of semaphores depends on, in
/// this round of a loop or the next one, for all that can be seen in the kernel
/// as it is.
class TurnReads {
public:
  explicit TurnReads(mlir::gpu::GPUFuncOp kernel);
  bool contains(mlir::Operation *load) const { return reads.contains(load); }

private:
  llvm::DenseSet<mlir::Operation *> reads;
};

/// `ways`, `turns` and `coordinates` must live as long as the patterns.
void populateGlobalMemoryPatterns(mlir::RewritePatternSet &patterns,
                                  const mlir::TypeConverter &converter,
                                  launch::AbiOp abi,
                                  const Specialization &roles,
                                  VectorLoads &ways, const TurnReads &turns,
                                  Coordinates &coordinates);
/// `tile.semaphore_wait` and `tile.semaphore_release`.
void populateSemaphorePatterns(mlir::RewritePatternSet &patterns,
                               const mlir::TypeConverter &converter,
                               launch::AbiOp abi, const Specialization &roles);
/// Of elements with a place each: gathers and scatters.
void populateSinglePlacePatterns(mlir::RewritePatternSet &patterns,
                                 const mlir::TypeConverter &converter,
                                 Coordinates &coordinates);
/// Copies whose first column is a multiple of what one instruction moves, for
/// all that can be seen in the kernel as it is: loops' indices are taken apart
/// on the way.
class CopyStarts {
public:
  explicit CopyStarts(mlir::gpu::GPUFuncOp kernel);
  bool isWhole(mlir::Operation *copy) const { return whole.contains(copy); }

private:
  llvm::DenseSet<mlir::Operation *> whole;
};

/// The CTA's threads share the work of a copy. `starts` must live as long as
/// the patterns.
void populateSharedMemoryPatterns(mlir::RewritePatternSet &patterns,
                                  const mlir::TypeConverter &converter,
                                  launch::AbiOp abi, const CopyStarts &starts);
/// Register tiles to shared buffers.
void populateLocalStorePatterns(mlir::RewritePatternSet &patterns,
                                const mlir::TypeConverter &converter);
void populateMmaSyncPatterns(mlir::RewritePatternSet &patterns,
                             const mlir::TypeConverter &converter);
/// Functions of `math` that the chip has no instruction for.
void populateMathPatterns(mlir::RewritePatternSet &patterns);

//===----------------------------------------------------------------------===//
// Small emitters
//===----------------------------------------------------------------------===//

/// Bytes of an element of a buffer.
inline int64_t getBytes(mlir::Type element) {
  return element.getIntOrFloatBitWidth() / 8;
}

/// Whether the integer is a multiple of `divisor`, a power of two, for all that
/// can be seen: sums and products of constants and of loops' indices.
bool isMultipleOf(mlir::Value value, int64_t divisor);
/// Bytes of which the host promises that the view's rows begin at multiples.
int64_t getAlignment(launch::AbiOp abi, const GlobalView &view);

/// The thread's number in its CTA, i32.
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

/// Inline PTX; its results one by one.
llvm::SmallVector<mlir::Value>
emitAsm(mlir::OpBuilder &builder, mlir::Location loc, llvm::StringRef text,
        llvm::StringRef constraints, mlir::ValueRange operands,
        mlir::TypeRange results = {}, bool hasSideEffects = true);
/// Address of byte `offset` of the CTA's dynamic shared memory, i32.
mlir::Value emitSharedAddress(mlir::OpBuilder &builder, mlir::Location loc,
                              int64_t offset);
/// An address of shared memory as NVVM's ops take it.
mlir::Value emitSharedPointer(mlir::OpBuilder &builder, mlir::Location loc,
                              mlir::Value address);
/// The threads, whole warps, meet at the barrier of that number.
void emitNamedBarrier(mlir::OpBuilder &builder, mlir::Location loc,
                      mlir::Value barrier, int64_t threads);
/// Whether `condition` holds in all lanes.
mlir::Value emitAll(mlir::OpBuilder &builder, mlir::Location loc,
                    mlir::Value condition);
/// `value` as lane 0 has it, the same in the whole warp.
mlir::Value emitUniform(mlir::OpBuilder &builder, mlir::Location loc,
                        mlir::Value value);

/// The value of the lane that many steps behind this one, and whether that
/// lies before or at the lane `last`.
std::pair<mlir::Value, mlir::Value>
emitShuffleDown(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value,
                mlir::Value steps, mlir::Value last);

/// What another lane holds of a number: the one that `lane` (i32) names, or
/// with `bfly` the one whose number differs from this one's in these bits.
mlir::Value emitShuffle(mlir::OpBuilder &builder, mlir::Location loc,
                        mlir::Value value, mlir::NVVM::ShflKind kind,
                        mlir::Value lane);

/// Byte offset of 16-byte chunk `chunk` of row `row` in a panel whose rows have
/// `rowBytes` bytes, i32.
mlir::Value emitSwizzle(mlir::OpBuilder &builder, mlir::Location loc,
                        mlir::Value row, mlir::Value chunk, int64_t rowBytes);

/// The places of a thread's elements of `tile`, one row, in a buffer of shared
/// memory: nothing of a row is swizzled.
llvm::SmallVector<mlir::Value> emitPlacesOfRow(mlir::OpBuilder &builder,
                                               mlir::Location loc,
                                               mlir::RankedTensorType tile,
                                               mlir::Value buffer);

/// Name of the symbol for the CTA's dynamic shared memory.
inline constexpr llvm::StringLiteral kSharedMemorySymbol = "fovea_shared";

} // namespace fovea

#endif // FOVEA_LIB_CONVERSION_WARPTONVVM_WARPTONVVM_H
