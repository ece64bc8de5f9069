// Reads the flights that left New York City in 2013 (the data set nycflights13, `flights.csv`) into a table:
// will this flight arrive more than 15 minutes late?
//
// The attributes are those known when the timetable is printed: the date (day of the year, of the month, of
// the week), scheduled departure and arrival (minutes after midnight, and the minute of the hour), carrier,
// flight number, origin, destination and distance. What is only known afterwards (actual times, the delay
// itself, time in the air) would give the answer away and is left out. The delay at departure is known when
// the flight leaves the gate and says most of it: it is an attribute only where it is asked for. Flights
// without an arrival delay (cancelled or diverted) are left out.
//
// Carriers and airports are ordered by their code, which means nothing; a tree can still cut the order
// several times.
#pragma once

#include "table.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <stdexcept>
#include <string_view>
#include <system_error>

namespace examples {

// What is wrong with a file, and where: file, line (from 1, 0 for the whole file) and column name.
struct csv_error : std::runtime_error {
    csv_error(const std::string& file, std::size_t line, const std::string& message)
        : std::runtime_error(line == 0 ? file + ": " + message
                                       : file + ":" + std::to_string(line) + ": " + message) {}
};

inline constexpr int late_minutes = 15;

namespace flights {

// Splits one line; a field may be wrapped in double quotes but may not contain any, nor a comma.
inline void split(std::string_view line, std::vector<std::string_view>& fields) {
    fields.clear();
    for (;;) {
        std::size_t comma = line.find(',');
        std::string_view field = line.substr(0, comma);
        if (field.size() >= 2 && field.front() == '"' && field.back() == '"')
            field = field.substr(1, field.size() - 2);
        fields.push_back(field);
        if (comma == std::string_view::npos) return;
        line.remove_prefix(comma + 1);
    }
}

// The lines of a file with the fields of the current one, found by column name.
class reader {
public:
    explicit reader(const std::string& path) : path_(path) {
        std::ifstream in(path, std::ios::binary);
        if (!in || std::filesystem::is_directory(path)) throw csv_error(path, 0, "cannot be read");
        text_.assign(std::istreambuf_iterator<char>(in), {});
        rest_ = text_;
        if (!next()) throw csv_error(path, 0, "is empty");
        columns_.assign(fields_.begin(), fields_.end());
    }

    // The views into text_ would not survive a copy.
    reader(const reader&) = delete;
    reader& operator=(const reader&) = delete;

    std::size_t column(std::string_view name) const {
        auto found = std::find(columns_.begin(), columns_.end(), name);
        if (found == columns_.end()) throw csv_error(path_, 1, "there is no column " + std::string(name));
        return static_cast<std::size_t>(found - columns_.begin());
    }

    // Goes to the next line that is not empty; false at the end.
    bool next() {
        std::string_view line;
        while (line.empty()) {
            if (rest_.empty()) return false;
            std::size_t end = std::min(rest_.find('\n'), rest_.size());
            line = rest_.substr(0, end);
            rest_.remove_prefix(std::min(end + 1, rest_.size()));
            if (line.ends_with('\r')) line.remove_suffix(1);
            ++line_;
        }
        split(line, fields_);
        if (!columns_.empty() && fields_.size() != columns_.size()) {
            throw csv_error(path_, line_,
                            std::to_string(fields_.size()) + " fields where the first line names " +
                                std::to_string(columns_.size()) + " columns");
        }
        return true;
    }

    std::string_view text(std::size_t column) const { return fields_[column]; }
    bool missing(std::size_t column) const { return text(column) == "NA" || text(column).empty(); }

    int number(std::size_t column) const {
        std::string_view field = text(column);
        int value = 0;
        auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
        if (error != std::errc() || end != field.data() + field.size()) fail(column, "is not a whole number");
        return value;
    }
    int number(std::size_t column, int low, int high) const {
        int value = number(column);
        if (value < low || value > high) {
            fail(column, "is not between " + std::to_string(low) + " and " + std::to_string(high));
        }
        return value;
    }

    [[noreturn]] void fail(std::size_t column, const std::string& what) const {
        throw csv_error(path_, line_,
                        "column " + columns_[column] + ": '" + std::string(text(column)) + "' " + what);
    }

private:
    std::string path_, text_;
    std::string_view rest_;
    std::vector<std::string_view> fields_;
    std::vector<std::string> columns_;
    std::size_t line_ = 0;
};

// hhmm, as in 1745
inline int minutes_after_midnight(const reader& in, std::size_t column) {
    int clock = in.number(column, 0, 2400);
    if (clock % 100 >= 60) in.fail(column, "is not a time of the form hhmm");
    return clock / 100 * 60 + clock % 100;
}

inline std::string clock_text(int minutes) {
    auto two_digits = [](int n) {
        return std::string(1, static_cast<char>('0' + n / 10)) + static_cast<char>('0' + n % 10);
    };
    return two_digits(minutes / 60) + ':' + two_digits(minutes % 60);
}

template <class Value>
std::string as_text(const Value& value) {
    if constexpr (std::is_same_v<Value, std::string>) {
        return value;
    } else {
        return std::to_string(value);
    }
}

// From values to ranks.
template <class Value>
attribute ranked(std::string name, const std::vector<Value>& values) {
    std::vector<Value> distinct = values;
    std::sort(distinct.begin(), distinct.end());
    distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
    if (distinct.size() > std::numeric_limits<std::uint16_t>::max()) {
        throw std::length_error("attribute " + name + " has more than 65535 different values");
    }
    attribute result{std::move(name), {}, {}};
    for (const auto& value : distinct) result.levels.push_back(as_text(value));
    result.ranks.reserve(values.size());
    for (const auto& value : values) {
        auto place = std::lower_bound(distinct.begin(), distinct.end(), value);
        result.ranks.push_back(static_cast<std::uint16_t>(place - distinct.begin()));
    }
    return result;
}

inline attribute ranked_times(std::string name, const std::vector<std::uint16_t>& minutes) {
    attribute result = ranked(std::move(name), minutes);
    for (auto& level : result.levels) level = clock_text(std::stoi(level));
    return result;
}

} // namespace flights

inline table read_flights(const std::string& path, bool with_departure_delay = false) {
    flights::reader in(path);
    const std::size_t year = in.column("year"), month = in.column("month"), day = in.column("day");
    const std::size_t departure = in.column("sched_dep_time"), arrival = in.column("sched_arr_time");
    const std::size_t departure_delay = in.column("dep_delay"), delay = in.column("arr_delay");
    const std::size_t carrier = in.column("carrier"), flight = in.column("flight");
    const std::size_t origin = in.column("origin"), dest = in.column("dest"),
                      distance = in.column("distance");

    table result;
    std::vector<std::uint16_t> day_of_year, day_of_month, weekday, departs, departs_minute, arrives, number,
        miles;
    std::vector<int> left_late;
    std::vector<std::string> carriers, origins, dests;
    auto push = [](std::vector<std::uint16_t>& column, int value) {
        column.push_back(static_cast<std::uint16_t>(value));
    };
    while (in.next()) {
        if (in.missing(delay)) continue;
        result.positive.push_back(in.number(delay) > late_minutes);

        namespace chr = std::chrono;
        chr::year_month_day date{chr::year(in.number(year, 1900, 2100)),
                                 chr::month(static_cast<unsigned>(in.number(month, 1, 12))),
                                 chr::day(static_cast<unsigned>(in.number(day, 1, 31)))};
        if (!date.ok()) in.fail(day, "is not a day of that month");
        auto new_year = chr::sys_days(chr::year_month_day{date.year(), chr::January, chr::day(1)});
        push(day_of_year, static_cast<int>((chr::sys_days(date) - new_year).count()) + 1);
        push(day_of_month, static_cast<int>(static_cast<unsigned>(date.day())));
        push(weekday, static_cast<int>(chr::weekday(chr::sys_days(date)).iso_encoding()));

        int leaves = flights::minutes_after_midnight(in, departure);
        push(departs, leaves);
        push(departs_minute, leaves % 60);
        push(arrives, flights::minutes_after_midnight(in, arrival));
        push(number, in.number(flight, 0, 65535));
        push(miles, in.number(distance, 0, 65535));
        carriers.emplace_back(in.text(carrier));
        origins.emplace_back(in.text(origin));
        dests.emplace_back(in.text(dest));
        if (with_departure_delay) left_late.push_back(in.number(departure_delay));
    }
    if (result.rows() == 0) throw csv_error(path, 0, "holds no flight with an arrival delay");

    auto& attributes = result.attributes;
    attributes.push_back(flights::ranked("day of the year", day_of_year));
    attributes.push_back(flights::ranked("day of the month", day_of_month));
    attributes.push_back(flights::ranked("weekday", weekday));
    attributes.push_back(flights::ranked_times("scheduled departure", departs));
    attributes.push_back(flights::ranked("minute of departure", departs_minute));
    attributes.push_back(flights::ranked_times("scheduled arrival", arrives));
    attributes.push_back(flights::ranked("carrier", carriers));
    attributes.push_back(flights::ranked("flight", number));
    attributes.push_back(flights::ranked("origin", origins));
    attributes.push_back(flights::ranked("destination", dests));
    attributes.push_back(flights::ranked("distance", miles));
    if (with_departure_delay) attributes.push_back(flights::ranked("departure delay", left_late));
    return result;
}

} // namespace examples
