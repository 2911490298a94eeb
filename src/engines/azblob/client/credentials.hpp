// Who asks, as Azure Storage sees it: a key of the account, a shared access signature, or a token
// of an identity that is renewed before it ends.
//
// In this order: the files that the URL names, the connection string, the key and the signature of
// the environment, a workload identity, the identity of an App Service, that of a machine (IMDS).
// The first that is configured is asked. No message quotes a secret or an answer.
#pragma once

#include "net/loop.hpp"
#include "net/refreshed.hpp"

#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace pawl::azblob {

// What a request is sent with.
struct access {
    enum class kind { account_key, signature, token };
    kind is = kind::account_key;
    std::string secret{};  // the bytes of a key, the query of a signature, a bearer token
};

// Where to look. All that is empty is not configured.
struct credential_settings {
    std::string key_file{};  // of the URL
    std::string signature_file{};

    std::string key{};  // of the environment, in base 64
    std::string signature{};

    std::string tenant{};  // of a workload identity
    std::string client{};  // or which identity a machine shall use
    std::string identity_file{};
    std::string authority{};

    std::string app_endpoint{};  // of an App Service
    std::string app_header{};

    std::string metadata_url{};  // of the machine
};

// What the environment of this process says, but for its connection string.
credential_settings credentials_of_environment();

// The parts of a connection string that matter here, such as AccountName=a;AccountKey=b.
struct connection_text {
    std::string account;
    std::string key;
    std::string signature;
    std::string endpoint;  // where blobs are, such as http://127.0.0.1:10000/devstoreaccount1
};
connection_text parse_connection_string(std::string_view text);

using found_access = net::fetched<access>;

// Asks the first source that is configured.
async<found_access> find_access(net::loop& where, std::shared_ptr<const credential_settings> from,
                                instant until);

// An address of this machine, or of what stands beside it: secrets go there in the clear.
bool is_at_hand(std::string_view host);

// On its loop only.
class credentials final : public net::refreshed<access> {
public:
    static std::shared_ptr<credentials> make(net::loop& where, credential_settings from);
    // Use make().
    credentials(net::loop& where, credential_settings from);
};

}  // namespace pawl::azblob
