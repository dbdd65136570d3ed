# Configuration of Fovea's lit tests. Sites' facts come from lit.site.cfg.py,
# which CMake writes into the build folder.

import glob
import os
import shutil

import lit.formats
from lit.llvm import llvm_config
from lit.llvm.subst import ToolSubst

config.name = "Fovea"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".ptx", ".test"]
config.excludes = ["Inputs", "CMakeLists.txt", "lit.cfg.py", "lit.site.cfg.py", "python"]
config.test_source_root = os.path.dirname(os.path.abspath(__file__))
config.test_exec_root = os.path.join(config.fovea_obj_root, "test")

llvm_config.with_system_environment(["HOME", "LD_LIBRARY_PATH", "TMP", "TEMP"])
llvm_config.use_default_substitutions()
# A name of a function's value ends at the next CHECK-LABEL: a test that goes on
# with it has a mistake. `[[$NAME]]` is for what is meant beyond. A prefix
# without a line checks nothing.
llvm_config.with_environment("FILECHECK_OPTS", "-enable-var-scope --allow-unused-prefixes=false")

# The project's own Python when `make setup` has made it.
venv_python = os.path.join(config.fovea_src_root, ".venv", "bin", "python")
python = venv_python if os.path.exists(venv_python) else config.python_executable
# First of all: lit's own %python is the interpreter that lit runs in.
config.substitutions.insert(0, ("%python", python))
config.substitutions.append(("%examples", os.path.join(config.fovea_src_root, "examples")))
config.substitutions.append(("%fovea_src", config.fovea_src_root))
config.substitutions.append(("%fovea_obj", config.fovea_obj_root))
config.substitutions.append(("%cxx", config.cxx_compiler))
config.substitutions.append(("%cc", config.c_compiler))
config.substitutions.append(("%plugin", os.path.join(config.fovea_lib_dir, "FoveaPlugin" + config.plugin_suffix)))
config.substitutions.append(("%fovea_lib", os.path.join(config.fovea_lib_dir, "libFovea.so")))
config.substitutions.append(("%runtime_lib", os.path.join(config.fovea_lib_dir, "libFoveaRuntime.so")))
config.substitutions.append(("%managed_lib", os.path.join(config.fovea_lib_dir, "libFoveaManagedMemory.so")))
config.substitutions.append(("%mlir_libs", config.llvm_libs_dir))
config.substitutions.append(("%ptx_driver", os.path.join(config.fovea_lib_dir, "libFoveaPTXDriver.so")))
# LD_LIBRARY_PATH with a stand-in for the CUDA driver.
config.substitutions.append(("%fake_driver", os.path.join(config.fovea_obj_root, "test", "Runtime", "fake-driver")))
# Fovea's tools must be the ones just built: never fall back to PATH.
fovea_tools = [
    "fovea-c-test",
    "fovea-compile",
    "fovea-embed",
    "fovea-embedded-test",
    "fovea-guard-test",
    "fovea-launch",
    "fovea-lsp-server",
    "fovea-mask-test",
    "fovea-opt",
    "fovea-ptx-run",
    "fovea-ptx-units-test",
    "fovea-reduce",
    "fovea-region-test",
    "fovea-run",
    "fovea-runtime-test",
    "fovea-translate",
    "fovea-work-test",
    "fuzz-capi",
    "fuzz-metadata",
    "fuzz-npy",
    "fuzz-program",
    "fuzz-schedule",
]
present = []
for tool in fovea_tools:
    if os.path.exists(os.path.join(config.fovea_tools_dir, tool)):
        present.append(tool)
        config.available_features.add(tool)
llvm_config.add_tool_substitutions(
    [ToolSubst(tool, unresolved="fatal") for tool in present], [config.fovea_tools_dir]
)
llvm_config.add_tool_substitutions(
    ["FileCheck", "count", "llvm-nm", "mlir-opt", "mlir-runner", "mlir-translate", "not", "split-file"],
    [config.llvm_tools_dir],
)
# Runs a host's code; the libraries are what that calls to print.
if os.path.exists(os.path.join(config.llvm_tools_dir, "mlir-runner")):
    config.available_features.add("mlir-runner")
llvm_config.with_environment("PATH", config.llvm_tools_dir, append_path=True)

if os.path.exists(os.path.join(config.fovea_lib_dir, "FoveaPlugin" + config.plugin_suffix)):
    config.available_features.add("plugin")


def find_cuda_tool(name):
    """A tool of the CUDA toolkit: on PATH, or where toolkits are installed."""
    found = shutil.which(name)
    if found:
        return found
    roots = [os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), "/usr/local/cuda", "/opt/cuda"]
    roots += sorted(glob.glob("/usr/local/cuda-*"), reverse=True)
    for root in filter(None, roots):
        candidate = os.path.join(root, "bin", name)
        if os.access(candidate, os.X_OK):
            return candidate
    return None


for name in ["ptxas", "cuobjdump", "nvcc"]:
    path = find_cuda_tool(name)
    if path:
        config.available_features.add(name)
        config.substitutions.append(("%" + name, path))
        llvm_config.with_environment("PATH", os.path.dirname(path), append_path=True)

# Compilers other than clang that must compile C++ against the package.
if shutil.which("g++"):
    config.available_features.add("g++")

# Device nodes, not the driver's library: a library without a device (or the
# toolkit's stub of it) can't run a kernel.
if glob.glob("/dev/nvidia[0-9]*") or os.path.exists("/dev/dxg"):
    config.available_features.add("cuda")
else:
    config.available_features.add("no-cuda")

if config.sanitize:
    config.available_features.add("asan" if "address" in config.sanitize else config.sanitize)
    # test/asan.options, a file that can't hold comments: leaks fail a test too,
    # except for those of upstream in test/leaks.supp. Errors end in a signal, since
    # `not` takes any exit code for a refusal. The LLVM libraries are not
    # instrumented, hence no checks inside std::vectors that cross over, and none
    # by LLVM's bump allocators: code inlined here poisons a fresh slab, the
    # library then hands out parts of it as they are.
    for variable, value in [
        ("ASAN_OPTIONS", "include=" + os.path.join(config.test_source_root, "asan.options")),
        ("LSAN_OPTIONS", "print_suppressions=0:suppressions=" + os.path.join(config.test_source_root, "leaks.supp")),
    ]:
        llvm_config.with_environment(variable, value)
