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

// " key (64, 128)", and how far it is from block to block.
void DescribeKeys(std::ostream& out, const AttentionPlan& header) {
    const bool rope = header.rope_dim > 0;
    DescribeStrides(out, "key", header.key);
    if (rope) {
        DescribeStrides(out, "key_rope", header.key_rope);
    }
    DescribeStrides(out, "value", header.value);
    switch (header.key_placement) {
        case KeyPlacement::kDense:
            return;
        case KeyPlacement::kList:
            out << ", from a list of addresses";
            return;
        case KeyPlacement::kPagedRows:
        case KeyPlacement::kPagedNz:
            out << ", in blocks of " << header.block_size
                << (header.key_placement == KeyPlacement::kPagedNz ? " in NZ form" : "") << ", " << header.key_block;
            if (rope) {
                out << ", " << header.key_rope_block;
            }
            out << " and " << header.value_block << " apart";
            return;
        case KeyPlacement::kSelected:
            out << ", blocks of " << header.block_size << " selected by a map (" << header.selected.map.head << ", "
                << header.selected.map.row << "), " << header.selected.list_count << " lists of "
                << header.selected.list_words << " words";
    }
}

const char* YesNo(bool yes) { return yes ? "yes" : "no"; }

void DescribeHeader(std::ostream& out, const AttentionPlan& header) {
    out << "  heads " << header.head_count << " x fold " << header.group_fold << " ("
        << (header.row_order == RowOrder::kTokenMajor ? "token" : "head") << "-major), " << header.heads_per_key_head
        << " per key head; head_dim " << header.head_dim;
    if (header.rope_dim > 0) {
        out << " with " << header.rope_dim << " of rope";
    }
    out << ", value " << header.value_head_dim << "; tiles of " << header.tile_keys << " keys, " << header.row_group
        << " row tiles together; scale " << header.scale << "; mask " << YesNo(header.has_mask) << ", bias "
        << YesNo(header.has_bias) << ", sink " << YesNo(header.has_sink) << ", lse " << YesNo(header.writes_lse)
        << (header.heads_apart ? "; each head on cores of its own" : "") << "\n";
    out << "  strides (head, row):";
    DescribeStrides(out, "query", header.query);
    if (header.rope_dim > 0) {
        DescribeStrides(out, "query_rope", header.query_rope);
    }
    DescribeKeys(out, header);
    DescribeStrides(out, "output", header.output);
    DescribeStrides(out, "lse", header.lse);
    if (header.has_bias) {
        DescribeStrides(out, "bias", header.bias);
    }
    out << ", mask row " << header.mask_row << "\n";
}

// "sequence 2, head 0, tile 1"
template <class Place>
void DescribePlace(std::ostream& out, const Place& place) {
    out << "sequence " << place.sequence << ", head " << place.head << ", tile " << place.tile;
}

void DescribeCores(std::ostream& out, const Plan& plan) {
    const AttentionPlan& header = plan.header();
    if (header.key_placement == KeyPlacement::kSelected) {
        out << "  cores: the device deals out the tiles\n";
        return;
    }
    for (uint32_t i = 0; i < header.core_count; ++i) {
        const CoreRange& core = plan.cores()[i];
        out << "  core " << i << ": " << core.tile_total << (core.tile_total == 1 ? " tile from " : " tiles from ");
        DescribePlace(out, core);
        if (core.key_begin > 0) {
            out << ", the first from key " << core.key_begin;
        }
        if (core.key_end != kWholeTile) {
            out << ", the last up to key " << core.key_end;
        }
        out << "\n";
    }
    for (uint32_t i = 0; i < header.combine_count; ++i) {
        const CombineTask& task = plan.combine_tasks()[i];
        out << "  combined: ";
        DescribePlace(out, task);
        out << ", from cores " << task.first_core << " to " << task.first_core + task.part_count - 1
            << (i < header.dealt_count ? ", by all\n" : ", by the first\n");
    }
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
        out << "; " << sequence.tile_count << " tiles of " << sequence.tile_rows << " rows per head";
        if (sequence.block_rows > 0) {
            out << ", " << sequence.block_rows << " rows a list";
        }
        out << "; offsets query " << sequence.query << ", key "
            << (plan.header().key_placement == KeyPlacement::kList ? sequence.key_list : sequence.key) << ", value "
            << sequence.value << ", output " << sequence.output << ", lse " << sequence.lse << ", mask "
            << sequence.mask << "\n";
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
    DescribeHeader(out, header);
    DescribeSequences(out, plan);
    DescribeCores(out, plan);
    return out.str();
}

}  // namespace ascend_attention
