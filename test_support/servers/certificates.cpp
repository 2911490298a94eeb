#include "test_support/servers/certificates.hpp"

#include <fstream>

namespace pawl::testing_servers {
namespace {

void write(const std::filesystem::path& file, const std::string& text) {
    std::ofstream{file} << text;
}

}  // namespace

certificates::certificates() {
    const std::string names = "subjectAltName=DNS:localhost,IP:127.0.0.1\n";
    make_authority("ca");
    make_authority("other-ca");
    make_request("server", "/CN=localhost");
    sign("server", names);
    make_request("client", "/CN=lock client");
    sign("client", "extendedKeyUsage=clientAuth\n");
    make_request("expired", "/CN=localhost");
    sign_expired("expired", names);
    for (const auto& entry : std::filesystem::directory_iterator{folder_.path()}) {
        // Test keys: every server may read them, whichever user it runs as.
        std::filesystem::permissions(entry.path(), std::filesystem::perms{0644});
    }
    std::filesystem::permissions(folder_.path(), std::filesystem::perms{0755});
}

void certificates::make_authority(const std::string& name) {
    run_command({"openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
                 "-nodes", "-days", "30", "-subj", "/CN=" + name, "-keyout",
                 at((name + ".key").c_str()), "-out", at((name + ".crt").c_str())});
}

void certificates::make_request(const std::string& name, const std::string& subject) {
    run_command({"openssl", "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                 "-subj", subject, "-keyout", at((name + ".key").c_str()), "-out",
                 at((name + ".csr").c_str())});
}

void certificates::sign(const std::string& name, const std::string& extensions) {
    const auto file = at((name + ".ext").c_str());
    write(file, extensions);
    run_command({"openssl", "x509", "-req", "-in", at((name + ".csr").c_str()), "-CA", ca(),
                 "-CAkey", at("ca.key"), "-CAcreateserial", "-days", "30", "-extfile", file, "-out",
                 at((name + ".crt").c_str())});
}

// Only `openssl ca` signs for dates of one's choice.
void certificates::sign_expired(const std::string& name, const std::string& extensions) {
    const auto config = at("ca.cnf"), index = at("index.txt"), serial = at("serial.txt");
    write(index, "");
    write(serial, "01\n");
    write(config, "[ca]\ndefault_ca=own\n[own]\ndatabase=" + index + "\nserial=" + serial +
                      "\nnew_certs_dir=" + folder_.path().string() +
                      "\ndefault_md=sha256\npolicy=any\nunique_subject=no\n[any]\n"
                      "commonName=supplied\n[names]\n" +
                      extensions);
    run_command({"openssl", "ca", "-batch", "-config", config, "-extensions", "names", "-cert",
                 ca(), "-keyfile", at("ca.key"), "-startdate", "20200101000000Z", "-enddate",
                 "20200201000000Z", "-in", at((name + ".csr").c_str()), "-out",
                 at((name + ".crt").c_str())});
}

}  // namespace pawl::testing_servers
