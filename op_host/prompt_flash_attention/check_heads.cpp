// SPDX-License-Identifier: Apache-2.0
// PFA 2: head counts, shapes and size limits. Reads the sizes into the scene.
#include "common/head_counts.h"
#include "common/tensor_rules.h"
#include "prompt_flash_attention/check.h"

namespace ascend_attention::pfa {
namespace {

// H of BSH, D of the others: per head.
bool WidthPerHead(AxisOrder order, int64_t width, int64_t heads, int64_t* dim) {
    const int64_t parts = order == AxisOrder::kBSH ? heads : 1;
    *dim = width / parts;
    return width % parts == 0;
}

Status CheckHeadCounts(Scene& scene) {
    const Request& request = scene.request;
    const int64_t key_heads = request.num_key_value_heads;
    if (request.num_heads < 1) {
        return Refuse("PFA-C7", "num_heads", std::to_string(request.num_heads), "at least 1");
    }
    scene.query_heads = request.num_heads;
    scene.key_heads = key_heads == 0 ? scene.query_heads : key_heads;
    if (scene.cards() && key_heads != 0) {
        return Refuse("PFA-C10", "num_key_value_heads", std::to_string(key_heads),
                      Concat("0 (as many as num_heads) on ", NameOf(scene.soc.product)));
    }
    if (key_heads < 0 || scene.query_heads % scene.key_heads != 0) {
        return Refuse("PFA-C8", "num_key_value_heads", std::to_string(key_heads),
                      Concat("0 (as many as num_heads) or a divisor of num_heads (", scene.query_heads, ")"),
                      key_heads < 0 ? "" : SwappedHeads("num_heads", scene.query_heads, scene.key_heads));
    }
    if (scene.query_heads / scene.key_heads > 64) {
        return Refuse("PFA-C8", "num_key_value_heads",
                      Concat(scene.query_heads, " query heads over ", scene.key_heads, " key/value heads"),
                      "at most 64 query heads per key/value head");
    }
    return OkStatus();
}

Status ReadQuery(Scene& scene) {
    const Shape& shape = scene.request.query->shape;
    const Axes axes = ReadAxes(scene.layout->input, shape);
    scene.batch = axes.batch;
    scene.query_length = scene.tokens = axes.length;
    if (!WidthPerHead(scene.layout->input, axes.width, scene.query_heads, &scene.head_dim)) {
        return Refuse("PFA-C7", "num_heads", std::to_string(scene.query_heads),
                      Concat("a divisor of H (", axes.width, ", query of shape ", ShapeText(shape), ")"));
    }
    if (scene.layout->input != AxisOrder::kBSH && axes.heads != scene.query_heads) {
        return Refuse("PFA-C7", "num_heads", QueryHeadsText(scene.query_heads),
                      Concat("the N axis of query (", axes.heads, ", shape ", ShapeText(shape), ")"),
                      OtherOrder(scene.layout->input, "query", shape, scene.query_heads));
    }
    return OkStatus();
}

Status ReadKeys(Scene& scene) {
    const Request& request = scene.request;
    const AxisOrder order = scene.layout->input;
    const Axes key = ReadAxes(order, request.key->shape);
    const Axes value = ReadAxes(order, request.value->shape);
    const std::string shape = Concat("shape ", ShapeText(request.key->shape));
    if (order != AxisOrder::kBSH && key.heads != scene.key_heads) {
        return Refuse("PFA-C9", "num_key_value_heads",
                      KeyHeadsText(request.num_key_value_heads, "num_heads", scene.query_heads),
                      Concat("the N axis of key (", key.heads, ", ", shape, ")"));
    }
    const bool same = scene.packed() ? key.heads == value.heads && key.length == value.length
                                     : request.key->shape == request.value->shape;
    if (!same) {
        return Refuse(
            "PFA-C11", "value", Concat("shape ", ShapeText(request.value->shape)),
            Concat(scene.packed() ? "tokens and heads of key, " : "the shape of key, ", ShapeText(request.key->shape)));
    }
    int64_t key_dim = 0;
    if (!WidthPerHead(order, key.width, scene.key_heads, &key_dim) || key_dim != scene.head_dim) {
        std::string help = OneHeadOfH("num_heads", order, scene.query_heads);
        if (help.empty() && order == AxisOrder::kBSH) {
            help =
                FittingKeyHeads("num_heads", scene.query_heads, request.num_key_value_heads, scene.head_dim, key.width);
        }
        return Refuse(
            "PFA-C11", "key", shape,
            Concat("head_dim of query (", scene.head_dim, ") for each of ", scene.key_heads, " key/value heads"), help);
    }
    if (key.batch != scene.batch) {
        return Refuse("PFA-C12", "key", Concat("batch ", key.batch), Concat("the batch of query (", scene.batch, ")"));
    }
    scene.key_length = scene.key_tokens = key.length;
    scene.value_head_dim = scene.packed() ? value.width : key_dim;
    return OkStatus();
}

struct Limits {
    const char* rule;
    int64_t batch;
    int64_t length;
};

Status CheckLimits(const Scene& scene) {
    const Limits limits = scene.cards() ? Limits{"PFA-C16", 128, 65535} : Limits{"PFA-C13", 65536, 20971520};
    const struct {
        const char* argument;
        const char* what;
        int64_t given;
        int64_t limit;
    } rows[] = {
        {"query", "head_dim", scene.head_dim, 512},
        {"value", "head_dim", scene.value_head_dim, 512},
        {"query", "batch", scene.batch, limits.batch},
        {"num_heads", "heads", scene.query_heads, 256},
        {"query", scene.packed() ? "T" : "Q_S", scene.query_length, limits.length},
        {"key", scene.packed() ? "T" : "KV_S", scene.key_length, limits.length},
    };
    for (const auto& row : rows) {
        if (row.given > row.limit) {
            return Refuse(limits.rule, row.argument, Concat(row.what, " ", row.given),
                          Concat(row.what, " at most ", row.limit),
                          &row == &rows[0] ? OneHeadOfH("num_heads", scene.layout->input, scene.query_heads) : "");
        }
    }
    return OkStatus();
}

// PFA-C18: an unaligned head_dim is accepted, but for few sequences only.
Status CheckWidths(const Scene& scene) {
    if (scene.cards()) {
        return OkStatus();
    }
    const int64_t bytes = scene.head_dim * SizeOf(scene.request.query->dtype);
    if (bytes % 32 != 0 && scene.batch > 128) {
        return Refuse("PFA-C14", "query", Concat("batch ", scene.batch, " with head_dim ", scene.head_dim),
                      "batch at most 128 when head_dim is no multiple of 32 bytes",
                      "Pad head_dim with zeros and keep scale_value.");
    }
    const AxisOrder order = scene.layout->input;
    const int64_t width = scene.query_heads * scene.head_dim;
    if ((order == AxisOrder::kBSH || order == AxisOrder::kBSND) && width >= 65535) {
        return Refuse("PFA-C15", "query", Concat("N * D = ", width),
                      Concat("below 65535 with input_layout ", scene.layout->name));
    }
    return OkStatus();
}

}  // namespace

Status CheckHeads(Scene& scene) {
    using Step = Status (*)(Scene&);
    constexpr Step kSteps[] = {CheckHeadCounts, ReadQuery, ReadKeys};
    if (Status status = FirstRefusal(kSteps, scene); !status.ok()) {
        return status;
    }
    if (Status status = CheckLimits(scene); !status.ok()) {
        return status;
    }
    return CheckWidths(scene);
}

}  // namespace ascend_attention::pfa
