"""What is read from an optimised program's text, and how it is held to its budgets."""

import dataclasses
import functools
import itertools
import time

import jax
import numpy as np
import pytest

from benchmarks import accelerator, compiled, machine, record, runner
from benchmarks.hlo import Module
from benchmarks.program import Drawn
from benchmarks.programs import NAMED, PROGRAMS
from tests.helpers.lowered import faults

# 1,000 floats are added to themselves seven times, in pieces of 100 three times a turn,
# until the data say so twice; and what the parser must see through.
TEXT = """
HloModule jit_call, is_scheduled=true

%fused_piece (parameter_0: f32[1000], parameter_1: s32[]) -> f32[1000] {
  %parameter_0 = f32[1000]{0} parameter(0)
  %parameter_1 = s32[] parameter(1)
  %view = f32[10,100]{1,0} bitcast(%parameter_0)
  %flat = f32[1000]{0} bitcast(%view)
  %piece = f32[100]{0} dynamic-slice(%flat, %parameter_1), dynamic_slice_sizes={100}
  %sum = f32[100]{0} add(%piece, %piece)
  ROOT %updated = f32[1000]{0} dynamic-update-slice(%flat, %sum, %parameter_1)
}

%fused_pair (parameter_0.1: f32[1000]) -> (f32[1000], s8[1000]) {
  %parameter_0.1 = f32[1000]{0:T(1024)} parameter(0)
  %double = f32[1000]{0} multiply(%parameter_0.1, %parameter_0.1)
  %small = s8[1000]{0} convert(%double)
  ROOT %pair = (f32[1000]{0}, /*index=1*/s8[1000]{0}) tuple(%double, %small)
}

%turn (carry: (s32[], f32[1000])) -> (s32[], f32[1000]) {
  %carry = (s32[], f32[1000]{0}) parameter(0)
  %i = s32[] get-tuple-element(%carry), index=0
  %x = f32[1000]{0} get-tuple-element(%carry), index=1
  %next = f32[1000]{0} fusion(%x, %i), kind=kLoop, calls=%fused_piece
  ROOT %carried = (s32[], f32[1000]{0}) tuple(%i, %next)
}

%more (carry.1: (s32[], f32[1000])) -> pred[] {
  %carry.1 = (s32[], f32[1000]{0}) parameter(0)
  %i.1 = s32[] get-tuple-element(%carry.1), index=0
  %three = s32[] constant(3)
  ROOT %less = pred[] compare(%i.1, %three), direction=LT
}

%body (state: (s32[], f32[1000])) -> (s32[], f32[1000]) {
  %state = (s32[], f32[1000]{0}) parameter(0)
  ROOT %inner = (s32[], f32[1000]{0}) while(%state), condition=%more, body=%turn
}

%condition (state.1: (s32[], f32[1000])) -> pred[] {
  %state.1 = (s32[], f32[1000]{0}) parameter(0)
  %x.1 = f32[1000]{0} get-tuple-element(%state.1), index=1
  ROOT %flag = pred[] reduce-window(%x.1), to_apply=%any
}

%adder (a: f32[], b: f32[]) -> f32[] {
  %a = f32[] parameter(0)
  %b = f32[] parameter(1)
  ROOT %added = f32[] add(%a, %b)
}

ENTRY %main (given: f32[1000], matrix: f32[20,50]) -> f32[1000] {
  %given = f32[1000]{0} parameter(0)
  %matrix = f32[20,50]{1,0} parameter(1)
  %zero = s32[] constant(0)
  %start = (s32[], f32[1000]{0}) tuple(%zero, %given)
  %seven = (s32[], f32[1000]{0}) while(%start), condition=%condition, body=%turn, \
backend_config={"known_trip_count":{"n":"7"}}
  %until = (s32[], f32[1000]{0}) while(%seven), condition=%condition, body=%body
  %result = f32[1000]{0} get-tuple-element(%until), index=1
  %two = (f32[1000]{0}, s8[1000]{0}) fusion(%result), kind=kLoop, calls=%fused_pair
  ROOT %last = f32[1000]{0} get-tuple-element(%two), index=0
}
"""
SMALL = {(str(x.build), x.small): x for x in PROGRAMS}.values()
PIECE = 4 * 100 * 2 + 4  # read, written, and the index
LAST = "  ROOT %last"


def with_line(line):
    return Module(TEXT.replace(LAST, f"  {line}\n{LAST}"))


def test_loops_multiply_and_a_fusion_is_one_launch():
    module = Module(TEXT, turns=2)
    assert module.waits == 2
    # 7 + 2 × (3 pieces and the condition) + the last fusion
    assert module.launches == 7 + 2 * (3 + 1) + 1
    assert Module(TEXT, turns=5).launches == 7 + 5 * (3 + 1) + 1


def test_bytes_are_those_of_slices_where_a_fusion_slices():
    module = Module(TEXT, turns=2)
    names = {kernel.name: kernel for kernel in module.kernels}
    assert names["fusion next"].bytes == PIECE
    assert names["fusion next"].operations == 100
    assert names["fusion two"].bytes == 4000 + 4000 + 1000
    assert names["fusion two"].operations == 2000
    assert module.bytes == (7 + 6) * PIECE + 2 * 4001 + 9000


def test_memory_on_the_chip_is_free():
    on_chip = TEXT.replace("f32[1000]{0:T(1024)}", "f32[1000]{0:T(1024)S(1)}")
    assert Module(TEXT).bytes - Module(on_chip).bytes == 4000


def test_the_dearest_branch_of_a_conditional_counts():
    branches = "branch_computations={%turn, %fused_pair}"
    line = f"%either = f32[] conditional(%zero, %start, %given), {branches}"
    # the pair is no fusion here: its multiply and convert are launched
    assert with_line(line).launches == Module(TEXT).launches + 2


@pytest.mark.parametrize(
    ("line", "defect"),
    [
        ("dot(%matrix, %matrix), lhs_contracting_dims={1}", "product"),
        (
            "custom-call(%matrix, %matrix), custom_call_target='__cublas$gemm'",
            "product",
        ),
        ("scatter(%given, %zero, %given), to_apply=%adder", "scatter-add of floats"),
        ("all-gather-start(%given)", "all-gather"),
    ],
)
def test_operations_that_no_program_should_have(line, defect):
    kind = "f32[20,20]{1,0}"
    assert not Module(TEXT).defects()
    found = with_line(f"%new = {kind} {line}").defects()
    assert [x for x in found if defect in x]


def test_stated_precision_unique_indices_and_integers_are_no_defects():
    for line in (
        "f32[20,20]{1,0} dot(%matrix, %matrix), operand_precision={highest,highest}",
        "f32[1000]{0} scatter(%given), unique_indices=true, to_apply=%adder",
        "s32[1000]{0} scatter(%given), to_apply=%adder",
        "f32[1000]{0} all-gather-done(%given)",
    ):
        assert not with_line(f"%new = {line}").defects(), line
    assert with_line("%new = (f64[], s64[3]{0}) copy(%zero)").defects() == {
        "f64": 1,
        "s64": 1,
    }


def test_products_count_multiply_adds():
    module = with_line(
        "%new = f32[20,20]{1,0} dot(%matrix, %matrix), lhs_contracting_dims={1}"
    )
    (product,) = [x for x in module.kernels if x.name == "dot new"]
    assert product.operations == 2 * 20 * 20 * 50


def test_the_text_of_a_compiled_program_is_read():
    """Whatever this version of JAX prints."""

    def turns(x):
        return jax.lax.fori_loop(0, 9, lambda _, x: jax.numpy.sort(x * 2), x)

    text = jax.jit(turns).lower(np.ones(64, np.float32)).compile().as_text()
    found = Module(text)
    assert found.waits == 0
    assert found.launches >= 9
    with pytest.raises(ValueError, match="`text` must be an HLO module"):
        Module("")


def found_of(name, **changes):
    return {
        "name": name, "target": "h200", "seconds": 1, "launches": 1, "passes": 1.0,
        "turns_by_data": 0, "temporaries": 0, "times_results": 0, "least_bytes": 1e6,
        "model": 1e-3, "defects": {}, **changes,
    }  # fmt: skip


def test_budgets_are_kept_and_an_earlier_record_is_not_exceeded():
    threefry, chacha = "10^7 words, threefry", "10^7 words, ChaCha20"
    fast = found_of(threefry, launches=4, passes=1.5)
    assert compiled.faults(fast, [fast]) == []
    slow = found_of(chacha, launches=5, seconds=21, model=4e-3, defects={"f64": 2})
    assert compiled.faults(slow, [fast, slow]) == [
        "launches 5 > 4",
        "seconds to compile 21 > 20",
        "4 × 10^7 words, threefry > 3",
        "f64 (2)",
    ]
    assert compiled.faults(slow, [slow], [slow]) == []
    worse = found_of(chacha, launches=6, defects={"f64": 3})
    assert compiled.faults(worse, [worse], [slow]) == ["launches 6 > 5.1", "f64 (3)"]
    assert compiled.faults({**slow, "target": "v5e", "seconds": 21}, []) == ["f64 (2)"]
    failed = {"name": chacha, "target": "h200", "failed": "no"}
    assert compiled.faults(failed, []) == ["no"]
    assert list(compiled.table([fast, slow, failed]))[-1] == "missed: 2"


def test_programs_differ_and_name_each_other():
    assert len(NAMED) == len(PROGRAMS)
    assert sum(program.guarded for program in PROGRAMS) == 10
    assert {p.slower[0] for p in PROGRAMS if p.slower} <= set(NAMED)


@pytest.mark.slow
@pytest.mark.parametrize("program", SMALL, ids=lambda program: program.name)
def test_programs_lower_for_gpus_and_tpus(program):
    call, arguments = program.prepared(program.small)
    known = functools.partial(jax.dtypes.canonicalize_dtype, allow_extended_dtype=True)
    shapes = [jax.ShapeDtypeStruct(x.shape, known(x.dtype)) for x in arguments]
    assert not faults(call, *shapes)


def test_drawn_numbers_are_below_their_bound_and_vary():
    drawn = np.asarray(Drawn((4000, 3), below=3).array())
    assert drawn.dtype == np.uint8
    for column in drawn.T:
        assert np.all(np.abs(np.bincount(column, minlength=3) / 4000 - 1 / 3) < 0.05)
    floats = np.asarray(Drawn((1000,), "float32").array())
    assert set(floats.tolist()) == {0.0, 1.0}


def test_the_table_in_the_readme_is_that_of_the_record(tmp_path):
    text = record.README.read_text(encoding="utf-8")
    copy = tmp_path / "README.md"
    copy.write_text(text, encoding="utf-8")
    rows = compiled.read(compiled.RECORD)
    record.put_between_marks("compiled programs", compiled.table(rows), copy)
    assert copy.read_text(encoding="utf-8") == text
    names = {row["name"] for row in rows if row["target"] == "h200"}
    assert names == {program.name for program in PROGRAMS}


def test_the_measured_table_in_the_readme_is_that_of_the_record(tmp_path):
    text = record.README.read_text(encoding="utf-8")
    copy = tmp_path / "README.md"
    copy.write_text(text, encoding="utf-8")
    rows = accelerator.read(record.README.with_name("nvidia-h200.jsonl"))
    mark = f"programs on {rows[0]['device']['kind']}"
    record.put_between_marks(mark, accelerator.lines(rows), copy)
    assert copy.read_text(encoding="utf-8") == text
    assert {row["name"] for row in rows} == set(NAMED)
    assert not any(map(accelerator.missed, rows))


def test_a_device_is_compared_with_the_cpu():
    program = NAMED["counts, 17 binary, 10^8 packed"]
    found = accelerator.compare(program, small=True)
    assert (found["equal"], found["difference"]) == (True, 0)
    found = accelerator.measure(program, small=True)
    assert found["size"] == 2**16
    assert found["bytes"] == 17 * 2**16 / 8 + 4 + 4 * 16 * 4
    built = itertools.count(1)

    def build(n):
        offset = next(built)
        return lambda x: x + offset, (Drawn((n,), "int32", 1),)

    other = dataclasses.replace(program, build=build)
    found = accelerator.compare(other, small=True)
    assert not found["equal"]
    assert found["difference"] > 0


def test_the_same_command_goes_on_where_it_ended(tmp_path, monkeypatch, capsys):
    times = {"seconds": 2e-3, "queued_seconds": 1e-3, "bytes": 5e6}
    device = {"kind": "NVIDIA H200", "copy_bytes_per_second": 4e9}
    asked = []

    def answer(arguments, limit, environment):
        asked.append(arguments[-1])
        if "int32" in arguments[-1]:
            return {"failed": "no"}
        return {"compile_seconds": 3, "equal": True, "difference": 0}

    def answers(arguments, names, *_):
        yield from ((name, times) for name in names)

    monkeypatch.setattr(accelerator, "answer", answer)
    monkeypatch.setattr(accelerator, "answers", answers)
    monkeypatch.setattr(machine, "device", lambda: device)
    out = ["--out", str(tmp_path / "found.jsonl")]
    words = ["--only", "walsh", "posterior"]
    first = ["programs", *words, *out]
    assert accelerator.main([*first, "--limit", "600"]) == 0  # no time for any
    assert "6 are left" in capsys.readouterr().out
    assert accelerator.main(first) == 1
    printed = capsys.readouterr().out
    assert "1 ms,      2 alone,      960 × roofline, " in printed
    assert " × model, compiled in      3 s, equal bits\n" in printed
    assert printed.endswith("missed: 2\n")
    assert accelerator.main(first) == 1
    assert len(asked) == 6


def test_one_process_answers_until_it_fails(tmp_path):
    (tmp_path / "asked.py").write_text(
        "import json, os, sys\n"
        "for name in sys.argv[sys.argv.index('--only') + 1:]:\n"
        "    if name == 'b':\n"
        "        sys.exit('no b')\n"
        "    print(json.dumps({name: os.getpid()}), flush=True)\n"
    )
    path = {"PYTHONPATH": str(tmp_path)}
    found = dict(
        runner.answers(["asked"], list("abcd"), 9, time.monotonic() + 60, path)
    )
    assert list(found) == list("abcd")
    assert found["b"] == {"failed": "no b"}
    assert found["a"]["a"] != found["c"]["c"] == found["d"]["d"]
    assert not list(runner.answers(["asked"], ["a"], 9, time.monotonic() - 1, path))
