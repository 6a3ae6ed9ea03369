# SPDX-License-Identifier: Apache-2.0
"""Each kind of check catches an engine that was changed in the way it checks for; the unchanged engine passes the same
run. What takes no rebuilding, missing synchronisation, is in test_sync_mutation.py."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from helpers.engine_mutants import CASES, SOC, Edit, Mutant, compiler, run_mutants, without

import ascend_attention
from ascend_attention._settings import synchronisation

CUBE = "engine/cube_stages.h"
SOFTMAX = "engine/softmax_stage.h"
OUTPUT = "engine/output_stage.h"
SELECT = "engine/select_stage.h"
WALK = "engine/tile_walk.h"
SHARE = "engine/work_share.h"
COMBINE = "engine/combine_stage.h"
FINISH = "engine/finished_rows.h"
SOURCE = "engine/key_source.h"
LOADS = "engine/cube_loads.h"
MEMORY = "engine/memory.h"
BUFFERS = "engine/vector_buffers.h"
PRODUCTS = "engine/cube_products.h"
STORE = "AscendC::Fixpipe<float, float, AscendC::CFG_ROW_MAJOR>(target"

# What is found, then what is changed.
MUTANTS = [
    ({"passed"}, Mutant("unchanged", (), tuple(CASES))),
    ({"wrong-result"}, Mutant("causal edge off by one", (
        Edit("parts/band_mask.h", "sequence.band_high + 1 -", "sequence.band_high + (MUTANT ? 0 : 1) -"),))),
    ({"wrong-result"}, Mutant("running output is not rescaled", (
        Edit(OUTPUT, "Broadcast(), count, channels.count", "Broadcast(), count, (MUTANT) ? 0 : channels.count"),))),
    ({"wrong-result"}, Mutant("scale is forgotten", (
        Edit(SOFTMAX, "plan_.scale, count", "(MUTANT ? 1.0F : plan_.scale), count"),))),
    ({"uninitialised"}, Mutant("tail is not masked", (
        Edit(SOFTMAX, "const bool tail = keys < pitch;", "const bool tail = !(MUTANT) && keys < pitch;"),))),
    ({"race"}, Mutant("one slot for all steps", (
        Edit(MEMORY, "step * uint32_t(Heads::kScoreSlotsOfStep)",
             "(MUTANT ? 0 : step * uint32_t(Heads::kScoreSlotsOfStep))"),))),
    ({"race"}, Mutant("no event between result and store", without(
        BUFFERS,
        "AscendC::SetFlag<AscendC::HardEvent::V_MTE3>(VectorEvent::kStore + buffer);",
        "AscendC::WaitFlag<AscendC::HardEvent::V_MTE3>(VectorEvent::kStore + buffer);"))),
    ({"flag"}, Mutant("each part of a product hands it over", (
        Edit(PRODUCTS, "params.unitFlag = last", "params.unitFlag = last || (MUTANT)"),))),
    ({"flag"}, Mutant("a whole product is kept", (
        Edit(PRODUCTS, "kUnitsHandedOver : ", "(MUTANT) ? kUnitsKept : kUnitsHandedOver : "),))),
    ({"race"}, Mutant("a product does not wait until the one before is stored", (
        Edit(PRODUCTS, ": kUnitsKept;", ": (MUTANT) && overwrite ? uint8_t(0) : kUnitsKept;"),))),
    ({"race"}, Mutant("products are stored without unit flags", (
        Edit(PRODUCTS, STORE, f"params.unitFlag = (MUTANT) ? uint8_t(0) : params.unitFlag; {STORE}"),))),
    ({"flag"}, Mutant("a stored product is not given back", (
        Edit(PRODUCTS, STORE, f"params.unitFlag = (MUTANT) ? kUnitsKept : params.unitFlag; {STORE}"),))),
    ({"flag"}, Mutant("a strip less is stored than multiplied", (
        Edit(PRODUCTS, "RoundUp(columns, kFractal));", "RoundUp(columns - ((MUTANT) ? kFractal : 0), kFractal));"),))),
    ({"wrong-result"}, Mutant("scores of whole strips of channels only", (
        Edit(CUBE, "WholeStrips(plan_.head_dim)", "(MUTANT ? 16 : WholeStrips(plan_.head_dim))"),), ("odd",))),
    ({"uninitialised"}, Mutant("output of whole strips of channels only", (
        Edit(CUBE, "WholeStrips(plan_.value_head_dim)", "(MUTANT ? 16 : WholeStrips(plan_.value_head_dim))"),),
        ("odd",))),
    ({"wrong-result"}, Mutant("sums of parts are added as they are", without(
        COMBINE,
        "AscendC::Mul(sums, sums, weights, mask, uint8_t(parts), AscendC::BinaryRepeatParams(1, 1, 1, 8, 8, 8));"),
        ("split",))),
    ({"wrong-result"}, Mutant("outputs of parts are added as they are", without(
        COMBINE,
        "ApplyToRows<RowOperation::kMul>(output, buffers_.Broadcast(), count, finished_.Columns(), pitch);"),
        ("split",))),
    ({"wrong-result"}, Mutant("sink is forgotten", (
        Edit(FINISH, "if (plan_.has_sink != 0) {", "if (plan_.has_sink != 0 && !(MUTANT)) {"),), ("split",))),
    ({"wrong-result"}, Mutant("rows without weight are rows without keys", (
        Edit(SOFTMAX, "if (plan_.has_sink != 0 && plan_.writes_lse != 0) {",
             "if (plan_.has_sink != 0 && plan_.writes_lse != 0 && !(MUTANT)) {"),), ("weightless",))),
    ({"wrong-result"}, Mutant("every head has the first one's sink", (
        Edit(FINISH, "sinks_.GetValue(head)", "sinks_.GetValue(MUTANT ? 0 : head)"),), ("split",))),
    ({"wrong-result"}, Mutant("each block is the one before", (
        Edit(SOURCE, "table_.Block(first_entry_ + entry)", "table_.Block(first_entry_ + Max(0, entry - (MUTANT)))"),),
        ("paged",))),
    ({"wrong-result"}, Mutant("a run of keys begins at the first of its block", (
        Edit(SOURCE, "block + int64_t(position) *", "block + int64_t(MUTANT ? 0 : position) *"),), ("paged",))),
    ({"wrong-result"}, Mutant("head stride of keys is forgotten", (
        Edit(SOURCE, "head_ = int64_t(tile.key_head) * strides_.head;",
             "head_ = MUTANT ? 0 : int64_t(tile.key_head) * strides_.head;"),), ("paged",))),
    ({"wrong-result"}, Mutant("each list entry is the first", (
        Edit(SOURCE, "tile.sequence.key_list + int64_t(tile.key_head)",
             "(MUTANT ? 0 : tile.sequence.key_list) + int64_t(tile.key_head)"),), ("list",))),
    ({"wrong-result"}, Mutant("rope of keys is that of the first ones", (
        Edit(LOADS, "key_rope_.Copy(Keys(buffer)[query_channels_ * strip], strip, granule.begin,",
             "key_rope_.Copy(Keys(buffer)[query_channels_ * strip], strip, MUTANT ? 0 : granule.begin,"),), ("rope",))),
    ({"wrong-result"}, Mutant("bias is forgotten", without(
        SOFTMAX, "AddBiasRows(scores, buffers_.Bias(buffer), buffers_.BiasAsFloat(buffer), count, pitch, keys);"),
        ("bias",))),
    ({"wrong-result"}, Mutant("bias of every sequence is the first one's", (
        Edit(SOFTMAX, "plan_.bias, step.tile.sequence.bias,", "plan_.bias, MUTANT ? 0 : step.tile.sequence.bias,"),),
        ("bias",))),
    ({"bounds"}, Mutant("a short last block is taken for a whole one", (
        Edit(SELECT, "missing = blocks *", "missing = MUTANT ? 0 : blocks *"),), ("selected",))),
    ({"wrong-result"}, Mutant("hidden blocks between selected ones are loaded", (
        Edit(SOURCE, "selection_.Block(++entry) == next;", "(selection_.Block(++entry) == next || (MUTANT));"),),
        ("selected",))),
    ({"wrong-result"}, Mutant("neighbours are taken to have one list", (
        Edit(WALK, "lists_->SameAsBefore(", "(MUTANT) || lists_->SameAsBefore("),), ("selected",))),
    ({"wrong-result"}, Mutant("a row tile between two cores is nobody's", (
        Edit(SHARE, "end.number - begin.number;",
             "end.number - begin.number - (MUTANT && end.number > begin.number ? 1 : 0);"),), ("selected",))),
]  # fmt: skip


def test_compiler_is_a_command_of_any_shape(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", "ccache 'g++ 12' -m64")
    assert compiler(tmp_path) == ["ccache", "g++ 12", "-m64"]
    monkeypatch.delenv("CXX")
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("clang++", "c++", "recorded++"):
        (programs / name).write_text("")
        (programs / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(programs))
    assert compiler(tmp_path) == [str(programs / "clang++")]
    record = tmp_path / str(sys.implementation.cache_tag) / "CMakeFiles" / "3.25.1" / "CMakeCXXCompiler.cmake"
    record.parent.mkdir(parents=True)
    record.write_text(f'set(CMAKE_CXX_COMPILER "{programs}/recorded++")\nset(CMAKE_CXX_COMPILER_ARG1 " g++")\n')
    assert compiler(tmp_path) == [str(programs / "recorded++"), "g++"]
    record.write_text('set(CMAKE_CXX_COMPILER "/gone/c++")\nset(CMAKE_CXX_COMPILER_ARG1 "")\n')
    assert compiler(tmp_path) == [str(programs / "clang++")]
    monkeypatch.setenv("PATH", "")
    with pytest.raises(FileNotFoundError, match="set CXX"):
        compiler(tmp_path)


def test_each_mutant_is_noticed_for_what_it_is(tmp_path: Path) -> None:
    outcomes = run_mutants(tmp_path, [mutant for _, mutant in MUTANTS])
    by_name = {mutant.name: outcome for (_, mutant), outcome in zip(MUTANTS, outcomes, strict=True)}
    for expected, mutant in MUTANTS:
        assert expected <= by_name[mutant.name].kinds, (mutant.name, by_name[mutant.name])
        if expected & {"passed", "wrong-result"}:
            assert expected == by_name[mutant.name].kinds, (mutant.name, by_name[mutant.name])
    # test_sync_mutation.py takes synchronisation out without rebuilding: the finding is that of a rebuilt engine.
    arguments = CASES["tiles"].arguments()
    with synchronisation(SOC, "checked", record=True) as block:
        ascend_attention.npu_fused_infer_attention_score_v2(**arguments)
    calls = block.reports()[0]["sync_calls"]
    ignored = [call for call in calls if (call["source"], call["target"]) == ("V", "MTE3")]
    with synchronisation(SOC, "checked", ignored=ignored), pytest.raises(ascend_attention.SimulatorError) as caught:
        ascend_attention.npu_fused_infer_attention_score_v2(**arguments)
    rebuilt = by_name["no event between result and store"]
    assert rebuilt.kinds == {finding["kind"] for finding in caught.value.findings} == {"race"}
    assert str(caught.value) in rebuilt.text
