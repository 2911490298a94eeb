"""What a run found, as Markdown; and its place in docs/performance.md."""
import os
import pathlib
import platform
import re

BEGIN, END = "<!-- peers: benchmarks/peers/run --write-docs replaces what follows -->", "<!-- peers: end -->"
TITLES = {"redis": "Redis", "postgresql": "PostgreSQL", "mysql": "MariaDB", "etcd": "etcd", "zookeeper": "ZooKeeper"}


def machine():
    """Without its name, which says nothing to a reader."""
    lines = pathlib.Path("/proc/cpuinfo").read_text()
    model = re.search(r"model name\s*: (.*)", lines)
    memory = int(re.search(r"MemTotal:\s*(\d+)", pathlib.Path("/proc/meminfo").read_text())[1])
    system = re.search(r'PRETTY_NAME="(.*)"', pathlib.Path("/etc/os-release").read_text())
    return {"processor": model[1] if model else platform.machine(), "cores": os.cpu_count(), "memory_gib": round(memory / 2**20),
            "kernel": ".".join(platform.release().split(".")[:2]), "system": system[1] if system else platform.system()}


def micros(value):
    if value is None:
        return "–"
    return f"{value:,.0f} µs" if value >= 100 else f"{value:.1f} µs"


def row(*cells):
    return f"| {' | '.join(cells)} |"


def table(engines, callers):
    yield row("engine", "client", "fencing token", "acquire + release, p50", "p99", "beside pawl's p50", f"pairs/s, {callers} callers", "hand-over, p50")
    yield row(*["---"] * 8)
    for engine, found in engines.items():
        ours = next((one["pair"]["p50_us"] for one in found["clients"] if one["kind"] == "pawl"), None)
        for one in found["clients"]:
            name = f"**{one['name']}**" if one["kind"] == "pawl" else one["name"]
            fencing = "–" if one["kind"] == "floor" else one["fencing"]
            beside = f"{one['pair']['p50_us'] / ours:.2f}" if ours else "–"
            rate = f"{one['crowd']['pairs_per_second']:,.0f}" if "crowd" in one else "–"
            hand_over = micros(one["hand_over"]["p50_us"]) if "hand_over" in one else "–"
            yield row(TITLES[engine], name, fencing, micros(one["pair"]["p50_us"]), micros(one["pair"]["p99_us"]), beside, rate, hand_over)


def command_table(commands):
    bare = commands[0]["p50_us"]
    yield row("command", "p50", "p99", "beside the first")
    yield row(*["---"] * 4)
    for one in commands:
        yield row(one["name"], f"{one['p50_us'] / 1000:.2f} ms", f"{one['p99_us'] / 1000:.2f} ms", f"{one['p50_us'] / bare:.1f}")


def circumstances(found):
    of, load, how = found["machine"], found["load"], found["settings"]
    servers = ", ".join(one["server"] for one in found["engines"].values())
    awake = "A process at `SCHED_IDLE` spins on each core." if how["spinning"] else "No process keeps the cores awake."
    return (f"Measured on {found['date']} on {of['cores']} cores of {of['processor']}, {of['memory_gib']} GiB, Linux {of['kernel']}, {of['system']}; "
            f"the load of the machine was {load['begin']:.1f} at the beginning and {load['end']:.1f} at the end (a quiet one has about 1, from the run itself). "
            f"{servers}{'; ' if servers else ''}servers on loopback, which do not sync their disks. {awake} {how['rounds']} rounds of {how['pairs']} pairs after "
            f"{how['warm_up']} of warm-up, {how['crowd_rounds']} rounds of the callers, {how['hand_overs']} hand-overs.")


def body(found):
    """The tables, with what a reader needs to judge them."""
    lines = [circumstances(found), ""]
    if found["engines"]:
        lines += [*table(found["engines"], found["settings"]["callers"]), ""]
    if found["commands"]:
        lines += ["A command under a lock, from spawn to end; pawl with its default store, an SQLite file, and its journal:", ""]
        lines += [*command_table(found["commands"]), ""]
    if found["left_out"]:
        lines += ["Left out:", "", *(f"- {one['client']}: {one['why']}" for one in found["left_out"]), ""]
    return "\n".join(lines)


def plots(found):
    if not found["engines"]:
        return ""
    return ("![Acquire + release by engine and client](performance/peers-pairs.svg)\n\n"
            "![Hand-over by engine and client](performance/peers-hand-over.svg)\n")


def write_section(page, found):
    """Between its markers."""
    text = page.read_text()
    before, begun, rest = text.partition(BEGIN)
    _, ended, after = rest.partition(END)
    if not begun or not ended:
        raise ValueError(f"{page} has no place for it: '{BEGIN}' … '{END}'")
    page.write_text(f"{before}{BEGIN}\n{body(found)}\n{plots(found)}{END}{after}")
