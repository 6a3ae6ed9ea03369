// SPDX-License-Identifier: Apache-2.0
#include <sstream>

#include "plan/planner.h"

namespace ascend_attention {
namespace {

// A plan of thousands of sequences is not for reading: show the first ones and say how many follow.
constexpr uint32_t kSequencesShown = 16;

void DescribeBand(std::ostream& out, const SequencePlan& sequence) {
    const bool open_low = sequence.band_low <= -sequence.query_length;
    const bool open_high = sequence.band_high >= sequence.key_length;
    if (open_low && open_high) {
        out << "all keys";
        return;
    }
    out << "keys [";
    if (open_low) {
        out << "0";
    } else {
        out << "p" << std::showpos << sequence.band_low << std::noshowpos;
    }
    out << " .. ";
    if (open_high) {
        out << "end]";
    } else {
        out << "p" << std::showpos << sequence.band_high << std::noshowpos << "]";
    }
}

void DescribeStrides(std::ostream& out, const char* name, const HeadStrides& strides) {
    out << " " << name << " (" << strides.head << ", " << strides.row << ")";
}

void DescribeSequences(std::ostream& out, const Plan& plan) {
    const uint32_t count = plan.header().sequence_count;
    for (uint32_t i = 0; i < count && i < kSequencesShown; ++i) {
        const SequencePlan& sequence = plan.sequences()[i];
        out << "  sequence " << i << ": " << sequence.query_length << " queries x " << sequence.key_length << " keys, ";
        if (sequence.key_length == 0) {
            out << "zeros";
        } else {
            DescribeBand(out, sequence);
        }
        out << "; " << sequence.tile_count << " tiles of " << sequence.tile_rows << " rows per head; offsets query "
            << sequence.query << ", key " << sequence.key << ", value " << sequence.value << ", output "
            << sequence.output << ", lse " << sequence.lse << ", mask " << sequence.mask << "\n";
    }
    if (count > kSequencesShown) {
        out << "  ... and " << count - kSequencesShown << " more sequences\n";
    }
}

}  // namespace

std::string Describe(const Plan& plan) {
    std::ostringstream out;
    if (plan.bytes.empty()) {
        return "empty plan\n";
    }
    const AttentionPlan& header = plan.header();
    out << plan.kernel << " on " << plan.block_count << " AI cores, plan " << plan.bytes.size() << " bytes, workspace "
        << plan.workspace_bytes << " bytes\n";
    out << "  heads " << header.head_count << " x fold " << header.group_fold << " ("
        << (header.row_order == RowOrder::kTokenMajor ? "token" : "head") << "-major), " << header.heads_per_key_head
        << " per key head; head_dim " << header.head_dim << ", value " << header.value_head_dim << "; tiles of "
        << header.tile_keys << " keys; scale " << header.scale << "; mask " << (header.has_mask ? "yes" : "no")
        << ", lse " << (header.writes_lse ? "yes" : "no") << "\n";
    out << "  strides (head, row):";
    DescribeStrides(out, "query", header.query);
    DescribeStrides(out, "key", header.key);
    DescribeStrides(out, "value", header.value);
    DescribeStrides(out, "output", header.output);
    DescribeStrides(out, "lse", header.lse);
    out << ", mask row " << header.mask_row << "\n";
    DescribeSequences(out, plan);
    for (uint32_t i = 0; i < header.core_count; ++i) {
        const CoreRange& core = plan.cores()[i];
        out << "  core " << i << ": " << core.tile_total << " tiles from sequence " << core.sequence << ", head "
            << core.head << ", tile " << core.tile << "\n";
    }
    return out.str();
}

}  // namespace ascend_attention
