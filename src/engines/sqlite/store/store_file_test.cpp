#include "engines/sqlite/store/store_file.hpp"

#include "engines/sqlite/store/sqlite_fixture.hpp"

#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <memory>
#include <sstream>
#include <utility>

namespace pawl::sqlite {
namespace {

using namespace std::chrono_literals;

// Why the file at this path cannot be opened, in one line.
failure rejection_of(const std::string& path) {
    net::loop loop;
    const auto store = make_sqlite_store(loop, path, quick_settings());
    EXPECT_TRUE(store.has_error()) << path;
    const auto why = store.has_error() ? store.error() : failure{};
    EXPECT_EQ(why.detail.find('\n'), std::string::npos) << why.detail;
    EXPECT_NE(why.detail.find(path), std::string::npos) << why.detail;
    return why;
}

std::string bytes_of(const std::string& path) {
    std::ifstream file{path, std::ios::binary};
    std::ostringstream all;
    all << file.rdbuf();
    return all.str();
}

// A user without privileges, for as long as it lives: the superuser may write everything.
class unprivileged {
public:
    unprivileged() : before_{geteuid()} {
        if (before_ != 0) return;
        EXPECT_EQ(seteuid(65534), 0);
    }
    ~unprivileged() { EXPECT_EQ(seteuid(before_), 0); }

private:
    uid_t before_;
};

TEST(StoreFile, AMissingFolderIsNamed) {
    const test_folder folder;
    const auto why = rejection_of(folder / "not/there/pawl.db");
    EXPECT_EQ(why.code, errc::unreachable);
    EXPECT_NE(why.detail.find(folder / "not/there"), std::string::npos);
    EXPECT_NE(why.detail.find("does not exist"), std::string::npos);
}

TEST(StoreFile, AFolderIsNoStore) {
    const test_folder folder;
    EXPECT_EQ(rejection_of(folder.path().string()).code, errc::protocol);
}

// Goal: a file that is not ours is left as it is. Method: a text, and a database of another
// program, are rejected and have not changed a byte.
TEST(StoreFile, AFileOfAnotherProgramIsRejectedAndLeftAlone) {
    const test_folder folder;
    const auto text = folder / "notes.txt";
    std::ofstream{text} << std::string(5000, 'x');
    const auto text_before = bytes_of(text);
    EXPECT_EQ(rejection_of(text).code, errc::protocol);
    EXPECT_EQ(bytes_of(text), text_before);

    const auto other = folder / "other.db";
    raw_database{other}.run("CREATE TABLE bookmark (url TEXT); PRAGMA user_version=7");
    const auto other_before = bytes_of(other);
    EXPECT_EQ(rejection_of(other).code, errc::protocol);
    EXPECT_EQ(bytes_of(other), other_before);
}

// Goal: no process opens a file under two names, as each has a log of its own. Method: a link that
// is made while the store is open; what goes on under the first name is not disturbed.
TEST(StoreFile, AFileOfTwoNamesIsRejected) {
    const test_folder folder;
    const auto path = folder / "pawl.db";
    {
        net::loop loop;
        const auto store = make_sqlite_store(loop, path, quick_settings());
        ASSERT_TRUE(store.has_value());
        std::filesystem::create_hard_link(path, folder / "second.db");
        const auto why = rejection_of(folder / "second.db");
        EXPECT_EQ(why.code, errc::unsupported);
        EXPECT_NE(why.detail.find("has 2 names"), std::string::npos) << why.detail;
        EXPECT_TRUE(make_sqlite_store(loop, path, quick_settings()).has_value());
    }
    EXPECT_EQ(rejection_of(path).code, errc::unsupported);
    std::filesystem::remove(folder / "second.db");
    net::loop loop;
    EXPECT_TRUE(make_sqlite_store(loop, path, quick_settings()).has_value());
}

TEST(StoreFile, AnEmptyFileBecomesAStore) {
    const test_folder folder;
    const auto path = folder / "pawl.db";
    std::ofstream{path}.flush();
    net::loop loop;
    EXPECT_TRUE(make_sqlite_store(loop, path, quick_settings()).has_value());
    EXPECT_EQ(raw_database{path}.run("PRAGMA user_version"), "1");
}

TEST(StoreFile, ANewerLayoutIsUnsupported) {
    const test_folder folder;
    const auto path = folder / "pawl.db";
    {
        net::loop loop;
        EXPECT_TRUE(make_sqlite_store(loop, path, quick_settings()).has_value());
    }
    raw_database{path}.run("PRAGMA user_version=2");
    const auto why = rejection_of(path);
    EXPECT_EQ(why.code, errc::unsupported);
    EXPECT_NE(why.detail.find("layout 2"), std::string::npos) << why.detail;
}

TEST(StoreFile, ADamagedFileIsRejected) {
    const test_folder folder;
    const auto path = folder / "pawl.db";
    {
        net::loop loop;
        EXPECT_TRUE(make_sqlite_store(loop, path, quick_settings()).has_value());
    }
    std::fstream file{path, std::ios::in | std::ios::out | std::ios::binary};
    file.seekp(100);
    file << std::string(3000, '\x5a');
    file.close();
    EXPECT_EQ(rejection_of(path).code, errc::protocol);
}

TEST(StoreFile, WhatMayNotBeWrittenIsDenied) {
    const test_folder folder;
    const auto path = folder / "pawl.db";
    {
        net::loop loop;
        EXPECT_TRUE(make_sqlite_store(loop, path, quick_settings()).has_value());
    }
    ASSERT_EQ(chmod(folder.path().c_str(), 0555), 0);
    ASSERT_EQ(chmod(path.c_str(), 0444), 0);
    {
        const unprivileged user;
        EXPECT_EQ(rejection_of(path).code, errc::denied);
        EXPECT_EQ(rejection_of(folder / "new.db").code, errc::denied);
    }
    ASSERT_EQ(chmod(path.c_str(), 0000), 0);
    {
        const unprivileged user;
        EXPECT_EQ(rejection_of(path).code, errc::denied);
    }
    ASSERT_EQ(chmod(folder.path().c_str(), 0755), 0);
}

// Goal: no lock is trusted where another machine may not see it. Method: what statfs(2) says of the
// file systems that machines share, by the kernel's own names where it has them.
TEST(StoreFile, FileSystemsThatMachinesShareAreKnown) {
    constexpr unsigned long lustre = 0x0bd00bd0, gfs2 = 0x01161970, beegfs = 0x19830326,
                            gpfs = 0x47504653, orangefs = 0x20030528, vboxsf = 0x786f4256,
                            vmhgfs = 0xbacbacbc;
    using types = std::initializer_list<unsigned long>;
    for (const auto type :
         types{NFS_SUPER_MAGIC, SMB_SUPER_MAGIC, CEPH_SUPER_MAGIC, FUSE_SUPER_MAGIC, V9FS_MAGIC,
               OCFS2_SUPER_MAGIC, AFS_SUPER_MAGIC, AFS_FS_MAGIC, CODA_SUPER_MAGIC, beegfs, gpfs,
               orangefs, vboxsf, vmhgfs})
        EXPECT_NE(shared_file_system(type), "") << type;
    EXPECT_EQ(shared_file_system(CIFS_SUPER_MAGIC), "CIFS");
    EXPECT_EQ(shared_file_system(SMB2_SUPER_MAGIC), "SMB");
    EXPECT_EQ(shared_file_system(lustre), "Lustre");
    EXPECT_EQ(shared_file_system(gfs2), "GFS2");
    for (const auto type : types{EXT4_SUPER_MAGIC, XFS_SUPER_MAGIC, BTRFS_SUPER_MAGIC, TMPFS_MAGIC,
                                 OVERLAYFS_SUPER_MAGIC})
        EXPECT_EQ(shared_file_system(type), "") << type;
}

// Goal: without a name for the boot, leases of all boots and machines would look alike. Method:
// open a file as where the kernel tells none.
TEST(StoreFile, ABootWithoutANameIsUnsupported) {
    const test_folder folder;
    const auto opened =
        open_store_file(folder / "pawl.db", synchronous::normal, lease_clock::now() + 5s, "");
    ASSERT_TRUE(opened.has_error());
    EXPECT_EQ(opened.error().code, errc::unsupported);
    EXPECT_NE(opened.error().detail.find("boot_id"), std::string::npos);
    EXPECT_FALSE(std::filesystem::exists(folder / "pawl.db"));
}

std::shared_ptr<store_file> opened_at(const std::string& path) {
    auto opened = open_store_file(path, synchronous::normal, lease_clock::now() + 5s);
    EXPECT_TRUE(opened.has_value()) << opened.error().detail;
    return opened.has_value() ? *opened : nullptr;
}

// Goal: a process that has a store and a journal in one file takes its lock once. Method: the same
// file twice; another one at its path; and the first again when it has gone.
TEST(StoreFile, AProcessHasItOpenOnce) {
    const test_folder folder;
    const auto path = folder / "pawl.db";
    auto one = opened_at(path);
    EXPECT_EQ(opened_at(path), one);
    const auto before = one->identity;
    std::filesystem::rename(path, folder / "moved.db");
    for (const auto* beside : {"-wal", "-shm"}) std::filesystem::remove(path + beside);
    const auto other = opened_at(path);
    EXPECT_NE(other, one);
    EXPECT_NE(other->identity, before);
    const std::weak_ptr<store_file> gone = one;
    one.reset();
    EXPECT_TRUE(gone.expired());
    EXPECT_EQ(opened_at(path), other);
}

// Goal: what one object prepared is not destroyed under another one's transaction. Method: it is
// given up while the connection is in use, and again when it is not.
TEST(StoreFile, WhatWasPreparedIsDestroyedWhereNothingIsBeingWritten) {
    const test_folder folder;
    const auto file = opened_at(folder / "pawl.db");
    auto early = std::make_shared<int>(1), late = std::make_shared<int>(2);
    const std::weak_ptr<int> first = early, second = late;
    ASSERT_TRUE(file->writers().try_lock_until(lease_clock::now() + 5s));
    file->retire(std::exchange(early, {}));
    EXPECT_FALSE(first.expired());
    file->writers().unlock();
    file->retire(std::exchange(late, {}));
    EXPECT_TRUE(first.expired() && second.expired());
}

// Goal: no two holders after a fork. SQLite in a child takes its parent's locks for its own, so
// that the parent, as it closed the file, deleted the log that the child went on writing to: both
// were granted the same key. Method: the child of a process that has the file open is rejected, and
// may open another one.
TEST(StoreFile, AChildMayNotOpenWhatItsParentHasOpen) {
    const test_folder folder;
    const auto path = folder / "pawl.db";
    const auto mine = opened_at(path);
    const auto child = fork();
    if (child == 0) {
        const auto deadline = lease_clock::now() + 5s;
        const auto rejected = open_store_file(path, synchronous::normal, deadline);
        const auto other = open_store_file(folder / "other.db", synchronous::normal, deadline);
        const bool right = rejected.has_error() && rejected.error().code == errc::unsupported &&
                           rejected.error().detail.find("fork()") != std::string::npos;
        _exit(right && other.has_value() ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

// Goal: claims are no other user's business. Method: the modes of all files that a store makes.
TEST(StoreFile, FilesAreForTheirUserAndGroupOnly) {
    const test_folder folder;
    const auto before = umask(0);
    net::loop loop;
    const auto store = make_sqlite_store(loop, folder / "pawl.db", quick_settings());
    ASSERT_TRUE(store.has_value());
    loop.wait_for((*store)->acquire(claim{"key", "id", "owner", 30s})).value();
    umask(before);
    for (const std::string suffix : {"", "-wal", "-shm"}) {
        struct stat file{};
        ASSERT_EQ(stat((folder / ("pawl.db" + suffix)).c_str(), &file), 0) << suffix;
        EXPECT_EQ(file.st_mode & 0777, 0660u) << suffix;
    }
}

}  // namespace
}  // namespace pawl::sqlite
