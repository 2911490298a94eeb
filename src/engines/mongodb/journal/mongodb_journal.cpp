#include "engines/mongodb/journal/mongodb_journal.hpp"

#include "engines/cas/journal/make_cas_journal.hpp"

namespace pawl::mongodb {

std::shared_ptr<journal> make_mongodb_journal(net::loop& where, const mongodb_settings& settings) {
    return cas::make_cas_journal(where, settings.common, make_mongodb_medium(where, settings));
}

}  // namespace pawl::mongodb
