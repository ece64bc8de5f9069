#include "policy/seam/knobs.hpp"

#include <weft/error.hpp>

#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <vector>

namespace weft {
namespace {

constexpr knob table[] = {
    {"order", "lifo", "lifo, fifo", "which end"},
    {"tries", "4", "1..1000", "how often"},
    {"steal", "on", "on, off", "at all"},
    {"offset", "-3", "-10..10", "a signed one"},
};

constexpr knob decorator[] = {
    {"rate", "50", "0..100", "in percent"},
    {"of", "", "policy", "what is decorated"},
};

constexpr knob profile[] = {{"file", "none", "text", "where it is"}};

TEST(policy_knobs, default_values) {
    const knob_values values("p", table, "");
    EXPECT_TRUE(values.is("order", "lifo"));
    EXPECT_EQ(values.integer("tries"), 4);
    EXPECT_TRUE(values.flag("steal"));
    EXPECT_EQ(values.integer("offset"), -3);
}

TEST(policy_knobs, given_values_in_any_order) {
    const knob_values values("p", table, "offset=10,steal=off,tries=1000,order=fifo");
    EXPECT_TRUE(values.is("order", "fifo"));
    EXPECT_FALSE(values.is("order", "lifo"));
    EXPECT_EQ(values.integer("tries"), 1000);
    EXPECT_FALSE(values.flag("steal"));
    EXPECT_EQ(values.integer("offset"), 10);
}

TEST(policy_knobs, text_may_hold_what_separates_other_things) {
    EXPECT_EQ(knob_values("p", profile, "file=/tmp/a=b:c").text("file"), "/tmp/a=b:c");
}

TEST(policy_knobs, a_policy_takes_all_the_rest) {
    const knob_values values("chaos", decorator, "rate=7,of=steal-parent-first:order=fifo,rate=8");
    EXPECT_EQ(values.integer("rate"), 7);
    EXPECT_EQ(values.text("of"), "steal-parent-first:order=fifo,rate=8");
}

struct refusal {
    std::string text;
    std::vector<std::string> parts; // of the message
};

std::ostream& operator<<(std::ostream& out, const refusal& r) { return out << '"' << r.text << '"'; }

class policy_knobs_refused : public testing::TestWithParam<refusal> {};

TEST_P(policy_knobs_refused, says_why) {
    const std::string text = GetParam().text;
    try {
        const knob_values values("mine", table, text);
        FAIL() << "was taken";
    } catch (const error& e) {
        const std::string message = e.what();
        EXPECT_NE(message.find("'mine'"), std::string::npos) << message;
        for (const std::string& part : GetParam().parts) {
            EXPECT_NE(message.find(part), std::string::npos) << "no " << part << " in: " << message;
        }
    }
}

const std::string all_knobs = "allowed: order (lifo, fifo; default: lifo), tries (1..1000; default: 4), "
                              "steal (on, off; default: on), offset (-10..10; default: -3)";

INSTANTIATE_TEST_SUITE_P(
    inputs, policy_knobs_refused,
    testing::Values(
        refusal{"colour=red", {"no knob 'colour'", "given: 'colour=red'", all_knobs}},
        refusal{"Order=lifo", {"no knob 'Order'", all_knobs}},
        refusal{" order=lifo", {"no knob ' order'", all_knobs}},
        refusal{"order", {"expected key=value", "given: 'order'", all_knobs}},
        refusal{"=lifo", {"expected key=value", "given: '=lifo'", all_knobs}},
        refusal{"=", {"expected key=value", "given: '='"}},
        refusal{",", {"expected key=value", "given: nothing, in ','", all_knobs}},
        refusal{"order=fifo,", {"expected key=value", "given: nothing, in 'order=fifo,'"}},
        refusal{"order=fifo,,tries=2", {"expected key=value", "nothing"}},
        refusal{"order=", {"bad value of knob 'order'", "given: nothing", "allowed: lifo, fifo"}},
        refusal{"order=random", {"bad value of knob 'order'", "given: 'random'", "allowed: lifo, fifo"}},
        refusal{"order=lifo, fifo", {"expected key=value", "given: ' fifo'"}},
        refusal{"order=lif", {"given: 'lif'", "allowed: lifo, fifo"}},
        refusal{"order=lifo=fifo", {"given: 'lifo=fifo'", "allowed: lifo, fifo"}},
        refusal{"tries=0", {"bad value of knob 'tries'", "given: '0'", "allowed: 1..1000"}},
        refusal{"tries=1001", {"given: '1001'", "allowed: 1..1000"}},
        refusal{"tries=4x", {"given: '4x'", "allowed: 1..1000"}},
        refusal{"tries= 4", {"given: ' 4'", "allowed: 1..1000"}}, refusal{"tries=4.5", {"given: '4.5'"}},
        refusal{"tries=+4", {"given: '+4'"}},
        refusal{"tries=99999999999999999999", {"given: '99999999999999999999'", "allowed: 1..1000"}},
        refusal{"steal=yes", {"bad value of knob 'steal'", "given: 'yes'", "allowed: on, off"}},
        refusal{"offset=-11", {"given: '-11'", "allowed: -10..10"}},
        refusal{"tries=2,order=fifo,tries=2", {"knob 'tries' is given twice", "allowed: each knob once"}},
        // The first mistake counts.
        refusal{"tries=0,colour=red", {"bad value of knob 'tries'"}}));

std::string message_of(const std::string& text, std::span<const knob> knobs) {
    try {
        const knob_values values("mine", knobs, text);
    } catch (const error& e) { return e.what(); }
    return "taken";
}

TEST(policy_knobs, a_knob_without_default_must_be_given) {
    EXPECT_EQ(message_of("", decorator),
              "policy 'mine' needs its knob 'of'; given: nothing; allowed: of=policy");
    EXPECT_EQ(message_of("of=", decorator),
              "policy 'mine': bad value of knob 'of'; given: nothing; allowed: policy");
}

TEST(policy_knobs, a_policy_without_knobs) {
    EXPECT_EQ(message_of("", {}), "taken");
    EXPECT_EQ(message_of("order=lifo", {}),
              "policy 'mine' has no knob 'order'; given: 'order=lifo'; allowed: no knobs");
}

TEST(policy_spec, halves) {
    EXPECT_EQ(split_policy_spec("steal").name, "steal");
    EXPECT_EQ(split_policy_spec("steal").knobs, "");
    EXPECT_EQ(split_policy_spec("chaos:of=near:tries=2").name, "chaos");
    EXPECT_EQ(split_policy_spec("chaos:of=near:tries=2").knobs, "of=near:tries=2");
}

TEST(policy_spec, refused) {
    for (const char* const spec : {"", ":", ":order=lifo"}) {
        try {
            split_policy_spec(spec);
            FAIL() << '"' << spec << '"';
        } catch (const error& e) {
            EXPECT_NE(std::string(e.what()).find("a policy has a name"), std::string::npos) << e.what();
            EXPECT_NE(std::string(e.what()).find("allowed: NAME[:key=value,...]"), std::string::npos)
                << e.what();
        }
    }
    EXPECT_THROW(split_policy_spec("steal:"), error);
}

} // namespace
} // namespace weft
