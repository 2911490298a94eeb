"""What the tests of the command line share: the binary, folders, and real servers."""
import contextlib
import fcntl
import json
import os
import pathlib
import pwd
import random
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import unittest
import urllib.request

PAWL = os.environ["PAWL_BINARY"]


class Outcome:
    def __init__(self, done):
        self.status, self.out, self.err = done.returncode, done.stdout, done.stderr

    def json(self):
        return json.loads(self.out)


def environment(**variables):
    """Ours, without what would change what pawl does."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PAWL_", "XDG_"))}
    kept.update(variables)
    return kept


def pawl(*words, env=None, stdin="", timeout=60, inside=()):
    """`inside` comes before its words: a program that becomes it."""
    return Outcome(subprocess.run([*inside, PAWL, *words], env=env or environment(), input=stdin, timeout=timeout,
                                  capture_output=True, text=True))


def copy_of_pawl(folder):
    """Both of its programs in another folder, which every user may use; the one to start."""
    for program in ("bin/pawl", "lib/pawl/pawl"):
        there = pathlib.Path(folder) / program
        there.parent.mkdir(parents=True)
        shutil.copy(pathlib.Path(PAWL).parent.parent / program, there)
        there.chmod(0o755)
    return pathlib.Path(folder) / "bin/pawl"


def start(*words, env=None):
    """Runs pawl in the background; its stdout can be read line by line."""
    return subprocess.Popen([PAWL, *words], env=env or environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True)


def until(condition, bound=30.0):
    """Looks again and again until the condition holds; fails when it does not in time."""
    deadline = time.monotonic() + bound
    while True:
        began = time.monotonic()
        if found := condition():
            return found
        if time.monotonic() > deadline:
            raise AssertionError("what was waited for did not happen")
        # A look that starts a program takes a quarter of the time, so that those who wait leave the cores to those who work.
        time.sleep(min(max(0.005, 3 * (time.monotonic() - began)), 0.2))


def reserve(port):
    """For as long as this process lives, against every other that asks as we do; test_support/servers/process.cpp has the same folder."""
    folder = pathlib.Path(tempfile.gettempdir(), "pawl-ports")
    try:
        folder.mkdir(exist_ok=True)
        mark = os.open(folder / str(port), os.O_RDONLY | os.O_CREAT, 0o644)
    except OSError:
        return True
    try:
        fcntl.flock(mark, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    except OSError:
        os.close(mark)
        return False


def free_port():
    """Ours alone from now on, and below the range of outgoing connections, which would take it while its server is down."""
    while True:
        port = random.randrange(10_000, 22_000)
        if not reserve(port):
            continue
        with socket.socket() as probe:
            try:
                probe.bind(("", port))
                return port
            except OSError:
                continue


def nobody(name):
    """How to become an unprivileged user, when we are root: servers never run as root."""
    if os.geteuid() != 0:
        return {}
    who = pwd.getpwnam(name)
    return {"user": who.pw_uid, "group": who.pw_gid, "extra_groups": []}


def server_folder(name, in_memory=True):
    """On a file system in memory where there is one: servers sync each write, and the disk is everybody's."""
    memory = "/dev/shm" if in_memory else ""
    return tempfile.mkdtemp(prefix=f"pawl-{name}-", dir=memory if os.access(memory, os.W_OK) else None)


def state_of(process):
    """T: stopped, Z: dead and not yet waited for, which is also said of what is gone."""
    try:
        return pathlib.Path(process, "stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return "Z"


class Server:
    """A real server on loopback, in a folder of its own, which keeps its data when it is killed and begun again."""

    USER = ""
    IN_MEMORY = True
    HAS_JOURNAL = True

    def __init__(self):
        self.folder = server_folder(type(self).__name__.lower(), self.IN_MEMORY)
        self.port = free_port()
        self.identity = nobody(self.USER)
        if self.identity:
            shutil.chown(self.folder, self.identity["user"], self.identity["group"])

    def run(self, *words):
        subprocess.run(words, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=self.folder, **self.identity)

    def spawn(self, *words):
        """Starts the server; returns once it answers."""
        with open(f"{self.folder}/log", "ab") as log:
            self.process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.folder, **self.identity)
        try:
            until(self.answers_or_ended, 60)
        except AssertionError:
            self.crash()
            raise
        if self.process.poll() is not None:
            raise AssertionError(pathlib.Path(self.folder, "log").read_text()[-2000:])

    def answers_or_ended(self):
        return self.process.poll() is not None or self.answers()

    def end(self):
        self.process.terminate()
        self.process.wait()

    def restart(self):
        self.end()
        self.begin()

    def save_data(self):
        self.end()
        self.run("cp", "-a", "data", "saved")
        self.begin()

    def put_data_back(self):
        """As they were when they were saved."""
        self.end()
        self.run("rm", "-r", "data")
        self.run("mv", "saved", "data")
        self.begin()

    def freeze(self):
        """Returns when it stands still, with all its threads."""
        self.process.send_signal(signal.SIGSTOP)
        until(lambda: all(state_of(thread) in "TZ" for thread in pathlib.Path(f"/proc/{self.process.pid}/task").iterdir()))

    def thaw(self):
        self.process.send_signal(signal.SIGCONT)

    def crash(self):
        self.process.kill()
        self.process.wait()

    @property
    def nodes(self):
        """The servers that hold the data."""
        return [self]

    @property
    def entries(self):
        """The servers that a URL names."""
        return self.nodes

    @property
    def address(self):
        return f"127.0.0.1:{self.port}"

    @property
    def url(self):
        return self.url_at(self.address)

    def stop(self):
        self.crash()
        shutil.rmtree(self.folder, ignore_errors=True)


class Redis(Server):
    USER = "redis"
    SYNCED = ("appendonly yes", "appendfsync always")
    DEFAULTS = ("save ''",)
    MODE = ()

    def __init__(self, *settings):
        super().__init__()
        # A sentinel and what it watches write down there what they learn.
        self.file = pathlib.Path(self.folder, "redis.conf")
        self.file.write_text("\n".join([f"port {self.port}", "bind 127.0.0.1", f"dir {self.folder}", *self.DEFAULTS, *settings]) + "\n")
        if self.identity:
            shutil.chown(self.file, self.identity["user"], self.identity["group"])
        self.begin()

    def begin(self):
        self.spawn("redis-server", str(self.file), *self.MODE)

    def answers(self):
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=1) as link:
                link.sendall(b"PING\r\n")
                said = link.recv(64)
                return said != b"" and not said.startswith(b"-LOADING")
        except OSError:
            return False

    def ask(self, *words):
        done = subprocess.run(["redis-cli", "-p", str(self.port), *words], capture_output=True, text=True, timeout=10)
        return done.stdout.strip()

    def has(self, key):
        """Asked without a program, for those who have no time to start one."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=10) as link:
            link.sendall(f"EXISTS {key}\r\n".encode())
            return link.recv(64).startswith(b":1")

    @staticmethod
    def url_at(address):
        return f"redis://{address}"


class Several:
    """Servers that are one store."""

    HAS_JOURNAL = True

    def __init__(self, nodes):
        self.nodes = nodes

    @property
    def entries(self):
        return self.nodes

    @property
    def address(self):
        return ",".join(one.address for one in self.entries)

    def stop(self):
        for one in self.nodes:
            one.stop()


class Redlock(Several):
    """Three that know nothing of each other, and forget nothing."""

    HAS_JOURNAL = False

    def __init__(self):
        super().__init__([Redis(*Redis.SYNCED) for _ in range(3)])

    @staticmethod
    def url_at(address):
        # New servers cannot know that there is nothing to wait for.
        return f"redlock://{address}?quarantine=off"


class Sentinel(Redis):
    """One that watches a primary, and replaces it when it is silent for so long."""

    DEFAULTS = ()
    MODE = ("--sentinel",)

    def __init__(self, primary, silence):
        super().__init__(f"sentinel monitor pawl 127.0.0.1 {primary.port} 1",
                         f"sentinel down-after-milliseconds pawl {silence}", "sentinel failover-timeout pawl 3000")

    def is_ready(self):
        words = self.ask("SENTINEL", "MASTER", "pawl").split()
        told = dict(zip(words[::2], words[1::2]))
        return (told.get("flags"), told.get("num-slaves"), told.get("num-other-sentinels")) == ("master", "1", "2")


class RedisSentinels(Several):
    """A primary, its replica and three sentinels, of which one notices before the others: two that lead a failover one after the
    other would replace each other's primaries."""

    def __init__(self):
        # One that waited for its replica before it ends would be taken for dead.
        settings = [*Redis.SYNCED, "shutdown-timeout 0", "repl-diskless-sync-delay 0"]
        primary = Redis(*settings)
        super().__init__([primary, Redis(*settings, f"replicaof 127.0.0.1 {primary.port}")])
        self.sentinels = [Sentinel(primary, silence) for silence in (500, 3000, 3000)]
        until(lambda: "state=online" in primary.ask("INFO", "replication"), 60)
        until(lambda: all(one.is_ready() for one in self.sentinels), 60)

    @property
    def entries(self):
        return self.sentinels

    def stop(self):
        for one in self.sentinels:
            one.stop()
        super().stop()

    @staticmethod
    def url_at(address):
        return f"redis+sentinel://{address}/pawl?wait=1"


class RedisCluster(Several):
    """Three primaries that share the keys."""

    def __init__(self):
        # The port of their bus, ten thousand above the other unless told, may lie beyond the last one.
        super().__init__([Redis(*Redis.SYNCED, "cluster-enabled yes", "cluster-node-timeout 1000", "cluster-announce-ip 127.0.0.1",
                                f"cluster-port {free_port()}") for _ in range(3)])
        subprocess.run(["redis-cli", "--cluster", "create", *(one.address for one in self.nodes), "--cluster-yes"],
                       check=True, stdout=subprocess.DEVNULL, timeout=60)
        until(lambda: all("cluster_state:ok" in one.ask("CLUSTER", "INFO") for one in self.nodes), 60)

    @staticmethod
    def url_at(address):
        return f"redis+cluster://{address}"


class Database(Server):
    """One that is asked by statements."""

    def ask(self, statements):
        done = self.client(statements)
        if done.returncode != 0:
            raise AssertionError(done.stderr)
        return done.stdout.strip()


class Postgres(Database):
    USER = "postgres"
    PROGRAMS = pathlib.Path("/usr/lib/postgresql/15/bin")

    def __init__(self, *settings):
        super().__init__()
        self.settings = [word for one in settings for word in ("-c", one)]
        self.run(self.PROGRAMS / "initdb", "--pgdata", f"{self.folder}/data", "--username", "pawl", "--auth", "trust", "--no-sync",
                 "--encoding", "UTF8", "--locale", "C")
        self.begin()

    def begin(self):
        # One that was killed leaves its mark, with a number that another process has by now.
        pathlib.Path(self.folder, "data/postmaster.pid").unlink(missing_ok=True)
        self.spawn(self.PROGRAMS / "postgres", "-D", f"{self.folder}/data", "-p", str(self.port), "-c", "listen_addresses=127.0.0.1",
                   "-c", f"unix_socket_directories={self.folder}", "-c", "dynamic_shared_memory_type=mmap", *self.settings)

    def answers(self):
        done = subprocess.run([self.PROGRAMS / "pg_isready", "-q", "-h", "127.0.0.1", "-p", str(self.port)], check=False)
        return done.returncode == 0

    def end(self):
        self.process.send_signal(signal.SIGINT)
        self.process.wait()

    def psql(self, *words):
        return ["psql", "--no-psqlrc", "--quiet", "--tuples-only", "--no-align", "--set", "ON_ERROR_STOP=1", "--host", "127.0.0.1",
                "--port", str(self.port), "--username", "pawl", "--dbname", "postgres", *words]

    def client(self, statements):
        return subprocess.run(self.psql("--command", statements), capture_output=True, text=True, timeout=60, check=False)

    @contextlib.contextmanager
    def transaction(self, statement):
        """What it has locked is locked until then."""
        session = subprocess.Popen(self.psql(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        try:
            session.stdin.write(f"BEGIN;\n{statement};\n\\echo locked\n")
            session.stdin.flush()
            while (line := session.stdout.readline()) != "locked\n":
                if not line:
                    raise AssertionError(f"psql has ended with {session.wait()}")
            yield
        finally:
            session.communicate()

    def children(self):
        """One process for each connection, and a few of its own."""
        if self.process.poll() is not None:
            return []
        return [int(one) for one in pathlib.Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()]

    def signal_children(self, number):
        for one in self.children():
            with contextlib.suppress(ProcessLookupError):
                os.kill(one, number)

    def freeze(self):
        super().freeze()  # it forks no more
        self.signal_children(signal.SIGSTOP)

    def thaw(self):
        self.signal_children(signal.SIGCONT)
        super().thaw()

    def crash(self):
        """Its children, if they outlived it, would keep the memory without which the next does not start."""
        if self.process.poll() is None:
            self.freeze()
            self.signal_children(signal.SIGKILL)
            until(lambda: all(state_of(f"/proc/{one}") == "Z" for one in self.children()))
        super().crash()
        self.give_back_memory()

    def give_back_memory(self):
        """Of a server that was killed, whose mark names its segment in the seventh line. A machine has room for some thousands."""
        mark = pathlib.Path(self.folder, "data/postmaster.pid")
        lines = mark.read_text().splitlines() if mark.exists() else []
        if len(lines) > 6 and len(lines[6].split()) == 2:
            subprocess.run(["ipcrm", "-m", lines[6].split()[1]], capture_output=True, check=False)

    def stop(self):
        """Asked to, it gives back the memory that it shares."""
        self.thaw()
        self.process.send_signal(signal.SIGQUIT)
        self.process.wait()
        super().stop()

    @staticmethod
    def url_at(address):
        return f"postgresql://pawl@{address}/postgres"


class Mariadb(Database):
    """Commits are written, and not synced. In memory it would map its log, and lose to SIGKILL what it has answered."""

    IN_MEMORY = False

    USER = "mysql"
    SETTINGS = ("bind-address=127.0.0.1", "skip-name-resolve", "innodb_buffer_pool_size=32M", "innodb_log_file_size=8M",
                "innodb_flush_method=nosync", "innodb_flush_log_at_trx_commit=1", "performance_schema=OFF")

    def __init__(self, *settings):
        super().__init__()
        self.settings = f"--defaults-file={self.folder}/my.cnf"
        lines = ["[mysqld]", f"datadir={self.folder}/data", f"socket={self.folder}/s.sock", f"pid-file={self.folder}/pid",
                 f"tmpdir={self.folder}", f"port={self.port}", *self.SETTINGS, *settings]
        pathlib.Path(self.folder, "my.cnf").write_text("\n".join(lines) + "\n")
        self.run("mariadb-install-db", self.settings, "--auth-root-authentication-method=normal", "--skip-test-db")
        self.begin()
        self.ask("CREATE DATABASE pawl; CREATE USER locker@'%' IDENTIFIED BY 's3cret'; "
                 "GRANT SELECT, INSERT, UPDATE, DELETE, CREATE ON pawl.* TO locker@'%'")

    def begin(self):
        self.spawn("mariadbd", self.settings)

    def answers(self):
        return self.client("SELECT 1").returncode == 0

    def client(self, statements):
        return subprocess.run(["mariadb", "--no-defaults", f"--socket={self.folder}/s.sock", "--user=root", "--batch", f"--execute={statements}"],
                              capture_output=True, text=True, timeout=60, check=False)

    @staticmethod
    def url_at(address):
        return f"mysql://locker:s3cret@{address}/pawl"


class Etcd(Server):
    """A cluster of one, which syncs each write, to memory."""

    USER = "etcd"
    HAS_JOURNAL = False

    def __init__(self):
        super().__init__()
        self.peers = f"http://127.0.0.1:{free_port()}"
        self.begin()

    def begin(self):
        # Alone it need not wait long for votes.
        self.spawn("etcd", "--name", "m", "--data-dir", f"{self.folder}/data", "--listen-client-urls", f"http://{self.address}",
                   "--advertise-client-urls", f"http://{self.address}", "--listen-peer-urls", self.peers,
                   "--initial-advertise-peer-urls", self.peers, "--initial-cluster", f"m={self.peers}",
                   "--heartbeat-interval", "10", "--election-timeout", "100", "--logger", "zap")

    def answers(self):
        try:
            with urllib.request.urlopen(f"http://{self.address}/health", timeout=5) as said:
                return json.load(said)["health"] == "true"
        except OSError:
            return False

    @staticmethod
    def url_at(address):
        return f"etcd://{address}"


class Zookeeper(Server):
    """An ensemble of one, which syncs each write, to memory."""

    USER = "zookeeper"
    HAS_JOURNAL = False
    JARS = ("zookeeper", "netty-codec", "netty-resolver", "netty-common", "netty-transport-native-unix-common", "slf4j-simple")

    def __init__(self):
        super().__init__()
        lines = ["tickTime=200", "initLimit=25", "syncLimit=10", f"dataDir={self.folder}/data", "clientPortAddress=127.0.0.1",
                 f"clientPort={self.port}", "minSessionTimeout=400", "maxSessionTimeout=800000000", "maxClientCnxns=0",
                 "4lw.commands.whitelist=*"]
        pathlib.Path(self.folder, "zoo.cfg").write_text("\n".join(lines) + "\n")
        pathlib.Path(self.folder, "simplelogger.properties").write_text("org.slf4j.simpleLogger.defaultLogLevel=warn\n")
        self.begin()

    def begin(self):
        classes = ":".join([self.folder, *(f"/usr/share/java/{jar}.jar" for jar in self.JARS)])
        # Small and quick to start.
        self.spawn("java", "-Xms32m", "-Xmx160m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Djava.net.preferIPv4Stack=true",
                   "-Dzookeeper.admin.enableServer=false", "-cp", classes, "org.apache.zookeeper.server.quorum.QuorumPeerMain",
                   f"{self.folder}/zoo.cfg")

    def answers(self):
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=2) as link:
                link.sendall(b"srvr")
                said = b""
                while more := link.recv(4096):
                    said += more
                return b"Mode: " in said
        except OSError:
            return False

    @staticmethod
    def url_at(address):
        return f"zookeeper://{address}"


class CloudServer:
    """One that the tests in C++ have, by the name of its engine; its clients find their credentials in the environment."""

    def __init__(self, engine):
        self.engine = engine
        self.HAS_JOURNAL = engine in ("dynamodb", "mongodb")
        self.process = subprocess.Popen([os.environ["PAWL_TEST_SERVER"], engine], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.port, *credentials = self.told().split()
        self.port = int(self.port)
        os.environ.update(one.split("=", 1) for one in credentials)
        self.nodes = self.entries = [self]

    def told(self):
        if line := self.process.stdout.readline():
            return line.strip()
        raise AssertionError(f"the server has ended with {self.process.wait()}")

    def ask(self, words):
        self.process.stdin.write(words + "\n")
        self.process.stdin.flush()
        return self.told()

    def done(self, word):
        if (answer := self.ask(word)) != "ok":
            raise AssertionError(answer)

    def freeze(self):
        self.done("freeze")

    def thaw(self):
        self.done("thaw")

    def crash(self):
        self.done("crash")

    def begin(self):
        self.done("start")

    @property
    def address(self):
        return f"127.0.0.1:{self.port}"

    def url_at(self, address):
        return self.ask(f"url {address.rpartition(':')[2]}")

    def stop(self):
        self.process.communicate()


class Case(unittest.TestCase):
    """A test with a folder and a store of its own."""

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="pawl-test-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        # The disk is everybody's, and what others sync there holds up a renewal, or a row.
        self.stores = pathlib.Path(server_folder("store"))
        self.addCleanup(shutil.rmtree, self.stores, ignore_errors=True)
        self.store = f"sqlite:{self.stores}/pawl.db"

    def pawl(self, *words, **how):
        return pawl("--store", self.store, *words, **how)

    def start(self, *words):
        process = start("--store", self.store, *words)
        self.addCleanup(self.end, process)
        return process

    @staticmethod
    def end(process):
        if process.poll() is None:
            process.kill()
        process.communicate()

    def hold(self, key, *options):
        """Somebody else who holds the key, until the test ends."""
        process = self.start("exec", key, *options, "--", "sh", "-c", "echo held; exec sleep 600")
        self.assertEqual(process.stdout.readline(), "held\n")
        return process

    def assert_one_line(self, outcome, status, says):
        self.assertEqual(outcome.status, status, outcome.err)
        self.assertEqual(outcome.err.count("\n"), 1, outcome.err)
        self.assertIn(says, outcome.err)


class OnRedis:
    """Put before a Case: its tests have a real Redis for a store, and each finds it empty."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.server = Redis()
        cls.addClassCleanup(cls.server.stop)

    def setUp(self):
        super().setUp()
        self.server.ask("FLUSHALL")
        self.store = self.server.url
