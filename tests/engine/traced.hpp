#pragma once

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <zlib.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <deque>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <unistd.h>

#include "trace/write/record.hpp"
#include "trace/write/trace_file.hpp"

/// A reader of traces that trusts nothing: it checks what docs/trace-format.md promises.
namespace weft::test {

/// A file name that no runtime of this process has used.
inline std::string trace_path(const std::string& name) {
    static int so_far = 0;
    return testing::TempDir() + "weft_" + std::to_string(getpid()) + "_" + name + std::to_string(++so_far) +
           ".weft";
}

struct trace_read {
    nlohmann::json header;
    std::map<std::uint16_t, std::deque<trace::record>> streams;
    std::map<std::uint32_t, std::string> names;
    std::map<std::uint32_t, nlohmann::json> places;
    bool is_complete = false;
    std::uint64_t lost = 0;

    explicit trace_read(const std::string& path) {
        std::ifstream file(path, std::ios::binary);
        std::ostringstream whole_file;
        whole_file << file.rdbuf();
        const std::string bytes = std::move(whole_file).str();
        if (bytes.size() < 24) throw std::runtime_error("no header in " + path);
        EXPECT_EQ(bytes.substr(0, 8), "wefttrc\n");
        std::size_t at = 8;
        EXPECT_EQ(number<std::uint32_t>(bytes, at), weft::trace::trace_file::version);
        const auto length = number<std::uint32_t>(bytes, at), sum = number<std::uint32_t>(bytes, at);
        EXPECT_EQ(number<std::uint32_t>(bytes, at), 0U);
        EXPECT_EQ(crc(bytes, at, length), sum);
        header = nlohmann::json::parse(bytes.substr(at, length));
        at += length;
        while (at + 16 <= bytes.size()) {
            EXPECT_EQ(bytes.substr(at, 4), "WBLK");
            at += 4;
            const auto type = number<std::uint16_t>(bytes, at), stream = number<std::uint16_t>(bytes, at);
            const auto size = number<std::uint32_t>(bytes, at), of_block = number<std::uint32_t>(bytes, at);
            if (at + size > bytes.size()) return;
            const std::string whole = bytes.substr(at - 16, 12) + bytes.substr(at, size);
            EXPECT_EQ(crc(whole, 0, whole.size()), of_block);
            if (type == 1) {
                for (std::size_t i = 0; i < size; i += sizeof(trace::record)) {
                    trace::record r;
                    std::memcpy(&r, bytes.data() + at + i, sizeof r);
                    EXPECT_EQ(r.stream, stream);
                    EXPECT_TRUE(!r.n || r.what_kind != trace::kind::spawn || names.contains(r.n) ||
                                places.contains(r.n));
                    streams[stream].push_back(r);
                }
            } else {
                const auto text = nlohmann::json::parse(bytes.substr(at, size));
                EXPECT_TRUE(type == 2 || type == 3 || type == 4) << type;
                if (type == 2)
                    for (const auto& [n, name] : text.items())
                        names[static_cast<std::uint32_t>(std::stoul(n))] = name;
                else if (type == 4)
                    for (const auto& [n, place] : text.items())
                        places[static_cast<std::uint32_t>(std::stoul(n))] = place;
                else
                    is_complete = true, lost = text["lost"];
            }
            at += size;
        }
    }

    int count(trace::kind k) const {
        int n = 0;
        for (const auto& [s, records] : streams)
            n += static_cast<int>(std::ranges::count(records, k, &trace::record::what_kind));
        return n;
    }

private:
    template <class T>
    static T number(const std::string& bytes, std::size_t& at) {
        T n;
        std::memcpy(&n, bytes.data() + at, sizeof n);
        at += sizeof n;
        return n;
    }
    static std::uint32_t crc(const std::string& bytes, std::size_t at, std::size_t size) {
        return static_cast<std::uint32_t>(
            crc32(0, reinterpret_cast<const Bytef*>(bytes.data() + at), static_cast<uInt>(size)));
    }
};

/// Replays the workers' stacks, last section of docs/trace-format.md, and reports impossible events.
class trace_player {
public:
    struct task {
        bool began = false, ended = false;
        std::uint64_t spawned_at = 0;
        std::uint8_t origin = 0;
    };

    /// `slack_ns`: an effect may carry a time stamp up to that much before its cause.
    explicit trace_player(trace_read& all, std::uint64_t slack_ns) : slack_(slack_ns) {
        for (const auto& [stream, records] : all.streams) {
            std::uint64_t before = 0;
            for (const trace::record& r : records) {
                if (r.what_kind == trace::kind::ready) continue;
                EXPECT_GE(r.at, before) << "stream " << stream;
                before = r.at;
            }
        }
        // In order of time. A worker that cannot continue yet, since what it takes was not given, lets others
        // go first.
        while (step(all)) {}
        for (const auto& [stream, records] : all.streams)
            EXPECT_TRUE(records.empty())
                << "stream " << stream << " stands before " << (records.empty() ? "" : text(records.front()));
        for (const auto& [w, s] : stacks_) EXPECT_TRUE(s.empty()) << "worker " << w;
        EXPECT_TRUE(aside_.empty());
        for (const auto& [n, t] : tasks) EXPECT_EQ(t.began, t.ended) << "task " << n;
    }

    std::map<std::uint64_t, task> tasks;

private:
    struct entry {
        std::uint64_t number;
        std::uint8_t how;
    };
    using stack = std::vector<entry>;
    struct rest {
        stack entries;
        std::uint64_t child = 0; ///< that they were exposed under
    };

    bool step(trace_read& all) {
        std::vector<std::pair<std::uint64_t, std::uint16_t>> heads;
        for (const auto& [stream, records] : all.streams)
            if (!records.empty()) heads.emplace_back(records.front().at, stream);
        std::ranges::sort(heads);
        for (const auto& [at, stream] : heads) {
            if (!play(all.streams[stream].front(), heads.front().first)) continue;
            all.streams[stream].pop_front();
            return true;
        }
        return false;
    }

    /// False if it is not its turn.
    bool play(const trace::record& r, std::uint64_t earliest) {
        stack& s = stacks_[r.stream];
        const auto lying = std::ranges::find(s, r.a, &entry::number);
        switch (r.what_kind) {
        case trace::kind::spawn:
            EXPECT_FALSE(tasks.contains(r.a)) << text(r);
            tasks[r.a] = {.spawned_at = r.at, .origin = r.what};
            break;
        case trace::kind::begin:
            if (!tasks.contains(r.a)) return false;
            EXPECT_GE(r.at + slack_, tasks[r.a].spawned_at) << text(r);
            EXPECT_FALSE(std::exchange(tasks[r.a].began, true)) << text(r);
            EXPECT_TRUE(r.what != 0 || s.empty()) << text(r) << " on " << (s.empty() ? 0 : s.back().number);
            s.push_back({r.a, r.what});
            break;
        case trace::kind::end:
            EXPECT_FALSE(std::exchange(tasks[r.a].ended, true)) << text(r);
            if (s.empty() || s.back().number != r.a)
                ADD_FAILURE() << text(r) << " while " << (s.empty() ? 0 : s.back().number) << " runs";
            else
                s.pop_back();
            break;
        case trace::kind::suspend:
            if (lying == s.end()) {
                ADD_FAILURE() << text(r) << " does not lie there";
                break;
            }
            aside_[r.a] = {.entries = std::exchange(s, {})};
            break;
        case trace::kind::resume:
            if (!aside_.contains(r.a)) return false;
            EXPECT_GE(r.at + slack_, earliest);
            s.insert(s.end(), aside_[r.a].entries.begin(), aside_[r.a].entries.end());
            aside_.erase(r.a);
            break;
        case trace::kind::expose: {
            if (lying == s.end()) break; // of a join
            const auto child = std::find_if(lying + 1, s.end(), [](const entry& e) { return e.how == 1; });
            if (child == s.end()) {
                ADD_FAILURE() << text(r) << " with nothing below it";
                break;
            }
            aside_[r.a] = {.entries = stack(lying, child), .child = child->number};
            s.erase(lying, child);
            break;
        }
        case trace::kind::returned:
            if (const auto back = aside_.find(r.a); back != aside_.end()) {
                const rest& of = back->second;
                s.insert(std::ranges::find(s, of.child, &entry::number), of.entries.begin(),
                         of.entries.end());
                aside_.erase(back);
            }
            break;
        default: break;
        }
        return true;
    }

    static std::string text(const trace::record& r) {
        std::ostringstream out;
        out << trace::kind_names[static_cast<std::size_t>(r.what_kind)] << " of " << r.a << " at " << r.at
            << " on worker " << r.stream;
        return out.str();
    }

    const std::uint64_t slack_;
    std::map<std::uint16_t, stack> stacks_;
    std::map<std::uint64_t, rest> aside_;
};

} // namespace weft::test
