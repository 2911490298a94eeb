"""Sets the peers up by their own package managers, once, in a cache folder: never in the tree."""
import contextlib
import fcntl
import hashlib
import os
import pathlib
import shutil
import subprocess
import tempfile

HERE = pathlib.Path(__file__).resolve().parent


class Missing(Exception):
    """Says in a line why the peers of a toolchain are left out."""


def cache_folder():
    """That of the tests, which never lies in the tree."""
    if given := os.environ.get("PAWL_TEST_CACHE"):
        return pathlib.Path(given)
    if os.geteuid() == 0:
        return pathlib.Path("/var/cache/pawl-tests")
    return pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "pawl-tests"


class Toolchain:
    """What a language's peers are built by and run with."""

    def __init__(self, name, needs, sources, steps, command):
        self.name, self.needs, self.sources, self.steps, self.command = name, needs, sources, steps, command

    def set_up(self):
        """The words that run its peers. What did not change since is not built again; another run at once is waited for."""
        if absent := [program for program in self.needs if shutil.which(program) is None]:
            raise Missing(f"there is no '{absent[0]}' on this machine")
        cache = cache_folder() / "peers"
        cache.mkdir(parents=True, exist_ok=True)
        ready = cache / f"{self.name}-{self.digest()}"
        with open(cache / f"{self.name}.lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not ready.is_dir():
                self.build(cache, ready)
        return [word.format(ready=ready) for word in self.command]

    def digest(self):
        whole = hashlib.sha256(repr(self.steps).encode())
        for source in self.sources:
            whole.update((HERE / self.name / source).read_bytes())
        return whole.hexdigest()[:12]

    def build(self, cache, ready):
        made = pathlib.Path(tempfile.mkdtemp(prefix=f"{self.name}.", dir=cache))
        log_path = cache / f"{self.name}.log"
        try:
            for source in self.sources:
                shutil.copy(HERE / self.name / source, made)
            with open(log_path, "wb") as log:
                for step in self.steps:
                    subprocess.run(step, check=True, cwd=made, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
            made.rename(ready)
        except subprocess.CalledProcessError as fault:
            raise Missing(f"'{' '.join(fault.cmd[:2])}' failed, see {log_path}") from fault
        finally:
            with contextlib.suppress(OSError):
                shutil.rmtree(made)


TOOLCHAINS = {one.name: one for one in (
    Toolchain("go", ["go"], ["main.go", "go.mod", "go.sum"], [["go", "build", "-o", "peers", "."]], ["{ready}/peers"]),
    Toolchain("java", ["java", "mvn"], ["Peers.java", "pom.xml"],
              [["mvn", "--batch-mode", "compile", "dependency:copy-dependencies", "-DoutputDirectory=lib"]],
              ["java", "-cp", "{ready}/target/classes:{ready}/lib/*", "Peers"]),
    Toolchain("node", ["node", "npm"], ["peer.js", "package.json", "package-lock.json"],
              [["npm", "ci", "--no-audit", "--no-fund"]], ["node", "{ready}/peer.js"]),
    Toolchain("python", ["python3"], ["peer.py", "requirements.txt"],
              [["python3", "-m", "pip", "install", "--disable-pip-version-check", "--target", ".", "--requirement", "requirements.txt"]],
              ["python3", "{ready}/peer.py"]),
)}
