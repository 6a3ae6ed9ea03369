// SPDX-License-Identifier: Apache-2.0
#include "timing/trace_json.h"

#include <algorithm>
#include <array>
#include <limits>
#include <string>
#include <vector>

#include "core/findings.h"

namespace ascend_attention::sim {

namespace {

// The order of a core's tracks.
constexpr Pipe kTracks[kPipeCount] = {Pipe::kScalar, Pipe::kMte2,    Pipe::kMte1, Pipe::kCube,
                                      Pipe::kVector, Pipe::kFixpipe, Pipe::kMte3};

int TrackOf(Pipe pipe) {
    return static_cast<int>(std::find(std::begin(kTracks), std::end(kTracks), pipe) - std::begin(kTracks)) + 1;
}

// How many events begin when, so that a bound on their number becomes a time.
class Census : public TraceVisitor {
public:
    Census(const RunRecord& record, const TraceWindow& window) : begin_(window.begin) {
        const auto last = static_cast<std::int64_t>(record.Nanoseconds(record.timeline.cycles)) + 1;
        const std::int64_t width = std::max<std::int64_t>(1, std::min(window.end, last) - begin_);
        step_ = (width + kBins - 1) / kBins;
        bins_.resize(static_cast<std::size_t>(width / step_ + 1));
        std::array<std::int64_t, kPipeCount> none{};
        none.fill(kNever);
        first_.resize(record.cores.size(), none);
    }

    void Bar(const TraceBar& bar) override {
        Add(bar.begin, 1);
        std::int64_t& first = first_[bar.core][static_cast<std::size_t>(bar.pipe)];
        first = std::min(first, bar.begin);
    }
    void Arrow(const TraceArrow& arrow) override { Add(arrow.end, 2); }

    bool HasTrack(std::size_t core, Pipe pipe, std::int64_t end) const {
        return first_[core][static_cast<std::size_t>(pipe)] < end;
    }
    std::uint64_t total() const { return total_; }
    TraceCount Cut(std::uint64_t most) const {
        TraceCount count;
        if (total_ <= most) {
            count.events = total_;
            return count;
        }
        std::size_t bin = 0;
        while (count.events + bins_[bin] <= most) {
            count.events += bins_[bin++];
        }
        count.left_out = total_ - count.events;
        count.least = count.events == 0 ? bins_[bin] : 0;
        count.cut = begin_ + static_cast<std::int64_t>(bin) * step_;
        return count;
    }

private:
    static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
    static constexpr std::int64_t kBins = std::int64_t{1} << 20;

    void Add(std::int64_t time, std::uint32_t events) {
        const std::int64_t bin = std::max<std::int64_t>(0, time - begin_) / step_;
        bins_[std::min(static_cast<std::size_t>(bin), bins_.size() - 1)] += events;
        total_ += events;
    }

    std::int64_t begin_;
    std::int64_t step_ = 1;
    std::uint64_t total_ = 0;
    std::vector<std::uint32_t> bins_;
    std::vector<std::array<std::int64_t, kPipeCount>> first_;  // when each track begins
};

class Writer {
public:
    Writer(const RunRecord& record, JsonOutput& out) : record_(record), out_(out) {}

    // Opens an event; whoever calls goes on inside of it.
    JsonOutput& Event(const char* phase, std::size_t core, int track) {
        out_ << (first_ ? "\n{" : ",\n{") << "\"ph\":\"" << phase
             << "\",\"pid\":" << static_cast<std::int64_t>(core + 1);
        first_ = false;
        out_.Flush(false);
        return out_ << ",\"tid\":" << ThreadOf(core, track);
    }

    void Tracks(std::size_t core, const Census& census, std::int64_t end) {
        Name(core, 0, "process_name", "name").String(record_.cores[core].name) << "}}";
        Name(core, 0, "process_labels", "labels").String(record_.kernel + ", " + record_.soc + ", modelled") << "}}";
        Name(core, 0, "process_sort_index", "sort_index") << static_cast<std::int64_t>(core) << "}}";
        for (const Pipe pipe : kTracks) {
            if (census.HasTrack(core, pipe, end)) {
                Name(core, TrackOf(pipe), "thread_name", "name").String(NameOf(pipe)) << "}}";
                Name(core, TrackOf(pipe), "thread_sort_index", "sort_index") << std::int64_t{TrackOf(pipe)} << "}}";
            }
        }
    }

    void Note(std::size_t core, std::int64_t time, const std::string& text) {
        Event("i", core, 0) << ",\"ts\":";
        out_.Time(time) << ",\"s\":\"g\",\"cat\":\"note\",\"name\":";
        out_.String(text) << "}";
    }

    void Instruction(const TraceBar& bar);
    void Wait(const TraceBar& bar);
    void Arrow(const TraceArrow& arrow, std::int64_t id);
    void Metadata(const TraceWindow& window, const TraceCount& count);

private:
    // Of one number space: some readers take a thread's number for its identity.
    static std::int64_t ThreadOf(std::size_t core, int track) {
        return static_cast<std::int64_t>(core + 1) * 10 + track;
    }

    JsonOutput& Name(std::size_t core, int track, const char* what, const char* field) {
        return Event("M", core, track) << ",\"name\":\"" << what << "\",\"args\":{\"" << field << "\":";
    }
    void Open(const TraceBar& bar) {
        Event("X", bar.core, TrackOf(bar.pipe)) << ",\"ts\":";
        out_.Time(bar.begin) << ",\"dur\":";
        out_.Time(bar.end - bar.begin);
    }
    void Site(const Site& site) { out_.String(BaseName(site.file) + ":" + std::to_string(site.line)); }
    void Amount(const Step& step, const InstructionKey& key);
    void Cause(const TraceBar& bar, const TimedStep& timed);
    void End(const char* phase, const TraceArrow& arrow, StepRef step, std::int64_t time, std::int64_t id);

    const RunRecord& record_;
    JsonOutput& out_;
    bool first_ = true;
};

void Writer::Amount(const Step& step, const InstructionKey& key) {
    const char* unit = key.units_are_bytes ? "bytes" : key.pipe == Pipe::kCube ? "fractal_products" : "repeats";
    if (key.pipe != Pipe::kScalar) {
        out_ << ",\"" << unit << "\":" << std::int64_t{step.units};
    }
    if (step.rows != 0) {
        out_ << (key.pipe == Pipe::kCube ? ",\"multiply_adds\":" : ",\"rows\":") << std::int64_t{step.rows};
    }
}

// Why not earlier.
void Writer::Cause(const TraceBar& bar, const TimedStep& timed) {
    out_ << ",\"cause\":\"" << DescribeWait(record_, bar) << "\"";
    if (timed.by.core >= 0 && timed.cause != Cause::kPipe) {
        out_ << ",\"waited_for\":";
        out_.String(DescribeStep(record_, timed.by));
    }
}

void Writer::Instruction(const TraceBar& bar) {
    const EventStream& stream = record_.streams[bar.core];
    const Step& step = stream.steps[bar.step];
    const TimedStep& timed = record_.timeline.cores[bar.core].steps[bar.step];
    const InstructionKey& key = stream.instructions[step.instruction];
    Open(bar);
    out_ << ",\"cat\":\"" << NameOf(bar.pipe) << "\",\"name\":";
    out_.String(key.name) << ",\"args\":{\"instruction\":";
    out_.String(key.name);
    if (bar.pipe != Pipe::kScalar) {
        out_ << ",\"dtype\":\"" << NameOf(key.dtype) << "\"";
        if (key.has_path) {
            out_ << ",\"path\":\"" << NameOf(key.source) << ">" << NameOf(key.target) << "\"";
        }
    }
    out_ << ",\"site\":";
    Site(stream.sites[step.site]);
    Amount(step, key);
    out_ << ",\"start_cycle\":";
    out_.Decimal(timed.start) << ",\"cycles\":";
    out_.Decimal(timed.occupancy);
    if (timed.own < timed.occupancy && bar.pipe != Pipe::kScalar) {
        out_ << ",\"cycles_alone\":";
        out_.Decimal(timed.own);
    }
    if (timed.tail > 0) {
        out_ << ",\"result_cycles_later\":";
        out_.Decimal(timed.tail);
    }
    Cause(bar, timed);
    out_ << "}}";
}

void Writer::Wait(const TraceBar& bar) {
    const EventStream& stream = record_.streams[bar.core];
    Open(bar);
    out_ << ",\"cat\":\"wait\",\"name\":\"wait: " << DescribeWait(record_, bar) << "\",\"args\":{\"site\":";
    Site(stream.sites[stream.steps[bar.step].site]);
    Cause(bar, record_.timeline.cores[bar.core].steps[bar.step]);
    out_ << "}}";
}

void Writer::End(const char* phase, const TraceArrow& arrow, StepRef ref, std::int64_t time, std::int64_t id) {
    const auto core = static_cast<std::size_t>(ref.core);
    Event(phase, core, TrackOf(record_.streams[core].steps[ref.step].pipe)) << ",\"ts\":";
    out_.Time(time) << ",\"id\":" << id << ",\"cat\":\"" << (arrow.cross_core ? "cross-core flag" : "flag")
                    << "\",\"name\":\"" << (arrow.cross_core ? "cross-core flag" : "flag")
                    << (*phase == 'f' ? "\",\"bp\":\"e\"}" : "\"}");
}

void Writer::Arrow(const TraceArrow& arrow, std::int64_t id) {
    End("s", arrow, arrow.from, arrow.begin, id);
    End("f", arrow, arrow.to, arrow.end, id);
}

void Writer::Metadata(const TraceWindow& window, const TraceCount& count) {
    out_ << "\"metadata\":{\"times\":\"modelled, not measured\",\"kernel\":";
    out_.String(record_.kernel) << ",\"soc\":";
    out_.String(record_.soc) << ",\"assumption\":\"middle\",\"costs\":";
    out_.String(record_.costs) << ",\"clock_ghz\":";
    out_.Decimal(record_.clock_hz / 1e9) << ",\"cycles\":";
    out_.Decimal(record_.timeline.cycles) << ",\"microseconds\":";
    out_.Time(static_cast<std::int64_t>(record_.Nanoseconds(record_.timeline.cycles)))
        << ",\"head_microseconds_before_0\":";
    out_.Decimal(record_.head_microseconds) << ",\"window_start_us\":";
    out_.Time(window.begin);
    if (window.end != TraceWindow{}.end) {
        out_ << ",\"window_end_us\":";
        out_.Time(window.end);
    }
    out_ << ",\"events\":" << static_cast<std::int64_t>(count.events);
    if (count.cut >= 0) {
        out_ << ",\"events_left_out\":" << static_cast<std::int64_t>(count.left_out) << ",\"capped_at_us\":";
        out_.Time(count.cut);
    }
    out_ << "}}\n";
}

class Bars : public TraceVisitor {
public:
    explicit Bars(Writer& writer) : writer_(writer) {}
    void Bar(const TraceBar& bar) override { bar.wait ? writer_.Wait(bar) : writer_.Instruction(bar); }
    void Arrow(const TraceArrow&) override {}

private:
    Writer& writer_;
};

class Arrows : public TraceVisitor {
public:
    explicit Arrows(Writer& writer) : writer_(writer) {}
    void Bar(const TraceBar&) override {}
    void Arrow(const TraceArrow& arrow) override { writer_.Arrow(arrow, ++id_); }

private:
    Writer& writer_;
    std::int64_t id_ = 0;
};

}  // namespace

TraceCount WriteTrace(const RunRecord& record, const TraceWindow& window, std::uint64_t most_events,
                      const TraceSink& sink) {
    Census census(record, window);
    WalkTrace(record, window, census);
    const TraceCount count = census.Cut(most_events);
    if (count.least > 0) {
        return count;
    }
    TraceWindow kept = window;
    kept.end = count.cut >= 0 ? count.cut : window.end;

    // The events come first: some readers stop at the first key that they do not know.
    JsonOutput out(sink);
    out << "{\"traceEvents\":[";
    Writer writer(record, out);
    std::size_t first_core = record.cores.size();
    for (std::size_t core = record.cores.size(); core-- > 0;) {
        first_core = window.Has(core) ? core : first_core;
    }
    for (std::size_t core = first_core; core < record.cores.size(); ++core) {
        if (window.Has(core)) {
            writer.Tracks(core, census, kept.end);
        }
    }
    if (count.cut >= 0 && first_core < record.cores.size()) {
        writer.Note(first_core, count.cut,
                    "capped: " + std::to_string(count.left_out) + " later events are left out (max_events)");
    }
    Bars bars(writer);
    WalkTrace(record, kept, bars);
    // Behind all bars: an arrow that begins when its bar begins must find it.
    Arrows arrows(writer);
    WalkTrace(record, kept, arrows);
    out << "\n],\n";
    writer.Metadata(window, count);
    out.Flush();
    return count;
}

}  // namespace ascend_attention::sim
