// SPDX-License-Identifier: Apache-2.0
#include "run/bench.h"

#include <cstring>
#include <stdexcept>

#include "core/checker.h"
#include "run/failure.h"

namespace ascend_attention::sim {

namespace {

LaunchSpec BenchSpec(CoreType type, Mode mode, const std::vector<GlobalBuffer>& buffers) {
    LaunchSpec spec;
    spec.kernel.name = "single instruction";
    spec.kernel.kind = type == CoreType::kCube ? KernelKind::kCubeOnly : KernelKind::kVectorOnly;
    spec.blocks = 1;
    spec.mode = mode;
    spec.buffers = buffers;
    return spec;
}

}  // namespace

Bench::Bench(CoreType type, Mode mode, const std::vector<GlobalBuffer>& buffers)
    : type_(type), machine_(std::make_unique<Machine>(BenchSpec(type, mode, buffers))) {}

Bench::~Bench() = default;

void Bench::Place(Space space, std::uint64_t address, const void* data, std::uint64_t bytes,
                  const std::uint8_t* defined) {
    (void)defined;
    if (address + bytes > core().memory_bytes(space)) {
        throw std::invalid_argument(std::string("operand does not fit into ") + NameOf(space));
    }
    if (data != nullptr) {
        std::memcpy(core().memory(space) + address, data, bytes);
    }
}

void Bench::PlaceGlobalDefined(std::uint64_t address, const std::uint8_t* defined, std::uint64_t bytes) {
    (void)address;
    (void)defined;
    (void)bytes;
}

std::vector<std::uint8_t> Bench::Defined(Space space, std::uint64_t address, std::uint64_t bytes) {
    (void)space;
    (void)address;
    return std::vector<std::uint8_t>(bytes, 1);
}

RunReport Bench::Run(const std::function<void()>& body) {
    SetCurrentCore(&core());
    try {
        body();
    } catch (const CoreEnd&) {
    } catch (...) {
        SetCurrentCore(nullptr);
        throw;
    }
    SetCurrentCore(nullptr);
    return FinishReport(*machine_);
}

}  // namespace ascend_attention::sim
