"""Who is measured on which engine: pawl, its peers, and the floor, which is the bare client."""
import dataclasses
import pathlib
import re

HERE = pathlib.Path(__file__).resolve().parent
MANIFESTS = {"go": "go/go.mod", "java": "java/pom.xml", "node": "node/package.json", "python": "python/requirements.txt"}
YES, NO = "yes", "no"


@dataclasses.dataclass(frozen=True)
class Client:
    label: str
    kind: str = "peer"     # or pawl, or floor
    toolchain: str = ""    # none: a program of the build folder
    words: tuple = ()      # what its program is started with; {address} is the server's
    package: str = ""      # named with its version, which the manifest has
    fencing: str = NO      # whether a grant comes with a number that rises
    waits: bool = True     # whether it can wait for a key that is held
    crowd: bool = True     # whether it is made for many callers at once

    @property
    def name(self):
        if not self.package:
            return self.label
        return f"{self.label} {version_of(self.package, MANIFESTS[self.toolchain])}"


def version_of(package, manifest):
    """As the manifest pins it."""
    found = re.search(rf"{re.escape(package)}\D*?v?(\d[\w.\-]*)", (HERE / manifest).read_text())
    if not found:
        raise ValueError(f"{manifest} does not name {package}")
    return found[1]


def pawl():
    return Client("pawl", "pawl", words=("{build}/benchmarks/peers/pawl_peer", "{url}"), fencing=YES)


def floor(label, engine):
    return Client(f"floor: {label}", "floor", words=("{build}/benchmarks/peers/peer_floors", engine, "{port}"), waits=False, crowd=False)


def shedlock(label, url):
    return Client(label, toolchain="java", words=("shedlock-jdbc", url), package="shedlock-provider-jdbc", waits=False)


CLIENTS = {
    "redis": [
        pawl(),
        Client("bsm/redislock", toolchain="go", words=("redislock", "{address}"), package="bsm/redislock"),
        Client("redsync", toolchain="go", words=("redsync", "{address}"), package="redsync/v4"),
        Client("ShedLock on Lettuce", toolchain="java", words=("shedlock-redis", "{address}"), package="shedlock-provider-redis-spring", waits=False),
        Client("Redisson RLock", toolchain="java", words=("redisson", "{address}"), package="redisson"),
        Client("node-redlock", toolchain="node", words=("redlock", "{address}"), package='"redlock"'),
        Client("python-redis-lock", toolchain="python", words=("python-redis-lock", "{address}"), package="python-redis-lock"),
        floor("`SET NX PX`, then compare-and-delete, by hiredis", "redis"),
    ],
    "postgresql": [
        pawl(),
        shedlock("ShedLock JDBC", "jdbc:postgresql://{address}/postgres?user=pawl"),
        floor("two prepared `UPDATE`s by libpq", "postgresql"),
    ],
    "mysql": [
        pawl(),
        shedlock("ShedLock JDBC", "jdbc:mariadb://{address}/pawl?user=locker&password=s3cret"),
        floor("two prepared `UPDATE`s by libmariadb", "mysql"),
    ],
    "etcd": [
        pawl(),
        Client("clientv3 Mutex, one session for all", toolchain="go", words=("etcd-shared", "{address}"), package="etcd/client/v3", fencing=YES),
        Client("clientv3 Mutex, a session for each", toolchain="go", words=("etcd-own", "{address}"), package="etcd/client/v3", fencing=YES),
        floor("two transactions by gRPC's blocking calls", "etcd"),
    ],
    "zookeeper": [
        pawl(),
        Client("Curator InterProcessMutex", toolchain="java", words=("curator", "{address}"), package="curator-recipes"),
        floor("`create` and `delete` by the C client's blocking calls", "zookeeper"),
    ],
}
# What starts a command under a lock has no server.
COMMANDS = "sqlite"
ENGINES = [*CLIENTS, COMMANDS]
