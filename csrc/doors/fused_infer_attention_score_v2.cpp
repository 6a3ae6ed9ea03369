// SPDX-License-Identifier: Apache-2.0
#include "doors/fused_infer_attention_score_v2.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <utility>

#include "doors/call_settings.h"
#include "doors/refusal.h"
#include "fused_infer_attention_score_v2/arguments.h"
#include "launch/launch.h"

namespace ascend_attention::doors {
namespace {

// What the device's allocator aligns to.
constexpr std::size_t kDeviceAlignment = 512;
// What the kernels need of a workspace that the caller brings: their tiles in it are moved in blocks of 32 bytes, and
// such copies want addresses that are multiples of it. Torch's own allocations on a CPU are aligned to 64.
constexpr std::size_t kWorkspaceAlignment = 32;
constexpr const char* kWorkspaceHelp =
    "npu_fused_infer_attention_score_v2_get_max_workspace returns one that is large enough.";

struct FreeMemory {
    void operator()(void* memory) const { std::free(memory); }
};
using Memory = std::unique_ptr<void, FreeMemory>;

Memory Allocate(std::uint64_t bytes) {
    if (bytes == 0) {
        return nullptr;
    }
    const std::size_t rounded = (bytes + kDeviceAlignment - 1) / kDeviceAlignment * kDeviceAlignment;
    void* memory = std::aligned_alloc(kDeviceAlignment, rounded);
    if (memory == nullptr) {
        throw std::bad_alloc();
    }
    return Memory(memory);
}

Status Refused(const std::string& argument, std::string given, std::string allowed, std::string help) {
    Status status;
    status.code = StatusCode::kInvalidParameter;
    status.op = kFusedInferAttentionScoreV2;
    status.argument = argument;
    status.given = std::move(given);
    status.allowed = std::move(allowed);
    status.help = std::move(help);
    return status;
}

void Fill(const OutputSpec& spec, void* data) {
    if (!spec.fill.has_value() || data == nullptr) {
        return;
    }
    const std::int64_t count = NumElements(spec.shape);
    if (*spec.fill == 0.0F) {
        std::memset(data, 0, static_cast<std::size_t>(BytesOf(spec)));
    } else if (spec.dtype == DType::kFloat32) {
        std::fill_n(static_cast<float*>(data), count, *spec.fill);
    } else {
        Status status = Refused("output", std::to_string(*spec.fill) + " in " + NameOf(spec.dtype),
                                "a fill of 0, or of float32", "");
        status.code = StatusCode::kInternal;
        throw Refusal(status);
    }
}

struct Extent {
    std::string name;
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;
};

Extent ExtentOf(const std::string& name, const TensorView& view) {
    const auto begin = reinterpret_cast<std::uintptr_t>(view.data);
    return {name, begin, begin + static_cast<std::uintptr_t>(NumElements(view.shape) * SizeOf(view.dtype))};
}

// `others` ends with the buffers that are written too.
void RefuseOverlap(const Extent& written, const std::vector<Extent>& others, std::size_t inputs) {
    for (std::size_t i = 0; i < others.size(); ++i) {
        const Extent& other = others[i];
        const bool placed = written.begin != 0 && other.begin != 0;  // fake tensors lie nowhere
        if (placed && written.begin < other.end && other.begin < written.end) {
            throw Refusal(Refused(written.name, "memory that overlaps " + other.name, "memory of its own",
                                  i < inputs ? "The kernel writes " + written.name + " while it still reads its inputs."
                                             : "The kernel writes both " + written.name + " and " + other.name + "."));
        }
    }
}

// Collects where the request's tensors lie.
struct InputExtents {
    std::vector<Extent>& extents;

    void operator()(const char* name, const OptionalTensor& tensor) {
        if (tensor.has_value()) {
            extents.push_back(ExtentOf(name, *tensor));
        }
    }
    template <class Other>
    void operator()(const char*, const Other&) {}
};

}  // namespace

std::int64_t BytesOf(const OutputSpec& spec) { return NumElements(spec.shape) * SizeOf(spec.dtype); }

TensorView MakeTensorView(const void* data, const std::string& dtype, Shape shape, bool contiguous) {
    return ascend_attention::MakeTensorView(data, dtype, std::move(shape), contiguous);
}

std::string DTypeName(DType dtype) { return NameOf(dtype); }

FusedInferAttentionScoreV2Outputs InferFusedInferAttentionScoreV2(const FusedInferAttentionScoreV2Request& request) {
    FusedInferAttentionScoreV2Outputs outputs;
    const CallSettings settings = CurrentSettings();
    Soc soc;
    ThrowUnlessOk(FindSoc(settings.run.soc, &soc));
    ThrowUnlessOk(InferOutputs(request, soc, settings.contract, &outputs));
    return outputs;
}

std::string ExplainFusedInferAttentionScoreV2(const FusedInferAttentionScoreV2Request& request) {
    std::string text;
    const CallSettings settings = CurrentSettings();
    Soc soc;
    ThrowUnlessOk(FindSoc(settings.run.soc, &soc));
    ThrowUnlessOk(Explain(request, soc, settings.contract, &text));
    return text;
}

FusedInferAttentionScoreV2Call::FusedInferAttentionScoreV2Call(FusedInferAttentionScoreV2Request request, int threads)
    : request_(std::move(request)) {
    auto settings = std::make_shared<CallSettings>(CurrentSettings());
    settings->run.threads = threads;
    settings_ = std::move(settings);
    ThrowUnlessOk(FindSoc(settings_->run.soc, &soc_));
    ThrowUnlessOk(Prepare(request_, soc_, settings_->contract, &prepared_));
}

std::uint64_t FusedInferAttentionScoreV2Call::workspace_bytes() const {
    return prepared_.launch ? prepared_.plan.workspace_bytes : 0;
}

std::uint64_t FusedInferAttentionScoreV2Call::MaxWorkspaceBytes() const {
    // Each core has a ring of its own and its size does not depend on lengths; lengths decide how many cores have work.
    const bool nothing = NumElements(request_.query->shape) == 0 || NumElements(request_.key->shape) == 0;
    return nothing ? 0 : ascend_attention::MaxWorkspaceBytes(soc_);
}

std::string FusedInferAttentionScoreV2Call::Describe() const {
    return prepared_.launch ? ascend_attention::Describe(prepared_.plan)
                            : std::string("nothing to launch: the results are filled by the host");
}

bool FusedInferAttentionScoreV2Call::AcceptsBuffers(const TensorView& attention_out, const TensorView& softmax_lse,
                                                    const TensorView* workspace) const {
    ThrowUnlessOk(CheckOutputs(request_, prepared_.outputs, attention_out, softmax_lse));
    std::vector<Extent> taken;
    VisitArguments(request_, InputExtents{taken});

    const std::size_t inputs = taken.size();

    RefuseOverlap(ExtentOf("attention_out", attention_out), taken, inputs);
    taken.push_back(ExtentOf("attention_out", attention_out));
    if (request_.return_softmax_lse) {
        RefuseOverlap(ExtentOf("softmax_lse", softmax_lse), taken, inputs);
        taken.push_back(ExtentOf("softmax_lse", softmax_lse));
    }
    if (workspace != nullptr) {
        const std::string wanted = "a contiguous tensor of at least " + std::to_string(workspace_bytes()) + " bytes";
        if (workspace->dtype == DType::kOther) {  // its size is not known here
            throw Refusal(Refused("workspace", DTypeText(*workspace), wanted + ", of uint8 or a dtype of the operator",
                                  kWorkspaceHelp));
        }
        const Extent extent = ExtentOf("workspace", *workspace);
        if (!workspace->contiguous || extent.end - extent.begin < workspace_bytes()) {
            throw Refusal(Refused(
                "workspace",
                std::to_string(extent.end - extent.begin) + (workspace->contiguous ? " bytes" : " bytes, strided"),
                wanted, kWorkspaceHelp));
        }
        if (extent.begin % kWorkspaceAlignment != 0) {
            throw Refusal(Refused("workspace",
                                  "an address that is " + std::to_string(extent.begin % kWorkspaceAlignment) +
                                      " bytes above a multiple of " + std::to_string(kWorkspaceAlignment),
                                  "an address that is a multiple of " + std::to_string(kWorkspaceAlignment),
                                  "A tensor of its own is aligned; a slice of one must begin at such a multiple."));
        }
        RefuseOverlap(extent, taken, inputs);
    }
    return request_.return_softmax_lse;
}

void FusedInferAttentionScoreV2Call::Run(void* attention_out, void* softmax_lse, void* workspace) const {
    Fill(prepared_.outputs.attention_out, attention_out);
    Fill(prepared_.outputs.softmax_lse, softmax_lse);
    if (!prepared_.launch) {
        return;
    }
    Memory own;
    if (workspace == nullptr) {
        own = Allocate(prepared_.plan.workspace_bytes);
        workspace = own.get();
    }
    const auto input = [](const OptionalTensor& tensor) {
        return tensor.has_value() ? const_cast<void*>(tensor->data) : nullptr;
    };
    const std::array<void*, kKernelArgumentCount> data = {input(request_.query),
                                                          input(request_.key),
                                                          input(request_.value),
                                                          input(request_.atten_mask),
                                                          attention_out,
                                                          softmax_lse,
                                                          workspace,
                                                          const_cast<std::uint8_t*>(prepared_.plan.bytes.data())};

    launch::Job job;
    job.kernel = prepared_.plan.kernel;
    job.blocks = prepared_.plan.block_count;
    for (int i = 0; i < kKernelArgumentCount; ++i) {
        const BufferBinding& binding = prepared_.arguments[i];
        launch::Argument argument;
        argument.name = binding.name;
        argument.data = binding.present ? data[i] : nullptr;
        argument.bytes = binding.bytes;
        if (binding.written) {
            const bool scratch = static_cast<KernelArgument>(i) == KernelArgument::kWorkspace;
            argument.access = scratch ? launch::Access::kScratch : launch::Access::kOutput;
        }
        job.arguments.push_back(std::move(argument));
    }
    launch::Run(job, settings_->run);
}

}  // namespace ascend_attention::doors
