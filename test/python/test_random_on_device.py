"""Random programs and their gradients on a device (test/Fuzz/README.md), the modes of test/GPU/run_forward.py:
with the interpreter in place of kernels, and with the emulated driver."""

import argparse
import sys
import types

import pytest

from conftest import ROOT

pytest.importorskip("torch", reason="PyTorch is not installed")
import torch  # noqa: E402

MODULES = ("execute", "program", "worker", "random_jobs", "random_launches", "random_programs", "emulated", "waiting")


@pytest.fixture
def on_device(fovea, monkeypatch):
    """The modules."""
    sys.path[:0] = [str(ROOT / "test" / "Fuzz" / "programs")]
    monkeypatch.syspath_prepend(str(ROOT / "test" / "GPU"))
    # Another test module may be imported under the same name.
    others = sys.modules.pop("variants", None)
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    yield types.SimpleNamespace(**{name: __import__(name) for name in MODULES})
    sys.modules.pop("variants", None)
    if others is not None:
        sys.modules["variants"] = others


def device(modules, runtime=None):
    return modules.random_launches.Device(torch, runtime, torch.device("cpu"), 0, None)


def nothing(number, outputs):
    pass


class StandIn:
    """A fake kernel that writes the job's results of the reference evaluation. `spoil` gets the index of
    the launch and the outputs."""

    def __init__(self, job, metadata, spoil):
        self.job, self.metadata, self.spoil, self.launches = job, metadata, spoil, 0

    def __call__(self, stream, **arguments):
        types = {tensor["name"]: tensor["dtype"] for tensor in self.metadata["tensors"] if tensor["access"] == "read"}
        outputs = {name: arguments.pop(name) for name in self.job.meaning}
        assert set(types) <= set(arguments) and all(type(one) in (int, float, torch.Tensor) for one in arguments.values())
        for name, dtype in types.items():
            given = arguments[name].contiguous()
            assert torch.equal(given.view(torch.uint16) if dtype == "bf16" else given, torch.from_numpy(self.job.inputs[name]))
        for name, output in outputs.items():
            output.copy_(torch.from_numpy(self.job.plain[name]))
        self.spoil(self.launches, outputs)
        self.launches += 1


class StandInRuntime:
    """A runtime with fake kernels for a job; each load starts at the first launch."""

    def __init__(self, modules, job, spoil):
        self.load_kernel, self.job, self.spoil = modules.emulated.Runtime().load, job, spoil

    def load(self, image, metadata):
        return StandIn(self.job, self.load_kernel(image, metadata).metadata, self.spoil)


def checked(modules, job, spoil=nothing):
    return modules.random_launches.launch(device(modules, StandInRuntime(modules, job, spoil)), job)


def program(modules, text, captures="{}", **form):
    return modules.program.Program.parse(f'FRONT_END = "fovea"\nFORM = {form!r}\nCAPTURES = {captures}\n\n\n{text}')


@pytest.mark.parametrize("mode", ("programs", "gradients"))
def test_what_is_right(on_device, tmp_path, mode):
    ran = 0
    for index in range(8):
        job = on_device.random_jobs.prepare(mode, "device", index, ("sm_80", "sm_90a")[index % 2], None, tmp_path)
        assert not job.error
        assert checked(on_device, job) == (job.skipped, ""), job.text
        ran += not job.skipped
    assert ran > 4


def test_wrong_programs(on_device, tmp_path):
    drawn = program(on_device, "def score_mod(score, b, h, q_idx, kv_idx, c0):\n    return score + c0[q_idx, kv_idx]\n",
                    {"c0": {"dtype": "f16", "dims": (70, 40), "contents": "normal"}}, queries=70, keys=40, heads=2, strided=True)
    job = on_device.random_jobs.prepare_program("programs", drawn, "one", "sm_90a", None, tmp_path)

    def missing(number, outputs):
        outputs["o"][0, 0, 69, 3] = torch.nan

    def off(number, outputs):
        outputs["lse"][0, 1, 7] += 0.01

    def before(number, outputs):
        outputs["o"].as_strided((1,), (1,), outputs["o"].storage_offset() - 1).fill_(0)

    def behind(number, outputs):
        o = outputs["o"]
        o.as_strided((1,), (1,), o.storage_offset() + 70 * o.stride(2)).fill_(0)

    for spoil, kind in ((nothing, ""), (missing, "o"), (off, "lse"), (before, "damage"), (behind, "damage")):
        assert checked(on_device, job, spoil)[0] == kind


SLOPES = "def score_mod(score, b, h, q_idx, kv_idx, c0):\n    return score + c0[h] * (kv_idx - q_idx) / 64\n"


def slopes(modules, folder, seed, target="sm_90a"):
    """A job with gradients of all kinds of inputs; they are deterministic for seeds that are multiples of three."""
    drawn = program(modules, SLOPES, {"c0": {"dtype": "f32", "dims": (2,), "contents": "normal"}}, queries=70, keys=40, heads=2,
                    sinks=True, scale="runtime", lse=False, strided=True, seed=seed)
    return modules.random_jobs.prepare_program("gradients", drawn, "one", target, None, folder)


def unwritten(output):
    output.fill_(torch.nan)


def lost(output):
    output.zero_()


def beside(output):
    output.as_strided((1,), (1,), output.storage_offset() - 1).fill_(0)


def test_wrong_gradients(on_device, tmp_path):
    """Errors of each gradient: unwritten elements, all elements lost, writes out of bounds."""
    job = slopes(on_device, tmp_path, 3)
    assert list(job.outputs) == ["dq", "dk", "dv", "dc0", "dsinks", "dscale"] and checked(on_device, job) == ("", "")
    for name in job.outputs:
        for spoil, wanted in ((unwritten, "gradient"), (lost, "gradient"), (beside, "damage")):
            kind, message = checked(on_device, job, lambda number, outputs, name=name, spoil=spoil: spoil(outputs[name]))
            assert kind == wanted and name in message


def test_gradients_of_one_order_have_the_same_bits(on_device, tmp_path):
    def last_bit(number, outputs):
        if number == 1:
            outputs["dscale"].view(torch.int32).add_(1)

    ordered, other = slopes(on_device, tmp_path, 3), slopes(on_device, tmp_path, 4)
    kind, message = checked(on_device, ordered, last_bit)
    assert (kind, message) == ("bits", "1 elements of 'dscale' have other bits the second time; its sums are to have one order")
    assert checked(on_device, other, last_bit) == ("", "")


def test_what_fails_is_tried_again(on_device, tmp_path, monkeypatch):
    """Failures repeat with the same launch, and with other data, for which this test uses the same job."""
    job = slopes(on_device, tmp_path, 4)
    monkeypatch.setattr(on_device.random_jobs, "prepare_program", lambda *arguments: job)

    class FirstOnesWrong(StandInRuntime):
        def __init__(self, wrong):
            super().__init__(on_device, job, self.zero)
            self.loads, self.wrong = 0, wrong

        def load(self, image, metadata):
            self.loads += 1
            return super().load(image, metadata)

        def zero(self, number, outputs):
            if self.loads <= self.wrong:
                outputs["dk"].zero_()

    def settled(wrong):
        place = device(on_device, FirstOnesWrong(wrong))
        return on_device.random_launches.settle(place, job, *on_device.random_launches.launch(place, job), tmp_path)[0]

    assert [settled(wrong) for wrong in range(6)] == ["", "unstable", "by chance", "by chance", "gradient", "gradient"]


def test_gradients_of_programs_that_have_none(on_device, tmp_path):
    text = "def score_mod(score, b, h, q_idx, kv_idx, c0):\n    return score + c0[q_idx, kv_idx]\n"
    shared = {"c0": {"dtype": "f32", "dims": (4, 4), "contents": "normal"}}
    cases = (
        ({"dtype": "f32", "heads": 2, "seed": 4}, ""),
        ({"output_dtype": "f32", "heads": 2, "seed": 4}, ""),
        # There is no deterministic kernel for a gradient with one element per pair.
        ({"heads": 2, "seed": 3}, "refused"),
        ({"heads": 2, "seed": 4}, ""),
        ({"value_scale": 1e39, "dtype": "bf16"}, "without numbers"),
    )
    for form, skipped in cases:
        drawn = program(on_device, text, shared, **{"queries": 4, "keys": 4, **form})
        job = on_device.random_jobs.prepare_program("gradients", drawn, "one", "sm_80", None, tmp_path)
        assert (job.skipped, job.error) == (skipped, "")


@pytest.mark.parametrize("target", ("sm_80", "sm_90a"))
@pytest.mark.parametrize("seed", (3, 4))
def test_kernels_of_gradients(on_device, tmp_path, target, seed):
    """Real kernels with all their arguments, in the layout of a device."""
    job = slopes(on_device, tmp_path, seed, target)
    assert on_device.random_launches.launch(device(on_device, on_device.emulated.Runtime()), job) == ("", "")


def test_many_programs(on_device, package_environment, tmp_path, monkeypatch, capsys):
    """The preparing processes, the output, and the exit code; every third kernel is wrong."""
    library = f"{package_environment['FOVEA_LIBRARY_PATH']}/libFoveaRuntime.so"
    monkeypatch.setattr(on_device.random_programs, "SHRINKS", 0)

    def launch(place, job):
        index = int(job.seed.split(":")[1])

        def spoil(number, outputs):
            if index % 3 == 0:
                next(iter(outputs.values()))[:] = torch.nan

        return checked(on_device, job, spoil)

    monkeypatch.setattr(on_device.random_programs, "launch", launch)
    monkeypatch.setattr(on_device.random_programs, "settle", lambda place, job, kind, message, folder: (kind, message))
    for mode, count, code, expected in (("programs", 7, 1, "device:0 for sm_80: o: row 0, column 0 is nan"), ("programs", 0, 0, ""),
                                        ("gradients", 7, 1, "gradient: dq: row 0 is [nan nan")):
        args = argparse.Namespace(runtime=library, seed="device", jobs=2, time=0, show=3, work=tmp_path)
        assert on_device.random_programs.run(device(on_device), mode, count, args, ["sm_80", "sm_90a"]) == code
        said = capsys.readouterr().out
        assert f"{count} random {mode}" in said and expected in said


def test_what_fails_is_made_smaller(on_device, tmp_path, monkeypatch):
    """On a fake device on which grouped heads fail."""
    pytest.importorskip("hypothesis", reason="Hypothesis is not installed")
    runs, jobs = on_device.random_programs, on_device.random_jobs
    monkeypatch.setattr(jobs, "prepare_program",
                        lambda mode, drawn, seed, target, *others: jobs.Job(mode, seed, target, str(drawn), drawn.form))
    monkeypatch.setattr(runs, "launch", lambda place, job: ("bits", "other bits") if job.form["heads"] > job.form["kv_heads"] else ("", ""))
    found = (jobs.prepare("gradients", "device", index, "sm_80", None, tmp_path) for index in range(100))
    job = next(one for one in found if one.form["heads"] > one.form["kv_heads"] and len(one.text) > 400)
    kind, smallest, message = runs.smaller(device(on_device), ("bits", job, "other bits"), tmp_path)
    assert (kind, message, smallest.seed) == ("bits", "other bits", job.seed) and len(smallest.text) < len(job.text)
    assert (smallest.form["heads"], smallest.form["kv_heads"], smallest.form["batch"]) == (2, 1, 1)


def test_a_hang_ends_the_run(on_device, package_environment, tmp_path, monkeypatch, capsys):
    class Ended(Exception):
        pass

    def abandon(code):
        raise Ended(code)

    def hangs(place, job):
        raise on_device.waiting.Hang("a kernel did not finish")

    monkeypatch.setattr(on_device.waiting, "abandon", abandon)
    monkeypatch.setattr(on_device.random_programs, "launch", hangs)
    args = argparse.Namespace(runtime=None, seed="device", jobs=1, time=0, show=3, work=tmp_path)
    with pytest.raises(Ended):
        on_device.random_programs.run(device(on_device), "gradients", 2, args, ["sm_80"])
    said = capsys.readouterr().out
    assert "FAILED: program device:0 for sm_80: hang" in said and "the device hangs" in said
