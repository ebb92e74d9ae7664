#include "http_support.h"
#include <regex>
#include <set>

namespace parhelion::app {
namespace {

using Names = std::set<std::string>;

std::string read_deployed(const std::string& name) {
  return read_file(PARHELION_DEPLOY "/" + name);
}

/// The queries of all panels.
std::vector<std::string> dashboard_queries() {
  const Json board = parse_json(read_deployed("grafana-dashboard.json"), "dashboard");
  std::vector<std::string> queries;
  for (const Json& panel : board.find("panels")->as_array("panels"))
    for (const Json& target : panel.find("targets")->as_array("targets"))
      queries.push_back(target.find("expr")->as_string("expr"));
  return queries;
}

/// The queries of all alerts, each in one line.
std::vector<std::string> alert_queries() {
  const std::string text = read_deployed("alerts.yml");
  const std::regex line("expr: (.*)");
  std::vector<std::string> queries;
  for (std::sregex_iterator at(text.begin(), text.end(), line), end; at != end; ++at)
    queries.push_back((*at)[1]);
  return queries;
}

Names names_in(const std::vector<std::string>& queries, const std::regex& pattern) {
  Names names;
  for (const std::string& query : queries)
    for (std::sregex_iterator at(query.begin(), query.end(), pattern), end; at != end; ++at)
      names.insert((*at)[1]);
  return names;
}

/// Labels that queries choose or group by, without those that Prometheus adds itself.
Names labels_in(const std::vector<std::string>& queries) {
  Names labels = names_in(queries, std::regex(R"(([a-z_]+)(?:=~|!=|=)\")"));
  for (const std::string& list : names_in(queries, std::regex(R"(by \(([a-z_, ]+)\))")))
    labels.merge(names_in({list}, std::regex("([a-z_]+)")));
  labels.erase("instance");
  labels.erase("job");
  return labels;
}

/// What a query may name of these metrics: those of histograms by their parts.
Names sample_names(const std::string& metrics) {
  Names names;
  const std::regex type("# TYPE (\\w+) (\\w+)");
  for (std::sregex_iterator at(metrics.begin(), metrics.end(), type), end; at != end; ++at) {
    const std::string name = (*at)[1];
    if ((*at)[2] != "histogram") names.insert(name);
    if ((*at)[2] == "histogram")
      names.merge(Names{name + "_bucket", name + "_sum", name + "_count"});
  }
  return names;
}

class OperationsTest : public HttpTest {
 protected:
  void SetUp() override {
    say("hello");
    start();
  }
  /// Metrics of a server that has answered, refused, and been left.
  std::string metrics_after_work() {
    post("/v1/chat/completions", R"({"messages":[{"role":"user","content":"x"}],"other":1})");
    post("/v1/chat/completions", R"({"messages":[]})");
    engine_->pause();
    {
      RawClient client(server_->port());
      client.send(post_text("/v1/completions", R"({"prompt":"x"})"));
      EXPECT_TRUE(eventually([&] { return engine_->counts().running == 1; }));
    }
    EXPECT_TRUE(eventually([&] { return has_metric("parhelion_cancelled_total{"); }));
    return get("/metrics").body;
  }
  void expect_known(const std::vector<std::string>& queries) {
    const std::string metrics = metrics_after_work();
    const Names known = sample_names(metrics);
    ASSERT_GT(queries.size(), 5U);
    for (const std::string& name : names_in(queries, std::regex("(parhelion_\\w+)")))
      EXPECT_TRUE(known.contains(name)) << name;
    for (const std::string& label : labels_in(queries))
      EXPECT_NE(metrics.find(label + "=\""), std::string::npos) << label;
  }
};

TEST_F(OperationsTest, DashboardNamesOnlyWhatMetricsHave) { expect_known(dashboard_queries()); }

TEST_F(OperationsTest, AlertsNameOnlyWhatMetricsHave) { expect_known(alert_queries()); }

}  // namespace
}  // namespace parhelion::app
