//===- Planner.h - Planner of an MMA unit -----------------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The interface between schedules and MMA units. There is one planner per unit,
// in a file of its own.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_SCHEDULE_PLANNER_H
#define FOVEA_LIB_SCHEDULE_PLANNER_H

#include "SharedTiles.h"

#include "fovea/Schedule/BackwardPlans.h"
#include "fovea/Schedule/ScheduleFields.h"
#include "fovea/Schedule/ScheduleProblem.h"

#include <memory>
#include <optional>

namespace fovea {

/// Chooses schedules and makes plans of kernels for one MMA unit. Only the
/// planner knows the limits of the unit and how its kernels divide registers
/// and shared memory; no other code tests for a specific unit.
class Planner {
public:
  explicit Planner(plan::MatrixUnitAttrInterface unit) : unit(unit) {}
  virtual ~Planner() = default;

  plan::MatrixUnitAttrInterface getUnit() const { return unit; }

  /// Returns true if the target has the unit.
  virtual bool isOn(const TargetInfo &target) const = 0;

  /// Tile sizes, warps and buffers that a search tries, and changes of order
  /// and arithmetic in addition to those for all units (ScheduleSpace.h).
  virtual std::vector<std::vector<std::string>> listShapes() const = 0;
  virtual std::vector<std::string> listVariations() const = 0;

  /// Returns the best fields for a problem, or none if the target or the
  /// problem does not support the unit. `recurrence` is the user-specified
  /// recurrence, if any.
  virtual std::optional<ScheduleFields>
  decide(const ScheduleProblem &problem,
         std::optional<plan::RecurrenceKind> recurrence) const = 0;

  /// Explains, for users, why `decide` returns none on a target that has the
  /// unit.
  virtual std::string explainRefusal(const ScheduleProblem &problem) const;

  /// Returns true if fields describe kernels of this unit.
  virtual bool isFor(const ScheduleFields &fields) const = 0;

  /// Adjusts the fields that are not user-specified to those in `asked`, which
  /// are.
  virtual mlir::LogicalResult
  fit(const ScheduleProblem &problem, const llvm::StringSet<> &asked,
      ScheduleFields &fields,
      llvm::function_ref<mlir::InFlightDiagnostic()> emitError) const = 0;

  /// Checks the fields against the limits of instructions, registers and
  /// memory.
  virtual mlir::LogicalResult
  check(const ScheduleProblem &problem, const ScheduleFields &fields,
        llvm::function_ref<mlir::InFlightDiagnostic()> emitError) const = 0;

  /// Returns the bytes of shared memory that a kernel with the fields needs:
  /// those of its streams and stores, and of what the unit adds.
  int64_t getSharedMemory(const ScheduleProblem &problem,
                          const ScheduleFields &fields) const;
  bool fitsSharedMemory(const ScheduleProblem &problem,
                        const ScheduleFields &fields) const {
    return getSharedMemory(problem, fields) <= problem.target->sharedMemory;
  }

  /// Returns the plan of a kernel with these fields, which must be valid.
  plan::KernelAttr makePlan(const ScheduleFields &fields) const;

  /// The form of the unit's backward kernels: none, one program for all warps,
  /// or roles.
  enum class BackwardForm { None, OneProgram, Roles };
  virtual BackwardForm getBackwardForm() const { return BackwardForm::None; }
  /// Returns the reason why these kernels do not support a problem, as an error
  /// message; none if they do.
  virtual std::optional<std::string>
  findObstacle(const BackwardProblem &problem) const {
    return std::nullopt;
  }
  /// Returns the plans of these kernels for a supported problem. The caller
  /// applies the user-specified fields.
  virtual mlir::FailureOr<BackwardPlans>
  planBackward(const BackwardProblem &problem, const BackwardFields &asked,
               llvm::function_ref<mlir::InFlightDiagnostic()> emitError) const {
    return mlir::failure();
  }

protected:
  /// The entries of a plan, by name.
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
  /// Adds streams of the unit to those of all kernels, and roles.
  virtual void addStreams(const ScheduleFields &fields,
                          Entries &entries) const {}
  virtual void addRoles(const ScheduleFields &fields, Entries &entries) const {}
  /// Returns the tiles of these streams, and other buffers of the unit, which
  /// have no name.
  virtual llvm::SmallVector<SharedTile>
  getSharedTiles(const ScheduleProblem &problem,
                 const ScheduleFields &fields) const {
    return {};
  }

  /// Emits an error if the kernel needs more shared memory than the target has;
  /// `remedy` names the fields to reduce.
  mlir::LogicalResult checkSharedMemory(
      const ScheduleProblem &problem, const ScheduleFields &fields,
      llvm::StringRef remedy,
      llvm::function_ref<mlir::InFlightDiagnostic()> emitError) const;

  plan::MatrixUnitAttrInterface unit;

private:
  Entries makeStreams(const ScheduleFields &fields) const;
};

/// The first number of bits per element among the problem's streams that the
/// unit does not multiply, if any.
std::optional<int64_t> findUnsupportedBits(plan::MatrixUnitAttrInterface unit,
                                           const StreamBits &bits);

/// Checks that tile sizes, named by the fields that set them, divide the blocks
/// of a block-sparse mask.
struct TileSize {
  llvm::StringRef field;
  int64_t size;
};
mlir::LogicalResult
checkBlocks(int64_t queryBlock, int64_t keyBlock, TileSize queries,
            TileSize keys,
            llvm::function_ref<mlir::InFlightDiagnostic()> emitError);

/// Checks of a forward kernel's fields that apply to all MMA units.
mlir::LogicalResult
checkScheduleFields(const ScheduleProblem &problem,
                    const ScheduleFields &fields,
                    llvm::function_ref<mlir::InFlightDiagnostic()> emitError);
/// Checks that tile sizes divide the blocks of a block-sparse mask.
mlir::LogicalResult
checkBackwardTiles(const BackwardPlans &plans, const BackwardProblem &problem,
                   llvm::function_ref<mlir::InFlightDiagnostic()> emitError);
/// Checks that the register budgets of all roles fit those of the launch.
mlir::LogicalResult checkBackwardRegisters(
    plan::KernelAttr keys, const BackwardProblem &problem,
    llvm::function_ref<mlir::InFlightDiagnostic()> emitError);

/// Checks that the register budgets of roles are valid for setmaxnreg.
mlir::LogicalResult
checkBudgetSteps(const ScheduleFields &fields,
                 llvm::function_ref<mlir::InFlightDiagnostic()> emitError);

/// Adds to an error that something needs roles a note that lists the targets
/// with roles, if `target` has none.
mlir::InFlightDiagnostic noteRoles(mlir::InFlightDiagnostic diag,
                                   const TargetInfo &target);

std::unique_ptr<Planner> makeMmaSyncPlanner(mlir::MLIRContext *context);
std::unique_ptr<Planner> makeWarpGroupPlanner(mlir::MLIRContext *context);
std::unique_ptr<Planner> makeTensorMemoryPlanner(mlir::MLIRContext *context);

/// Returns all planners in order of preference.
llvm::SmallVector<std::unique_ptr<Planner>>
makePlanners(mlir::MLIRContext *context);
/// Returns the planner that fields are for.
std::unique_ptr<Planner> makePlanner(mlir::MLIRContext *context,
                                     const ScheduleFields &fields);

} // namespace fovea

#endif // FOVEA_LIB_SCHEDULE_PLANNER_H
