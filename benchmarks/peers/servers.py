"""The servers that are measured on: those of the integration tests, which start and stop them, without what waits for a disk."""
import os
import pathlib
import re
import socket
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent / "tests" / "integration"))
# Not used here; the harness wants to know it.
os.environ.setdefault("PAWL_BINARY", "pawl")

import harness


def said(*words):
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    return done.stdout + done.stderr


def version_in(text):
    return re.search(r"\d+\.\d+(\.\d+)?", text)[0]


class Redis(harness.Redis):
    """It saves nothing, as the harness has it."""

    @staticmethod
    def version():
        return f"Redis {version_in(said('redis-server', '--version'))}"


class Postgres(harness.Postgres):
    """Commits are written, and not synced."""

    def begin(self):
        with open(f"{self.folder}/data/postgresql.conf", "a") as settings:
            settings.write("fsync = off\nmax_connections = 200\n")
        super().begin()

    @classmethod
    def version(cls):
        return f"PostgreSQL {version_in(said(cls.PROGRAMS / 'postgres', '--version'))}"


class Mariadb(harness.Mariadb):
    """The same."""

    SETTINGS = (*harness.Mariadb.SETTINGS, "max_connections=200")

    @staticmethod
    def version():
        # After the protocol's: "Ver 15.1 Distrib 10.11.19-MariaDB".
        return f"MariaDB {version_in(said('mariadbd', '--version').partition('Ver ')[2])}"


class Etcd(harness.Etcd):
    """One node, in memory."""

    def spawn(self, *words):
        super().spawn(*words, "--unsafe-no-fsync")

    @staticmethod
    def version():
        return f"etcd {version_in(said('etcd', '--version'))}"


class Zookeeper(harness.Zookeeper):
    """One node, in memory; compiled as servers are in production, which takes longer to start than tests want."""

    def spawn(self, *words):
        super().spawn(*(word for word in words if word != "-XX:TieredStopAtLevel=1"))

    def version(self):
        with socket.create_connection(("127.0.0.1", self.port), timeout=10) as link:
            link.sendall(b"srvr")
            return f"ZooKeeper {version_in(link.makefile().readline())}"


SERVERS = {"redis": Redis, "postgresql": Postgres, "mysql": Mariadb, "etcd": Etcd, "zookeeper": Zookeeper}
