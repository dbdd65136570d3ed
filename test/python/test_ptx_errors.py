"""Errors in PTX, one per line: position and message. Smaller cases than test/PTX/bad-*.test, for
all branches of the parsers."""

import pytest

HEAD = ".version 8.6\n.target sm_90a\n"

#: Declarations of a module, with their errors.
DECLARATIONS = [
    (".section .debug_x { .b8 1", "this section does not end"),
    (".func f .entry g() { ret; }", "expected '{' or ';', found '.entry'"),
    (".func f", "expected '{' or ';', found the end of the file"),
    (".entry f(.param .b8 x[]) { ret; }", "a parameter must have a size"),
    (".entry f(.param .b8 x[40000]) { ret; }", "parameters have 40000 bytes, but at most 32764 are allowed"),
    (".entry f(.param .b32 x, .param .b32 x) { ret; }", "parameter 'x' is declared twice"),
    (".entry f() .reqntid 0 { ret; }", "an extent must be positive, found 0"),
    (".entry f() .maxntid 64, 32 { ret; }", "a CTA must have at most 1024 threads, found 2048"),
    (".entry f() .frob { ret; }", "directive '.frob' of an entry is not modelled"),
    (".global .align 3 .b8 x[4];", "an alignment must be a power of two, found 3"),
    (".global .b8 x[99999999999999];", "the array is too large"),
    (".extern .global .b8 x[4];", "variables of other modules are not modelled"),
    (".shared .b32 x = 1;", "only variables in .global and .const have initial values"),
    (".global .b32 x[2] = {1, 2, 3};", "more initial values than the variable has elements"),
    (".global .b32 x[];", "a variable must have a size"),
    (".shared .b8 x[1000000000]; .shared .b8 y[1000000000];", "variables have too many bytes"),
    (".global .b32 x; .global .b32 x;", "variable 'x' is declared twice"),
    (".global .b32 x[1] = " + "{" * 2000 + "1" + "}" * 2000 + ";", "initial values are nested too deeply"),
]

#: Instructions of an entry with registers of several types, with their errors.
INSTRUCTIONS = [
    ("{" * 2000 + "}" * 2000, "scopes are nested too deeply"),
    (".reg .b32 %x<99999999>;", "more virtual registers than the 131072 that the emulator models"),
    (".reg .frob %x;", "registers of type '.frob' are not modelled"),
    ("@%r1 ret;", "a guard must be a predicate, found register '%r1'"),
    ("mov.b64 %rd1, " + "{" * 2000 + "%r1" + "}" * 2000 + ";", "operands are nested too deeply"),
    ("add.s32 %r1, !%r2, %r3;", "'!' is allowed before predicates only"),
    ("bra %r1;", "expected a label, found"),
    ("cvt.pack.sat.u8.s32.b32 %r1, %r2, %r3, %r4;", "'cvt.pack' is not modelled"),
    ("sqrt.rz.f64 %fd1, %fd2;", "'sqrt' of .f64 is modelled with .rn only"),
    ("mma.sync.aligned.row.col.f32.bf16.bf16.f32 {%f1}, {%r1}, {%r2}, {%f1};", "'mma' needs a shape, such as .m16n8k16"),
    ("mbarrier.arrive.noComplete.shared.b64 %rd1, [%r1], 1;", "'mbarrier.arrive.noComplete' is not modelled"),
    ("red.async.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%r1], %r2, [%r3];", "'red.async' is not modelled"),
    ("st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%r1], %r2, [%r3];", "'st.async' is not modelled"),
    ("elect.sync %r1, -1;", "'elect' has two results, such as %r1|%p1"),
    ("wgmma.wait_group.sync.aligned -1;", "a number of groups must not be negative"),
    ("wgmma.mma_async.sync.aligned.f32.bf16.bf16 {%f1}, %rd1, %rd2, 1, 1, 1, 0, 0;", "'wgmma' needs a shape, such as .m64n128k16"),
    ("barrier.cluster.wait.release.aligned;", "'barrier.cluster' has no such order"),
]

BODY = """.visible .entry f() {{
  .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .f32 %f<9>; .reg .f64 %fd<9>; .reg .pred %p<9>;
  {}
  ret;
}}
"""


def refused(run_tool, tmp_path, text, message):
    path = tmp_path / "bad.ptx"
    path.write_text(text)
    result = run_tool("fovea-ptx-run", path, "--parse-only")
    assert result.returncode == 2, (result.stdout, result.stderr)
    assert f"{path}:" in result.stderr and message in result.stderr, result.stderr


@pytest.mark.parametrize("text, message", DECLARATIONS)
def test_declarations(run_tool, tmp_path, text, message):
    refused(run_tool, tmp_path, HEAD + text, message)


def test_target(run_tool, tmp_path):
    refused(run_tool, tmp_path, ".version 8.6\n.target sm_90a, frob\n", "target option 'frob' is not modelled")


@pytest.mark.parametrize("text, message", INSTRUCTIONS)
def test_instructions(run_tool, tmp_path, text, message):
    refused(run_tool, tmp_path, HEAD + BODY.format(text), message)
