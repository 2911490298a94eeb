// A medium whose records are objects: see cas/store/medium.hpp. The version of a record is the ETag
// of its object.
#pragma once

#include "engines/cas/store/medium.hpp"
#include "engines/s3/store/bucket.hpp"

#include <memory>
#include <string>
#include <vector>

namespace pawl::s3 {

class medium final : public cas::medium {
public:
    medium(std::shared_ptr<bucket> on, const std::string& prefix, const std::string& name_space);

    cas::medium_traits traits() const noexcept override;
    std::string place() const override { return place_; }
    async<std::string> prepare(instant until) override;

    async<cas::seen> read(cas::record_name name, instant until) override;
    async<cas::write_answer> write(cas::change what, instant until) override;
    async<cas::write_answer> erase(cas::record_name name, cas::version expected,
                                   instant until) override;
    async<cas::listing> list(cas::list_order what, instant until) override;
    async<examination> examine(instant until) override;

private:
    result<std::string> object_of(const cas::record_name& name) const;
    async<cas::write_answer> change_object(bucket_request what, cas::version expected,
                                           instant until);

    struct name_page {
        std::vector<std::string> keys;
        std::string last;   // the name that the next page begins behind
        bool more = false;  // others follow
    };
    async<name_page> list_names(cas::record_kind kind, std::string begin, std::string after,
                                std::size_t limit, instant until);

    async<finding> examine_versions(instant until);
    async<finding> examine_lifecycle(instant until);

    // Constant after construction
    const std::shared_ptr<bucket> on_;
    const std::string folder_;
    const std::string place_;
};

}  // namespace pawl::s3
