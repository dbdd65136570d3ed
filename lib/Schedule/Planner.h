//===- Planner.h - What makes schedules for a matrix unit -------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_SCHEDULE_PLANNER_H
#define FOVEA_LIB_SCHEDULE_PLANNER_H

#include "fovea/Schedule/BackwardPlans.h"

#include <memory>
#include <optional>

namespace fovea {

/// Makes schedules of kernels for one matrix unit: it alone knows the unit's
/// limits, and how its kernels part registers and shared memory. One object for
/// each unit, in a file of its own; nothing else asks which unit it is.
class Planner {
public:
  explicit Planner(plan::MatrixUnitAttrInterface unit) : unit(unit) {}
  virtual ~Planner() = default;

  plan::MatrixUnitAttrInterface getUnit() const { return unit; }

  /// Whether the chip has the unit.
  virtual bool isOn(const TargetInfo &target) const = 0;

  /// Tile sizes, warps and buffers that a search tries, and changes of order
  /// and arithmetic besides those of all units (ScheduleSpace.h).
  virtual std::vector<std::vector<std::string>> listShapes() const = 0;
  virtual std::vector<std::string> listVariations() const = 0;

  /// The best fields for a problem, or nothing if the target or the problem
  /// rules the unit out. With a `recurrence` that is asked for they are the
  /// best with that.
  virtual std::optional<ScheduleFields>
  decide(const ScheduleProblem &problem,
         std::optional<plan::RecurrenceKind> recurrence) const = 0;

  /// Why there are none for a target that has the unit, for a reader.
  virtual std::string explainRefusal(const ScheduleProblem &problem) const;

  /// Whether fields, be they chosen or asked for, are of this unit's kernels.
  virtual bool isFor(const ScheduleFields &fields) const = 0;

  /// Makes fields that nobody asked for what those in `asked` leave room for.
  virtual mlir::LogicalResult
  fit(const ScheduleProblem &problem, const llvm::StringSet<> &asked,
      ScheduleFields &fields,
      llvm::function_ref<mlir::InFlightDiagnostic()> emitError) const = 0;

  /// What instructions, registers and memory need of the fields.
  virtual mlir::LogicalResult
  check(const ScheduleProblem &problem, const ScheduleFields &fields,
        llvm::function_ref<mlir::InFlightDiagnostic()> emitError) const = 0;

  /// Bytes of shared memory that a kernel with the fields needs.
  virtual int64_t getSharedMemory(const ScheduleProblem &problem,
                                  const ScheduleFields &fields) const = 0;

  /// The plan of a kernel with these fields, which must be right.
  plan::KernelAttr makePlan(const ScheduleFields &fields) const;

  /// Which kernels of the unit find gradients: none, ones in which all warps
  /// run one program, or ones in roles.
  enum class BackwardForm { None, OneProgram, Roles };
  virtual BackwardForm getBackwardForm() const { return BackwardForm::None; }
  /// Why such kernels do not find the problem's gradients, as the end of an
  /// error; nothing if they do.
  virtual std::optional<std::string>
  findObstacle(const BackwardProblem &problem) const {
    return std::nullopt;
  }
  /// The plans of those kernels, where nothing is in the way. The caller takes
  /// over what is asked for.
  virtual mlir::FailureOr<BackwardPlans>
  planBackward(const BackwardProblem &problem, const BackwardFields &asked,
               llvm::function_ref<mlir::InFlightDiagnostic()> emitError) const {
    return mlir::failure();
  }

protected:
  /// What a plan says of names.
  struct Entries {
    mlir::MLIRContext *context;
    llvm::SmallVector<plan::StreamAttr> streams = {};
    llvm::SmallVector<plan::DotAttr> dots = {};
    llvm::SmallVector<plan::StoreAttr> stores = {};
    llvm::SmallVector<plan::RoleAttr> roles = {};

    void addStream(llvm::StringRef name, int64_t stages, bool isStaged = false,
                   llvm::StringRef over = {});
    void addRole(const llvm::Twine &name, int64_t warps, int64_t registers,
                 llvm::ArrayRef<llvm::StringRef> owns);
  };
  /// Adds what the unit's kernels have besides the streams, dots and stores of
  /// all kernels.
  virtual void addEntries(const ScheduleFields &fields,
                          Entries &entries) const {}

  /// An error if the kernel needs more shared memory than there is; `remedy`
  /// names the fields to reduce.
  mlir::LogicalResult checkSharedMemory(
      const ScheduleProblem &problem, const ScheduleFields &fields,
      llvm::StringRef remedy,
      llvm::function_ref<mlir::InFlightDiagnostic()> emitError) const;

  plan::MatrixUnitAttrInterface unit;
};

/// Shared memory of kernels with roles beside their buffers: barriers, work
/// numbers, and what aligns the first buffer.
inline constexpr int64_t kSharedExtra = 1024;
/// Columns that the rows of a buffer take, panels whole.
int64_t padColumns(int64_t columns, int64_t bits);

/// An error unless tiles of `rows` queries and `columns` keys, by the fields
/// that say so, divide the blocks that are visited.
struct TileSize {
  llvm::StringRef field;
  int64_t size;
};
mlir::LogicalResult
checkBlocks(int64_t queryBlock, int64_t keyBlock, TileSize queries,
            TileSize keys,
            llvm::function_ref<mlir::InFlightDiagnostic()> emitError);

/// An error unless registers of roles are what setmaxnreg takes.
mlir::LogicalResult
checkBudgetSteps(const ScheduleFields &fields,
                 llvm::function_ref<mlir::InFlightDiagnostic()> emitError);

/// An error that something needs roles, with a note on which targets have them
/// if `target` has none.
mlir::InFlightDiagnostic noteRoles(mlir::InFlightDiagnostic diag,
                                   const TargetInfo &target);

std::unique_ptr<Planner> makeMmaSyncPlanner(mlir::MLIRContext *context);
std::unique_ptr<Planner> makeWarpGroupPlanner(mlir::MLIRContext *context);
std::unique_ptr<Planner> makeTensorMemoryPlanner(mlir::MLIRContext *context);

/// All planners, the unit to be preferred first. The last one has fields for
/// every problem.
llvm::SmallVector<std::unique_ptr<Planner>>
makePlanners(mlir::MLIRContext *context);
/// The one that fields are for.
std::unique_ptr<Planner> makePlanner(mlir::MLIRContext *context,
                                     const ScheduleFields &fields);

} // namespace fovea

#endif // FOVEA_LIB_SCHEDULE_PLANNER_H
