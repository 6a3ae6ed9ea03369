// SPDX-License-Identifier: Apache-2.0
#include "cube/load_3d_window.h"

#include <cstring>

#include "core/core.h"

namespace ascend_attention::sim {

namespace {

// Sixteen rows of a group for each band, as they lie in L1. Per host thread: an instruction runs to its end.
std::vector<std::byte>& ThreadColumn() {
    thread_local std::vector<std::byte> column;
    return column;
}

}  // namespace

LoadWindow::LoadWindow(Access& access, const Load3dCall& load, FeatureMap& map, const WindowPlacement& placement,
                       std::byte* result)
    : access_(access),
      load_(load),
      map_(map),
      placement_(placement),
      source_(access, load, access.core().state.load_repeat.boundary),
      column_(ThreadColumn()),
      result_(result) {
    column_.resize(std::max<std::size_t>(column_.size(), placement.bands() * kFractalBytes));
}

template <typename Visit>
void LoadWindow::ForEachPart(std::uint64_t row, std::uint64_t group, std::uint64_t first, std::uint64_t bytes,
                             Visit visit) {
    if (!placement_.transposed()) {
        visit(placement_.Unit(row, group) + first, 0, bytes);
        return;
    }
    const std::uint64_t element = placement_.element();
    for (std::uint64_t at = 0; at < bytes; at += element) {
        visit(placement_.Element(row, group, (first + at) / element), at, element);
    }
}

void LoadWindow::Move(std::uint64_t group, std::uint64_t to) {
    const FeatureMap::Group what = map_.Describe(group);
    const std::byte* column = Gather(what);
    Scatter(column, to);
    if (access_.ChecksInitialisation()) {
        Carry(what, to);
    }
}

void LoadWindow::UndefineRest() {
    const std::uint64_t rows = map_.chosen();
    const std::uint64_t all_rows = placement_.bands() * kFractalRows;
    const std::uint64_t lines = placement_.groups() * placement_.per_group();
    if (!placement_.transposed()) {
        for (std::uint64_t group = 0; group < placement_.groups(); ++group) {
            for (std::uint64_t row = rows; row < all_rows; ++row) {
                Undefine(placement_.Unit(row, group), kBlockBytes);
            }
        }
        return;
    }
    for (std::uint64_t row = rows; row < all_rows; ++row) {
        for (std::uint64_t line = 0; line < lines; ++line) {
            Undefine(placement_.Element(row, 0, line), placement_.element());
        }
    }
}

void LoadWindow::Undefine(std::uint64_t at, std::uint64_t bytes) {
    Poison(result_ + at, bytes);
    access_.Undefines(load_.target, Region{at, bytes});
}

const std::byte* LoadWindow::Gather(const FeatureMap::Group& what) {
    const std::uint64_t rows = map_.chosen();
    const std::byte* direct = nullptr;
    if (what.pieces > 1 || rows % kFractalRows != 0) {
        Poison(column_.data(), RoundUp(rows, kFractalRows) * kBlockBytes);
    }
    for (std::uint64_t piece = 0; piece < what.pieces && what.first_point + piece < map_.points(); ++piece) {
        for (const PixelRun& run : map_.Runs(what.first_point + piece)) {
            std::byte* to = column_.data() + run.row * kBlockBytes + piece * what.pixel_bytes;
            if (!run.inside) {
                Pad(to, run.count, what.pixel_bytes);
                continue;
            }
            const bool alone = what.pieces == 1 && run.count == rows && rows % kFractalRows == 0;
            source_.Read(what.plane_offset + run.pixel * what.pixel_bytes, run.count * what.pixel_bytes,
                         [&](std::uint64_t done, std::uint64_t count, const std::byte* data) {
                             if (alone && count == rows * kBlockBytes) {
                                 direct = data;
                             } else {
                                 Place(to, done, data, count, what.pixel_bytes);
                             }
                         });
        }
    }
    return direct != nullptr ? direct : column_.data();
}

void LoadWindow::Place(std::byte* to, std::uint64_t done, const std::byte* data, std::uint64_t bytes,
                       std::uint64_t pixel_bytes) {
    if (pixel_bytes == kBlockBytes) {
        std::memcpy(to + done, data, bytes);
        return;
    }
    for (std::uint64_t i = 0; i < bytes;) {
        const std::uint64_t at = done + i;
        const std::uint64_t count = std::min(pixel_bytes - at % pixel_bytes, bytes - i);
        std::memcpy(to + at / pixel_bytes * kBlockBytes + at % pixel_bytes, data + i, count);
        i += count;
    }
}

void LoadWindow::Pad(std::byte* to, std::uint64_t rows, std::uint64_t bytes) const {
    for (std::uint64_t row = 0; row < rows; ++row) {
        FillPattern(to + row * kBlockBytes, bytes, access_.core().state.load_padding_value,
                    static_cast<std::uint32_t>(placement_.element()));
    }
}

void LoadWindow::Scatter(const std::byte* column, std::uint64_t group) {
    for (std::uint64_t row = 0; row < map_.chosen(); row += kFractalRows) {
        const std::byte* from = column + row * kBlockBytes;
        if (!placement_.transposed()) {
            const std::uint64_t rows = std::min(kFractalRows, map_.chosen() - row);
            std::memcpy(result_ + placement_.Unit(row, group), from, rows * kBlockBytes);
        } else if (placement_.element() == 2) {
            TransposeFractal16(result_ + placement_.Element(row, group, 0), from);
        } else {
            Turn8x8(result_ + placement_.Element(row, group, 0), from);
            Turn8x8(result_ + placement_.Element(row + 8, group, 0), from + 8 * kBlockBytes);
        }
    }
}

void LoadWindow::Turn8x8(std::byte* to, const std::byte* from) {
    std::uint32_t source[64];
    std::uint32_t target[64];
    std::memcpy(source, from, sizeof source);
    for (int row = 0; row < 8; ++row) {
        for (int column = 0; column < 8; ++column) {
            target[column * 8 + row] = source[row * 8 + column];
        }
    }
    std::memcpy(to, target, sizeof target);
}

void LoadWindow::Carry(const FeatureMap::Group& what, std::uint64_t group) {
    for (std::uint64_t piece = 0; piece < what.pieces; ++piece) {
        if (what.first_point + piece >= map_.points()) {
            for (std::uint64_t row = 0; row < map_.chosen(); ++row) {
                ForEachPart(row, group, piece * what.pixel_bytes, what.pixel_bytes,
                            [&](std::uint64_t to, std::uint64_t, std::uint64_t bytes) { Undefine(to, bytes); });
            }
            continue;
        }
        for (const PixelRun& run : map_.Runs(what.first_point + piece)) {
            if (run.inside) {
                CarryRun(what, run, group, piece);
            }
        }
    }
}

void LoadWindow::CarryRun(const FeatureMap::Group& what, const PixelRun& run, std::uint64_t group,
                          std::uint64_t piece) {
    source_.ForEachStretch(what.plane_offset + run.pixel * what.pixel_bytes, run.count * what.pixel_bytes,
                           [&](std::uint64_t done, std::uint64_t at, std::uint64_t count) {
                               if (access_.AllDefined(source_.operand(), at, count)) {
                                   return;
                               }
                               for (std::uint64_t i = 0; i < count; i += what.pixel_bytes) {
                                   const std::uint64_t row = run.row + (done + i) / what.pixel_bytes;
                                   ForEachPart(row, group, piece * what.pixel_bytes, what.pixel_bytes,
                                               [&](std::uint64_t to, std::uint64_t from, std::uint64_t bytes) {
                                                   access_.Carries(load_.target, to, source_.operand(), at + i + from,
                                                                   bytes);
                                               });
                               }
                           });
}

}  // namespace ascend_attention::sim
