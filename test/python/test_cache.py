"""The cache of kernels: trusted entries, evicted entries, concurrent use."""

import os
import stat
import subprocess
import sys

import pytest

PROGRAM = """
import sys, fovea
from fovea.compiler import _kernel
compiled = []
compile_anew = _kernel._compile
_kernel._compile = lambda *args: compiled.append(args) or compile_anew(*args)
spec = fovea.attention(mask_mod=lambda b, h, q, k: q >= k + {offset}, dtype="f16", head_dim=16)
kernel = fovea.compile(spec, target="sm_80")
assert kernel is fovea.compile(spec, target="sm_80") and ".entry attention(" in kernel.ptx
print(len(compiled), fovea.cache.size())
"""


@pytest.fixture
def compile_in_process(run_python, tmp_path):
    """The number of kernels that a process compiled."""

    def run(offset=0, **environment):
        result = run_python(PROGRAM.format(offset=offset), **{"XDG_CACHE_HOME": str(tmp_path), **environment})
        assert result.returncode == 0, result.stderr
        return int(result.stdout.split()[0])

    return run


@pytest.fixture
def cache(fovea, tmp_path):
    """The cache, in an empty folder."""
    before = vars(fovea.cache._Settings).copy()
    fovea.cache.configure(folder=tmp_path / "store")
    yield fovea.cache
    fovea.cache.configure(max_bytes=before["max_bytes"], enabled=before["enabled"])
    fovea.cache._Settings.folder = before["folder"]


@pytest.fixture
def compile_again(fovea, cache, monkeypatch):
    """Compiles as in a new process, with an empty cache in memory. Returns the number of kernels
    that were not found on disk."""
    from fovea.compiler import _kernel

    compiled = []
    anew = _kernel._compile
    monkeypatch.setattr(_kernel, "_compile", lambda *arguments: compiled.append(1) or anew(*arguments))

    def run(offset=0):
        compiled.clear()
        _kernel._memory.clear()
        spec = fovea.attention(mask_mod=lambda b, h, q, k: q >= k + offset, dtype="f16", head_dim=16)
        assert ".entry attention(" in fovea.compile(spec, target="sm_80").ptx
        return len(compiled)

    return run


def test_second_process_compiles_nothing(compile_in_process, tmp_path):
    assert compile_in_process() == 1
    assert compile_in_process() == 0
    folder = tmp_path / "fovea"
    (entry,) = folder.iterdir()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE(entry.stat().st_mode) == 0o600


@pytest.mark.parametrize("harm", ["truncate", "flip", "empty", "writable", "link", "swap", "pipe"])
def test_what_is_not_trusted_is_rebuilt(compile_again, cache, tmp_path, harm):
    assert (compile_again(), compile_again()) == (1, 0)
    (path,) = cache.directory().iterdir()
    data = path.read_bytes()
    if harm == "truncate":
        path.write_bytes(data[:-1])
    elif harm == "flip":
        path.write_bytes(data[:500] + bytes([data[500] ^ 1]) + data[501:])
    elif harm == "empty":
        path.write_bytes(b"")
    elif harm == "writable":
        path.chmod(0o666)
    elif harm == "link":
        path.rename(tmp_path / "elsewhere")
        path.symlink_to(tmp_path / "elsewhere")
    elif harm == "swap":  # a complete entry of another key
        assert compile_again(offset=1) == 1
        other = next(p for p in path.parent.iterdir() if p != path)
        path.write_bytes(other.read_bytes())
    elif harm == "pipe":
        path.unlink()
        os.mkfifo(path)
    assert compile_again() == 1
    assert path.read_bytes() == data and not path.is_symlink()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert compile_again() == 0


def test_entry_that_cannot_be_replaced(compile_again, cache):
    compile_again()
    (path,) = cache.directory().iterdir()
    path.unlink()
    path.mkdir()
    assert compile_again() == 1


def test_folder_becomes_private(compile_again, cache):
    cache.directory().mkdir(mode=0o755)
    compile_again()
    assert stat.S_IMODE(cache.directory().stat().st_mode) == 0o700


def test_folder_that_cannot_be_used(compile_again, cache):
    cache.directory().write_text("a file")
    assert compile_again() == 1
    assert cache.directory().read_text() == "a file"


def test_relative_paths_are_not_followed(compile_in_process, tmp_path):
    assert compile_in_process(XDG_CACHE_HOME="relative", HOME=str(tmp_path)) == 1
    assert (tmp_path / ".cache" / "fovea").is_dir()


def test_many_processes(package_environment, tmp_path):
    environment = {**package_environment, "XDG_CACHE_HOME": str(tmp_path)}
    workers = [
        subprocess.Popen([sys.executable, "-c", PROGRAM.format(offset=n % 2)], env=environment, stdout=subprocess.PIPE)
        for n in range(4)
    ]
    assert all(worker.wait(timeout=300) == 0 for worker in workers)
    for worker in workers:
        worker.stdout.close()
    # Only the two kernels are left.
    names = os.listdir(tmp_path / "fovea")
    assert len(names) == 2 and all(name.endswith(".fovea") for name in names)


def test_oldest_entries_go(cache):
    cache.configure(max_bytes=3500)
    for index, key in enumerate("abc"):
        cache.write(key, b"x" * 1000)
        os.utime(cache.directory() / f"{key}.fovea", (index, index))
    assert cache.read("a") == b"x" * 1000  # used again
    cache.write("d", b"x" * 1000)
    assert cache.read("b") is None
    assert all(cache.read(key) for key in "acd")
    assert cache.size() <= 3500
    cache.write("e", b"x" * 4000)  # would evict all others
    assert cache.read("e") is None and cache.read("a")
    cache.clear()
    assert cache.size() == 0


def test_other_files_stay(cache):
    cache.write("a", b"1")
    note = cache.directory() / "note.txt"
    note.write_text("mine")
    cache.clear()
    assert note.read_text() == "mine" and cache.read("a") is None


def test_what_others_left_goes(cache):
    cache.write("a", b"1")
    old, new = (cache.directory() / name for name in (".new-old", ".new-new"))
    for path in (old, new):
        path.write_bytes(b"half")
    os.utime(old, (0, 0))
    cache.write("b", b"2")
    assert not old.exists() and new.exists() and cache.read("a") == b"1"


def test_disabled(cache):
    cache.configure(enabled=False)
    cache.write("a", b"1")
    assert cache.read("a") is None and not cache.directory().exists()
    with pytest.raises(ValueError, match="max_bytes must not be negative, found -1"):
        cache.configure(max_bytes=-1)


def test_options_are_part_of_the_key(fovea):
    from fovea.compiler._kernel import _cache_key

    spec = fovea.attention(head_dim=16)
    options = {"target": "sm_80", "schedule": "auto", "recurrence": "auto", "kernel": None, "accurate_tanh": False}
    keys = {_cache_key(spec, options)}
    for name, value in (("target", "sm_90"), ("schedule", "tile_n=32"), ("recurrence", "lazy"), ("kernel", "k"), ("accurate_tanh", True)):
        keys.add(_cache_key(spec, {**options, name: value}))
    keys.add(_cache_key(fovea.Spec(spec.name, spec.mlir, ("other",)), options))
    keys.add(_cache_key(fovea.Spec(spec.name, spec.mlir + " ", ()), options))
    assert len(keys) == 8
