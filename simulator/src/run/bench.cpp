// SPDX-License-Identifier: Apache-2.0
#include "run/bench.h"

#include <cstring>
#include <exception>
#include <stdexcept>

#include "core/checker.h"
#include "core/scheduler.h"
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

Core& Bench::core() { return machine_->core(0, type_, 0); }

void Bench::Place(Space space, std::uint64_t address, const void* data, std::uint64_t bytes,
                  const std::uint8_t* defined) {
    const std::uint64_t size = core().memory_bytes(space);
    if (bytes > size || address > size - bytes) {
        throw std::invalid_argument(std::string("operand does not fit into ") + NameOf(space));
    }
    if (data != nullptr && bytes != 0) {
        std::memcpy(core().memory(space) + address, data, bytes);
    }
    MarkDefined(Operand{space, DType::kOther, address}, defined, bytes);
}

void Bench::PlaceGlobalDefined(std::uint64_t address, const std::uint8_t* defined, std::uint64_t bytes) {
    MarkDefined(Operand{Space::kGlobal, DType::kOther, address}, defined, bytes);
}

void Bench::MarkDefined(const Operand& operand, const std::uint8_t* defined, std::uint64_t bytes) {
    if (core().checker() == nullptr) {
        return;
    }
    for (std::uint64_t i = 0; i < bytes; ++i) {
        core().checker()->SetDefined(operand, i, 1, defined == nullptr || defined[i] != 0);
    }
}

std::vector<std::uint8_t> Bench::Defined(Space space, std::uint64_t address, std::uint64_t bytes) {
    std::vector<std::uint8_t> result(bytes, 1);
    const Operand operand{space, DType::kOther, address};
    for (std::uint64_t i = 0; i < bytes && core().checker() != nullptr; ++i) {
        result[i] = core().checker()->IsDefined(operand, i) ? 1 : 0;
    }
    return result;
}

RunReport Bench::Run(const std::function<void()>& body) {
    // What the body itself throws (a test that names a parameter wrongly) is not a finding.
    std::exception_ptr other;
    SetCurrentCore(&core());
    RunProgram(core(), [&](Core&) {
        try {
            body();
        } catch (const CoreEnd&) {
            throw;
        } catch (...) {
            other = std::current_exception();
        }
    });
    SetCurrentCore(nullptr);
    if (other) {
        std::rethrow_exception(other);
    }
    return FinishReport(*machine_, 0.0);
}

}  // namespace ascend_attention::sim
