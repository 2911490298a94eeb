#include "engines/dynamodb/journal/dynamodb_journal.hpp"

#include "engines/cas/journal/make_cas_journal.hpp"

namespace pawl::dynamodb {

std::shared_ptr<journal> make_dynamodb_journal(net::loop& where,
                                               const dynamodb_settings& settings) {
    return cas::make_cas_journal(where, settings.common, make_dynamodb_medium(where, settings));
}

}  // namespace pawl::dynamodb
