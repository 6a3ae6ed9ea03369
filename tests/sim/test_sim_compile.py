# SPDX-License-Identifier: Apache-2.0
"""From a source to a kernel: styles, entries, kinds, options, and errors that can be read."""

from __future__ import annotations

import os
import pickle
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from ascend_attention import sim
from ascend_attention.sim._source import read_kernels

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "own_kernel" / "add.cpp"


@pytest.mark.parametrize("mode", ["fast", "checked"])
def test_old_style(mode: str) -> None:
    kernel = sim.compile(EXAMPLE, entry="add_custom")
    assert kernel.kind == "vector" and [p.name for p in kernel.parameters] == ["x", "y", "z", "tiles_per_block"]
    x, y = np.random.default_rng(1).standard_normal((2, 2 * 3 * 256)).astype(np.float16)
    z = np.zeros_like(x)
    result = kernel(x, y, sim.Out(z), 3, blocks=2, mode=mode, soc="Ascend910B4")
    assert result.outputs[0] is z and np.array_equal(z, x + y)
    assert result.ok and result.findings == () and result.printed == ""
    (launch,) = result.report.launches
    assert (launch.kernel, launch.soc, launch.mode, launch.blocks) == ("add_custom", "Ascend910B4", mode, 2)


def test_later_style_with_templates(kernels: Path) -> None:
    x = np.arange(64, dtype=np.float32)
    out = sim.compile(kernels / "scale.asc", "twice")(x, sim.Out(np.empty_like(x)), mode="checked").outputs[0]
    assert np.array_equal(out, 2 * x)
    kernel = sim.compile(str(kernels / "scale.asc"), "scaling::scale<half, 128>")
    assert [str(p) for p in kernel.parameters] == ["half* x", "half* y", "half factor"]
    x = np.arange(256, dtype=np.float16)
    out = kernel(x, sim.Out(np.empty_like(x)), 0.5, blocks=2, mode="checked").outputs[0]
    assert np.array_equal(out, x / 2)


def test_kernel_named_as_a_function_of_the_c_library() -> None:
    kernel = sim.compile("""
        #include "kernel_operator.h"
        extern "C" __global__ __aicore__ void hcreate(__gm__ int32_t* y) {
            KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
            *y = 5;
        }
    """)
    assert kernel(sim.Out.empty(1, np.int32)).outputs[0][0] == 5


def test_source_text_defines_and_include_dirs(kernels: Path) -> None:
    text = """
        #include "scale.h"
        __global__ __aicore__ void scale(__gm__ TYPE* x, __gm__ TYPE* y) { Scale<TYPE, TILE>(x, y, FACTOR); }
    """
    x = np.arange(64, dtype=np.int32)
    for factor in (3, -4):
        defines = {"TYPE": "int32_t", "TILE": 64, "FACTOR": factor}
        kernel = sim.compile(text, defines=defines, include_dirs=[kernels])
        assert np.array_equal(kernel(x, sim.Out(np.empty_like(x))).outputs[0], factor * x)
    assert kernel.source.name == "kernel.cpp" and kernel.source.read_text() == text
    listed = sim.compile(text, defines=["TYPE=int32_t", "TILE=64", "FACTOR=-4"], include_dirs=[kernels])
    assert listed.libraries == kernel.libraries


CUBE = """#include "kernel_operator.h"
using namespace AscendC;
extern "C" __global__ __aicore__ void product(GM_ADDR c) {
    TPipe pipe;
    TBuf<TPosition::A2> left;
    TBuf<TPosition::B2> right;
    TBuf<TPosition::CO1> sum;
    pipe.InitBuffer(left, 512);
    pipe.InitBuffer(right, 512);
    pipe.InitBuffer(sum, 1024);
    MmadParams params;
    params.m = params.n = params.k = 16;
    %s
    Mmad(sum.Get<float>(), left.Get<half>(), right.Get<half>(), params);
}
"""


def test_kind_is_told_by_the_instructions_used(kernels: Path) -> None:
    assert sim.compile(CUBE % "").kind == "cube"
    assert sim.compile(CUBE % "LocalTensor<half> t; if ASCEND_IS_AIV { Add(t, t, t, 16); return; }").kind == "mix"
    assert set(sim.compile(CUBE % "", kind="cube").libraries) == {"cube"}
    with pytest.raises(ValueError, match="kind: cannot be told: 'idle' has neither __vector__"):
        sim.compile('#include "kernel_operator.h"\n__global__ __aicore__ void idle(GM_ADDR x) {}\n')
    with pytest.raises(ValueError, match="kind: given 'aiv'; allowed: vector, cube, mix, mix_1_1"):
        sim.compile(EXAMPLE, kind="aiv")


def test_mix_kernel_runs_on_both_core_types() -> None:
    kernel = sim.compile("""
        #include "kernel_operator.h"
        using namespace AscendC;
        extern "C" __global__ __aicore__ void mixed(__gm__ int32_t* cubes, __gm__ int32_t* vectors) {
            KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);
            if ASCEND_IS_AIC {
                cubes[GetBlockIdx()] = 10 + GetBlockIdx();
                CrossCoreSetFlag<2, PIPE_FIX>(0);
            }
            if ASCEND_IS_AIV {
                CrossCoreWaitFlag(0);
                vectors[GetBlockIdx()] = 100 + cubes[GetBlockIdx() / 2];
            }
        }
    """)
    assert kernel.kind == "mix" and set(kernel.libraries) == {"cube", "vector"}
    cubes, vectors = (sim.Out.empty(count, np.int32) for count in (3, 6))
    result = kernel(cubes, vectors, blocks=3, mode="fast", threads=2)
    assert result.outputs[0].tolist() == [10, 11, 12] and result.outputs[1].tolist() == [110, 110, 111, 111, 112, 112]
    assert len(result.report.cores) == 9


def test_host_code_of_the_file_prints_as_usual(capfd: pytest.CaptureFixture[str]) -> None:
    kernel = sim.compile("""
        #include <cstdio>
        #include "kernel_operator.h"
        static const int said = (printf("host: %d, %s\\n", 7, "x"), fflush(stdout));
        __global__ __vector__ void run(__gm__ int32_t* y) {
            printf("device: %d\\n", 8);
            *y = said;
        }
    """)
    result = kernel(sim.Out.empty(1, np.int32))
    assert result.printed == "[AIV Block 0/1] device: 8\n" and "host: 7, x\n" in capfd.readouterr().out


@pytest.mark.parametrize("mode", ["fast", "checked"])
@pytest.mark.parametrize(
    ("qualifier", "kind", "cubes", "vectors"),
    [
        ("__vector__", "vector", [0, 0, 0, 0], [1, 1, 0, 0]),
        ("__cube__", "cube", [1, 1, 0, 0], [0, 0, 0, 0]),
        ("__mix__(1, 2)", "mix", [1, 1, 0, 0], [1, 1, 1, 1]),
        ("__mix__(1, 1)", "mix_1_1", [1, 1, 0, 0], [1, 1, 0, 0]),
        ("__mix__(0, 1)", "vector", [0, 0, 0, 0], [1, 1, 0, 0]),
        ("__mix__(1, 0)", "cube", [1, 1, 0, 0], [0, 0, 0, 0]),
    ],
)
def test_qualifiers_choose_the_cores_that_run(
    qualifier: str, kind: str, cubes: list[int], vectors: list[int], mode: str
) -> None:
    kernel = sim.compile(
        """
        #include "kernel_operator.h"
        using namespace AscendC;
        __global__ QUALIFIER void run(__gm__ int32_t* cubes, __gm__ int32_t* vectors) {
            __gm__ int32_t* mine = g_coreType == AIC ? cubes : vectors;
            WriteGmByPassDCache<int32_t>(mine + GetBlockIdx(), 1);
        }
    """.replace("QUALIFIER", qualifier)
    )
    assert kernel.kind == kind
    written = [sim.InOut(np.zeros(4, np.int32)) for _ in range(2)]
    outputs = kernel(*written, blocks=2, mode=mode).outputs
    assert [output.tolist() for output in outputs] == [cubes, vectors]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('extern "C" __global__ __aicore__ void f(GM_ADDR x, GM_ADDR y) {}', [("f", ("x", "y"), None)]),
        ("__global__ __vector__ void f(__gm__ float* x) {}", [("f", ("x",), "vector")]),
        ("__vector__ __global__ __aicore__ void f() {}", [("f", (), "vector")]),
        ("__global__ __cube__ void f(void) {}", [("f", (), "cube")]),
        ("__global__ __mix__(1, 2) void f(const T<int, 4> a, int b = 3) {}", [("f", ("a", "b"), "mix")]),
        ("__global__ __mix__( 1,1 ) void f(int (&x)) {}", [("f", ("x",), "mix_1_1")]),
        ("__global__ void f() { KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY); }", [("f", (), "cube")]),
        ("__global__ void f() { KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2); }", [("f", (), "mix")]),
        ("__global__ void f() { KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_NEW); }", [("f", (), None)]),
        ("// __global__ void g();\n/* __global__ void h() */ __global__ void f() {}", [("f", (), None)]),
        ("#define K __global__ \\\n void g()\n__global__ void f();", [("f", (), None)]),
        ("__global__ void f(int);\n__global__ __cube__ void f(int a) {}", [("f", ("a",), "cube")]),
        ("__global__ __cube__ void a() {} __global__ __vector__ void b() {}", [("a", (), "cube"), ("b", (), "vector")]),
        (
            'template <int N> __global__ [[maybe_unused]] void f(int n) { g("__global__ void h()"); }',
            [("f", ("n",), None)],
        ),
        ("__global__", []),
        ("__global__ void f(", [("f", (), None)]),
    ],
)
def test_what_a_source_says_about_itself(text: str, expected: list[tuple[str, tuple[str, ...], str | None]]) -> None:
    assert [(k.name, k.parameters, k.kind) for k in read_kernels(text)] == expected


BROKEN = """#include "kernel_operator.h"
using namespace AscendC;
extern "C" __global__ __aicore__ void broken(GM_ADDR x) {
    LocalTensor<half> a;
    LocalTensor<float> b;
    Add(a, b, a, 16);
    unheard_of(3);
}
"""


@pytest.mark.parametrize("compiler", ["g++", "clang++"])
def test_compile_error_is_readable(compiler: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    available(compiler)
    monkeypatch.setenv("CXX", compiler)
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "broken.cpp").write_text(BROKEN)
    with pytest.raises(sim.CompileError) as caught:
        sim.compile("broken.cpp")
    text = str(caught.value)
    assert text.startswith("broken.cpp:6:") and "error: no matching function for call to 'Add" in text.split("\n")[0]
    assert [(e.file, e.line) for e in caught.value.errors] == [("broken.cpp", 6), ("broken.cpp", 7)]
    assert text.count("unheard_of") == 2  # the message and the line, once for both core types
    assert "vector_binary.h" not in text and "vector_binary.h" in caught.value.log  # our own insides
    assert len(text.splitlines()) < 15 and str(tmp_path) not in text
    again = pickle.loads(pickle.dumps(caught.value))
    assert (str(again), again.errors, again.log) == (text, caught.value.errors, caught.value.log)


def available(compiler: str) -> None:
    try:
        subprocess.run([compiler, "--version"], capture_output=True, check=True)
    except OSError:
        if compiler == "g++":
            raise
        pytest.skip(f"{compiler} is not installed")


def compile_error(text: str, entry: str | None = None) -> str:
    with pytest.raises(sim.CompileError) as caught:
        sim.compile('#include "kernel_operator.h"\n' + text + "\n", entry)
    return str(caught.value)


@pytest.mark.parametrize("compiler", ["g++", "clang++"])
def test_block_left_open_at_the_end(compiler: str, monkeypatch: pytest.MonkeyPatch) -> None:
    available(compiler)
    monkeypatch.setenv("CXX", compiler)
    source = EXAMPLE.read_text().rstrip()
    assert source.endswith("}")
    with pytest.raises(sim.CompileError) as raised:
        sim.compile(source[:-1] + "\n")
    begin = next(i for i, line in enumerate(source.splitlines(), 1) if "add_custom" in line)
    assert re.fullmatch(rf"\S+:{begin}:\d+: error: this '{{' has no '}}'", str(raised.value))
    assert len(raised.value.errors) == 1 and raised.value.errors[0].line == begin


@pytest.mark.parametrize("compiler", ["g++", "clang++"])
def test_template_without_arguments(compiler: str, monkeypatch: pytest.MonkeyPatch) -> None:
    available(compiler)
    monkeypatch.setenv("CXX", compiler)
    source = """
        #include "kernel_operator.h"
        template <typename T, int kCount>
        __global__ __aicore__ void scale(GM_ADDR x) { AscendC::PipeBarrier<PIPE_V>(); }
    """
    with pytest.raises(sim.CompileError, match=r"^the entry 'scale' names no single function: a template needs all"):
        sim.compile(source, entry="scale")


def test_error_inside_a_header_is_told_at_the_kernels_line() -> None:
    text = compile_error(
        "using namespace AscendC;\n__global__ void f() {\n    LocalTensor<half> a;\n    LocalTensor<float> b;\n"
        "    ReduceRepeat<ReduceType::SUM>(a, b, 64, 1, 1, 1, 8);\n}"
    )
    first = text.split("\n")[0]
    assert first.startswith("kernel.cpp:6:") and "one type on A2/A3  [ascendc/vector_reduce.h:" in first, text


def test_other_compile_errors() -> None:
    text = compile_error("__global__ void f(GM_ADDR x) {}", "g")
    assert text.startswith("no kernel 'g'; kernels in the source: f\n")
    text = compile_error("__global__ void f(float& x) {}")
    assert "a kernel's parameters are pointers, numbers and structs of such" in text.split("\n")[0]
    text = compile_error("int elsewhere();\n__global__ void f(__gm__ int* x) { *x = elsewhere(); }")
    assert "linker: error: undefined reference to" in text and "elsewhere" in text.split("\n")[0]
    text = compile_error('#include "no_such.h"\n__global__ void f(__gm__ int* x) {}')
    assert text.startswith("kernel.cpp:2:") and "no_such.h" in text
    text = compile_error(
        "__global__ void f(GM_ADDR x) {\n" + "  wrong();\n" * 1 + "\n".join(f"  w{i}();" for i in range(30)) + "}"
    )
    assert "... and 21 more errors" in text


def test_error_for_one_core_type_says_so() -> None:
    text = compile_error("#ifdef __DAV_CUBE__\n#error not for cube cores\n#endif\n__global__ void f(GM_ADDR x) {}")
    assert text.startswith("kernel.cpp:3:") and "kind='vector' compiles for vector cores only" in text


def test_refused_arguments(tmp_path: Path) -> None:
    two = "__global__ void a() {}\n__global__ void b() {}\n"
    with pytest.raises(ValueError, match=r"entry: not given, and kernel\.cpp has the kernels a, b"):
        sim.compile(two)
    with pytest.raises(ValueError, match="no __global__ function is in sight"):
        sim.compile("int x;\n")
    with pytest.raises(ValueError, match="entry: given 'f\\(\\); int g'"):
        sim.compile(two, "f(); int g")
    with pytest.raises(FileNotFoundError):
        sim.compile(tmp_path / "absent.cpp")
    with pytest.raises(FileNotFoundError, match="include_dirs"):
        sim.compile(EXAMPLE, include_dirs=[tmp_path / "absent"])
    with pytest.raises(ValueError, match="source: given ''"):
        sim.compile("")
    with pytest.raises(TypeError, match="source: given int"):
        sim.compile(3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="defines: given a str"):
        sim.compile(EXAMPLE, defines="A=1")
    with pytest.raises(TypeError, match="flags: given a str"):
        sim.compile(EXAMPLE, flags="-Wall")
    with pytest.raises(TypeError, match="include_dirs: given a str"):
        sim.compile(EXAMPLE, include_dirs=str(tmp_path))


@pytest.mark.parametrize("given", ["/no/such/compiler", "", "false", '"unclosed'])
def test_missing_compiler(given: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", given)
    if not given:
        monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(sim.CompilerNotFoundError) as caught:
        sim.compile(EXAMPLE)
    for hint in ("apt-get install g++", "dnf install gcc-c++", "conda install", "set CXX"):
        assert hint in str(caught.value)


def test_needs_no_torch_and_leaves_no_trace() -> None:
    program = f"""
import sys
import numpy as np
import ascend_attention
assert "ascend_attention.sim" not in sys.modules and "numpy" in sys.modules
x = np.ones(256, np.float16)
kernel = ascend_attention.sim.compile({str(EXAMPLE)!r})
assert (kernel(x, x, ascend_attention.sim.Out(np.empty_like(x)), 1).outputs[0] == 2).all()
assert "torch" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", program], check=True, env=dict(os.environ), timeout=120)


ON_VECTOR_CORES = """#include "kernel_operator.h"
{before}
__global__ __aicore__ void k(__gm__ int32_t* y) {{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    *y = 7;
}}
"""


@pytest.mark.parametrize(
    ("before", "words"),
    [
        ("int* volatile nowhere; int at_load = *nowhere;", "signal 11"),
        ("int at_load = [] { throw 5; return 0; }();", "signal 6; terminate called"),
        ("#include <cstdlib>\nint at_load = [] { exit(3); return 0; }();", "exit status 3"),
        ("AscendC::TPipe pipe; int at_load = [] { pipe.Reset(); return 0; }();", "an Ascend C call outside a core"),
    ],
)
def test_constructor_of_a_global_object_that_fails(before: str, words: str) -> None:
    with pytest.raises(sim.CompileError, match="loading the kernel ends the process: a global object") as caught:
        sim.compile(ON_VECTOR_CORES.format(before=before))
    assert words in str(caught.value)


def test_constructor_of_a_global_object_that_never_returns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ascend_attention.sim._compiler._LOAD_SECONDS", 0.5)
    with pytest.raises(sim.CompileError, match=r"not loaded after 0\.5 s"):
        sim.compile(
            ON_VECTOR_CORES.format(before="volatile int on = 1; int at_load = [] { while (on) {} return 0; }();")
        )


def test_language_among_the_flags() -> None:
    """It would hold for all that follows: the machine's library read as source ends in millions of errors."""
    kernel = sim.compile(ON_VECTOR_CORES.format(before=""), flags=["-x", "c++"])
    assert kernel(sim.Out.empty(1, np.int32)).outputs[0][0] == 7


@pytest.mark.parametrize("flag", ["-c", "-E", "-fsyntax-only"])
def test_flag_that_leaves_no_library(flag: str) -> None:
    for _ in range(2):  # and nothing of it is kept
        with pytest.raises(sim.CompileError, match="the compiler left no shared library"):
            sim.compile(ON_VECTOR_CORES.format(before=""), flags=[flag])


@pytest.mark.parametrize(
    "entry",
    ["k[0]", "k + 1", "&k", "k)(", "k<", "k>", "k<3))(", "k ? k : k", "k//", "k\0", "k,k", "f<1>(k)", "k\udcff"],
)
def test_entry_that_is_no_functions_name(entry: str) -> None:
    with pytest.raises(ValueError, match="compile: entry: given"):
        sim.compile(ON_VECTOR_CORES.format(before=""), entry)


def test_entries_as_cpp_names_them() -> None:
    source = """#include "kernel_operator.h"
    template <typename T> struct Outer {
        template <int N, char C> static __global__ __aicore__ void k(__gm__ T* y) { *y = N + C; }
    };
    """
    kernel = sim.compile(source, "::Outer<int32_t>::k<(3 > 2 ? 7 : 8), 'a'>", kind="vector")
    assert kernel(sim.Out.empty(1, np.int32)).outputs[0][0] == 7 + ord("a")


def test_sources_that_are_no_files(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.cpp")  # reading it would wait for ever
    with pytest.raises(ValueError, match="is not a regular file"):
        sim.compile(tmp_path / "pipe.cpp")
    with pytest.raises(FileNotFoundError, match="home"):
        sim.compile("~there-is-no-such-user/kernel.cpp")
    with pytest.raises(IsADirectoryError):
        sim.compile(tmp_path)
    with pytest.raises(TypeError, match="entry: given int"):
        sim.compile("\n", 3)  # type: ignore[arg-type]


def test_file_name_with_a_tab(tmp_path: Path) -> None:
    path = tmp_path / "a\tsource $(touch x); `id`.cpp"
    path.write_text(ON_VECTOR_CORES.format(before=""))
    assert sim.compile(path)(sim.Out.empty(1, np.int32)).outputs[0][0] == 7


def test_kernel_that_returns_something() -> None:
    text = compile_error("__vector__ __global__ __aicore__ int k(__gm__ int32_t* y) { return *y = 1; }")
    assert "a kernel returns nothing: void" in text
