// SPDX-License-Identifier: Apache-2.0
#include "doors/attention_call.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include "block_sparse_attention_v2/arguments.h"
#include "common/own_rules.h"
#include "doors/call_settings.h"
#include "doors/refusal.h"
#include "fused_infer_attention_score_v2/arguments.h"
#include "launch/launch.h"
#include "prompt_flash_attention/arguments.h"

namespace ascend_attention::doors {
namespace {

// What the device's allocator aligns to.
constexpr std::size_t kDeviceAlignment = 512;
// What the kernels need of a workspace that the caller brings: their tiles in it are moved in blocks of 32 bytes, and
// such copies want addresses that are multiples of it. Torch's own allocations on a CPU are aligned to 64.
constexpr std::size_t kWorkspaceAlignment = 32;

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

// What all requests have.
struct CommonPart {
    const char* op;
    const OptionalTensor& query;
    const OptionalTensor& key;
    const OptionalTensor& value;
    const OptionalTensor& atten_mask;
    bool wants_lse;
};

CommonPart PartOf(const AnyRequest& any) {
    return std::visit(
        [](const auto& request) -> CommonPart {
            return {request.kOperator, request.query,      request.key,
                    request.value,     request.atten_mask, request.wants_lse()};
        },
        any);
}

// The rule that a result is given where the caller brings it.
const char* RuleOfResult(const FusedInferAttentionScoreV2Request&, bool) { return "FIA-A3"; }
const char* RuleOfResult(const PromptFlashAttentionRequest&, bool) { return "PFA-A3"; }
const char* RuleOfResult(const BlockSparseAttentionV2Request&, bool lse) { return lse ? "BSA-C43" : "BSA-C7"; }

Soc SocOf(const CallSettings& settings) {
    Soc soc;
    ThrowUnlessOk(FindSoc(settings.run.soc, &soc));
    if (settings.run.cores > 0) {
        soc.aic_count = std::min(soc.aic_count, settings.run.cores);
    }
    return soc;
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

// The first of `others` that `written` overlaps; null when there is none.
const Extent* Overlapped(const Extent& written, const std::vector<Extent>& others) {
    for (const Extent& other : others) {
        const bool placed = written.begin != 0 && other.begin != 0;  // fake tensors lie nowhere
        if (placed && written.begin < other.end && other.begin < written.end) {
            return &other;
        }
    }
    return nullptr;
}

// Visits the request's tensors, those in lists too: visitor(name, number in the list or -1, tensor).
template <class Visitor>
class TensorVisitor {
public:
    explicit TensorVisitor(Visitor visitor) : visitor_(std::move(visitor)) {}

    void operator()(const char* name, const OptionalTensor& tensor) {
        if (tensor.has_value()) {
            visitor_(name, -1, *tensor);
        }
    }
    void operator()(const char* name, const OptionalTensorList& list, const OptionalTensor&) {
        for (std::size_t i = 0; list.has_value() && i < list->size(); ++i) {
            visitor_(name, static_cast<int>(i), (*list)[i]);
        }
    }
    template <class Other>
    void operator()(const char*, const Other&) {}

private:
    Visitor visitor_;
};

template <class Visitor>
void VisitTensors(const AnyRequest& any, Visitor visitor) {
    std::visit(
        [&](const auto& request) {
            TensorVisitor<Visitor> each(std::move(visitor));
            VisitArguments(request, each);
            if constexpr (std::is_same_v<std::decay_t<decltype(request)>, FusedInferAttentionScoreV2Request>) {
                VisitTensorLists(request, each);
            }
        },
        any);
}

std::string NameOfEntry(const std::string& name, int index) {
    return index < 0 ? name : name + "[" + std::to_string(index) + "]";
}

// What the kernel is given of the request: where its tensors lie, and the lists of addresses made of lists of tensors.
class KernelTensors {
public:
    KernelTensors(const AnyRequest& request, const Prepared& prepared) : prepared_(prepared) {
        VisitTensors(request, [this](const char* name, int index, const TensorView& tensor) {
            index < 0 ? Take(name, tensor) : TakeEntry(name, index, tensor);
        });
    }

    void* Find(const char* name) {
        for (const Named<const void*>& tensor : tensors_) {
            if (std::strcmp(tensor.name, name) == 0) {
                return const_cast<void*>(tensor.value);
            }
        }
        for (Named<std::vector<std::uint64_t>>& list : lists_) {
            if (std::strcmp(list.name, name) == 0) {
                return list.value.data();
            }
        }
        return nullptr;
    }
    const std::vector<launch::Argument>& listed() const { return listed_; }
    const launch::PagedCache& cache() const { return cache_; }

private:
    template <class Value>
    struct Named {
        const char* name;
        Value value;
    };

    void Take(const char* name, const TensorView& tensor) {
        tensors_.push_back({name, tensor.data});
        if (std::strcmp(name, "block_table") == 0) {
            cache_.block_table = static_cast<const std::int32_t*>(tensor.data);
            cache_.columns = tensor.shape[1];
        } else if (std::strcmp(name, "key") == 0) {
            cache_.blocks = tensor.shape[0];
        }
    }

    void TakeEntry(const char* name, int index, const TensorView& tensor) {
        if (index == 0) {
            lists_.push_back({name, {}});
        }
        const auto base = reinterpret_cast<std::uint64_t>(tensor.data);
        for (std::int64_t head = 0; head < prepared_.lists.heads; ++head) {
            const std::int64_t step = prepared_.lists.head_bytes[static_cast<std::size_t>(index)];
            lists_.back().value.push_back(base + static_cast<std::uint64_t>(head * step));
        }
        launch::Argument argument;
        argument.name = NameOfEntry(name, index);
        argument.data = const_cast<void*>(tensor.data);
        argument.bytes = static_cast<std::uint64_t>(NumElements(tensor.shape) * SizeOf(tensor.dtype));
        listed_.push_back(std::move(argument));
    }

    const Prepared& prepared_;
    std::vector<Named<const void*>> tensors_;
    std::vector<Named<std::vector<std::uint64_t>>> lists_;
    std::vector<launch::Argument> listed_;
    launch::PagedCache cache_;
};

}  // namespace

std::int64_t BytesOf(const OutputSpec& spec) { return NumElements(spec.shape) * SizeOf(spec.dtype); }

TensorView MakeTensorView(const void* data, const std::string& dtype, Shape shape, bool contiguous) {
    return ascend_attention::MakeTensorView(data, dtype, std::move(shape), contiguous);
}

std::string DTypeName(DType dtype) { return NameOf(dtype); }

AttentionOutputs InferCall(const AnyRequest& any) {
    AttentionOutputs outputs;
    const CallSettings settings = CurrentSettings();
    const Soc soc = SocOf(settings);
    std::visit([&](const auto& request) { ThrowUnlessOk(InferOutputs(request, soc, settings.contract, &outputs)); },
               any);
    return outputs;
}

std::string ExplainCall(const AnyRequest& any) {
    std::string text;
    const CallSettings settings = CurrentSettings();
    const Soc soc = SocOf(settings);
    std::visit([&](const auto& request) { ThrowUnlessOk(Explain(request, soc, settings.contract, &text)); }, any);
    return text;
}

AttentionCall::AttentionCall(AnyRequest request, int threads) : request_(std::move(request)) {
    auto settings = std::make_shared<CallSettings>(CurrentSettings());
    settings->run.threads = threads;
    settings_ = std::move(settings);
    soc_ = SocOf(*settings_);
    std::visit([&](const auto& given) { ThrowUnlessOk(Prepare(given, soc_, settings_->contract, &prepared_)); },
               request_);
}

Status AttentionCall::Refused(const char* rule, const std::string& argument, std::string given, std::string allowed,
                              std::string help) const {
    return {StatusCode::kInvalidParameter,
            PartOf(request_).op,
            argument,
            rule,
            std::move(given),
            std::move(allowed),
            std::move(help)};
}

void AttentionCall::Fill(const OutputSpec& spec, void* data) const {
    if (!spec.fill.has_value() || data == nullptr) {
        return;
    }
    const std::int64_t count = NumElements(spec.shape);
    if (*spec.fill == 0.0F) {
        std::memset(data, 0, static_cast<std::size_t>(BytesOf(spec)));
    } else if (spec.dtype == DType::kFloat32) {
        std::fill_n(static_cast<float*>(data), count, *spec.fill);
    } else {
        Status status = Refused("FILL", "output", std::to_string(*spec.fill) + " in " + NameOf(spec.dtype),
                                "a fill of 0, or of float32", "");
        status.code = StatusCode::kInternal;
        throw Refusal(status);
    }
}

std::uint64_t AttentionCall::workspace_bytes() const { return prepared_.launch ? prepared_.plan.workspace_bytes : 0; }

std::uint64_t AttentionCall::MaxWorkspaceBytes() const { return prepared_.max_workspace_bytes; }

std::string AttentionCall::Describe() const {
    return prepared_.launch ? ascend_attention::Describe(prepared_.plan)
                            : std::string("nothing to launch: the results are filled by the host");
}

bool AttentionCall::AcceptsBuffers(const TensorView& attention_out, const TensorView& softmax_lse,
                                   const TensorView* workspace) const {
    const CommonPart part = PartOf(request_);
    std::vector<Extent> taken;
    std::visit(
        [&](const auto& request) {
            ThrowUnlessOk(CheckOutputs(request, prepared_.outputs, attention_out, softmax_lse));
        },
        request_);
    VisitTensors(request_, [&taken](const char* name, int index, const TensorView& tensor) {
        taken.push_back(ExtentOf(NameOfEntry(name, index), tensor));
    });
    const std::size_t inputs = taken.size();
    const auto take = [&](Extent written) {
        if (const Extent* other = Overlapped(written, taken)) {
            const bool input = other < taken.data() + inputs;
            throw Refusal(Refused(own_rule::kMemory, written.name, "memory that overlaps " + other->name,
                                  "memory of its own",
                                  input ? "The kernel writes " + written.name + " while it still reads its inputs."
                                        : "The kernel writes both " + written.name + " and " + other->name + "."));
        }
        taken.push_back(std::move(written));
    };
    take(ExtentOf("attention_out", attention_out));
    if (part.wants_lse) {
        take(ExtentOf("softmax_lse", softmax_lse));
    }
    if (workspace != nullptr) {
        const std::string help = std::string(part.op) + "_get_max_workspace returns one that is large enough.";
        const std::string wanted = "a contiguous tensor of at least " + std::to_string(workspace_bytes()) + " bytes";
        if (workspace->dtype == DType::kOther) {  // its size is not known here
            throw Refusal(Refused(own_rule::kWorkspace, "workspace", DTypeText(*workspace),
                                  wanted + ", of uint8 or a dtype of the operator", help));
        }
        const Extent extent = ExtentOf("workspace", *workspace);
        if (!workspace->contiguous || extent.end - extent.begin < workspace_bytes()) {
            throw Refusal(Refused(
                own_rule::kWorkspace, "workspace",
                std::to_string(extent.end - extent.begin) + (workspace->contiguous ? " bytes" : " bytes, strided"),
                wanted, help));
        }
        if (extent.begin % kWorkspaceAlignment != 0) {
            throw Refusal(Refused(own_rule::kWorkspace, "workspace",
                                  "an address that is " + std::to_string(extent.begin % kWorkspaceAlignment) +
                                      " bytes above a multiple of " + std::to_string(kWorkspaceAlignment),
                                  "an address that is a multiple of " + std::to_string(kWorkspaceAlignment),
                                  "A tensor of its own is aligned; a slice of one must begin at such a multiple."));
        }
        take(extent);
    }
    return part.wants_lse;
}

void AttentionCall::RefuseMissingResult(const std::string& name) const {
    const bool lse = name == "softmax_lse";
    const char* rule = std::visit([lse](const auto& request) { return RuleOfResult(request, lse); }, request_);
    throw Refusal(MissingTensor(PartOf(request_).op, rule, name, ""));
}

void AttentionCall::Run(void* attention_out, void* softmax_lse, void* workspace) const {
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
    KernelTensors tensors(request_, prepared_);
    launch::Job job;
    job.op = PartOf(request_).op;
    job.plan = &prepared_.plan;
    job.listed = tensors.listed();
    job.cache = tensors.cache();
    for (int i = 0; i < kKernelArgumentCount; ++i) {
        const BufferBinding& binding = prepared_.arguments[i];
        launch::Argument argument;
        argument.name = binding.name;
        argument.bytes = binding.bytes;
        if (binding.present) {
            switch (static_cast<KernelArgument>(i)) {
                case KernelArgument::kAttentionOut:
                    argument.data = attention_out;
                    break;
                case KernelArgument::kSoftmaxLse:
                    argument.data = softmax_lse;
                    break;
                case KernelArgument::kWorkspace:
                    argument.data = workspace;
                    break;
                case KernelArgument::kPlan:
                    argument.data = const_cast<std::uint8_t*>(prepared_.plan.bytes.data());
                    break;
                default:
                    argument.data = tensors.Find(binding.name);
            }
        }
        if (binding.written) {
            const bool scratch = static_cast<KernelArgument>(i) == KernelArgument::kWorkspace;
            argument.access = scratch ? launch::Access::kScratch : launch::Access::kOutput;
        }
        job.arguments.push_back(std::move(argument));
    }
    launch::Run(job, settings_->run);
}

}  // namespace ascend_attention::doors
