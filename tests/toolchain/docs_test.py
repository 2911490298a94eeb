#!/usr/bin/env python3
"""The documents keep up with the code.

Every command and option that `pawl --help` names is in the manual page and in docs/commands.md; the
manual page is well formed; every relative link, every `path` of a source file and every test that a
document names leads somewhere; every block of C++ is compiled. Usage: docs_test.py SOURCE PAWL
"""
import pathlib
import re
import subprocess
import sys

source = pathlib.Path(sys.argv[1]).resolve()
pawl = sys.argv[2]
faults = []


def help_of(path):
    return subprocess.run([pawl, *path, "--help"], check=True, capture_output=True, text=True).stdout


def section(text, title):
    """The lines below a heading of CLI11's help, up to the next empty line."""
    found = re.search(rf"^{title}:\n((?:.+\n)+)", text, re.MULTILINE)
    return found.group(1).splitlines() if found else []


def walk(path=()):
    """Every command with the options that are its own."""
    text = help_of(path)
    options = [name for line in section(text, "Options") for name in re.findall(r"--[a-z][a-z-]*", line.split("  ")[1])]
    yield path, options
    for line in section(text, "Subcommands"):
        if match := re.match(r"  ([a-z-]+)", line):
            yield from walk((*path, match.group(1)))


def unquoted(roff):
    return roff.replace("\\-", "-").replace("\\(em", "—")


def check_commands():
    manual = unquoted((source / "docs/man/pawl.1").read_text())
    page = (source / "docs/commands.md").read_text()
    commands = list(walk())
    if len(commands) < 8:
        faults.append(f"only {len(commands)} commands were found in the help")
    for path, options in commands:
        name = " ".join(("pawl", *path))
        if f"pawl {' '.join(path)}".strip() not in page:
            faults.append(f"docs/commands.md: '{name}' is missing")
        if not re.search(rf"\b{' '.join(path)}\b", manual):
            faults.append(f"docs/man/pawl.1: '{name}' is missing")
        for option in options:
            pattern = re.compile(rf"{option}(?![a-z-])")
            for file, text in (("docs/commands.md", page), ("docs/man/pawl.1", manual)):
                if not pattern.search(text):
                    faults.append(f"{file}: {option} of '{name}' is missing")


def check_manual():
    shown = subprocess.run(["man", "--warnings", "-l", "docs/man/pawl.1"], cwd=source, capture_output=True, text=True,
                           env={"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "MANWIDTH": "80", "MANPAGER": "cat"})
    if shown.returncode != 0 or shown.stderr:
        faults.append(f"docs/man/pawl.1: man says {shown.returncode} {shown.stderr.strip()}")
    for word in ("NAME", "SYNOPSIS", "EXIT STATUS", "ENVIRONMENT", "EXAMPLES"):
        if word not in shown.stdout:
            faults.append(f"docs/man/pawl.1: the section {word} is missing")


def check_tests():
    """A test that a document names exists: `Suite.Name` and `Suite.*`, of Python `Class.test_name`, `Class.*` and either
    behind `file_test.`, and what runs them, `name_test`."""
    known = known_tests()
    name = r"(?:\w+_test\.)?[A-Z][A-Za-z0-9]+\.(?:[A-Z]\w+|test_\w+|\*)"
    for document in documents():
        for named in re.findall(rf"`({name}|\w+_test(?:\.[A-Z]\w+)?)[` ]", document.read_text()):
            if named not in known:
                faults.append(f"{document.relative_to(source)}: there is no test {named}")


def known_tests():
    known = set()
    for folder in ("src", "test_support", "tests"):
        for file in [*(source / folder).rglob("*.cpp"), *(source / folder).rglob("*.hpp")]:
            known.add(file.stem)
            for suite, test in re.findall(r"\bT\w*EST\w*\(\s*(\w+),\s*(\w+)", file.read_text()):
                known.update((f"{suite}.{test}", f"{suite}.*"))
        for file in (source / folder).rglob("CMakeLists.txt"):
            known.update(re.findall(r"\w+_test\b", file.read_text()))
    for file in (source / "tests").rglob("*_test.py"):
        known.update((file.stem, f"command_{file.stem}"))
        for suite, body in re.findall(r"^class (\w+)\(.*?\):\n(.*?)(?=^\S|\Z)", file.read_text(), re.MULTILINE | re.DOTALL):
            tests = re.findall(r"^    def (test_\w+)\(", body, re.MULTILINE)
            if not tests:
                continue
            names = {f"{suite}.*", *(f"{suite}.{test}" for test in tests)}
            known.update(names, {f"{file.stem}.{name}" for name in names}, {f"{file.stem}.{suite}"})
    return known


def anchors(text):
    """The names by which places of a document can be linked to: its headings', as GitHub makes them, and its own."""
    yield from re.findall(r'^<a id="([\w-]+)"></a>$', text, re.MULTILINE)
    for title in re.findall(r"^#+ +(.+)$", text, re.MULTILINE):
        yield re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def documents():
    listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"], cwd=source,
                            capture_output=True, text=True)
    return [source / name for name in listed.stdout.split()] or sorted(source.glob("*.md")) + sorted(source.glob("docs/**/*.md"))


def check_links():
    for document in documents():
        if not document.exists():
            continue
        text = document.read_text()
        name = document.relative_to(source)
        prose = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
        for target in re.findall(r"\]\(([^)\s]+)\)", prose):
            if re.match(r"[a-z]+:", target):
                continue
            path, _, anchor = target.partition("#")
            linked = (document.parent / path).resolve() if path else document
            if not linked.exists():
                faults.append(f"{name}: the link to {target} leads nowhere")
            elif anchor and anchor not in anchors(linked.read_text()):
                faults.append(f"{name}: there is no heading for {target}")
        # A file that a document names by its path exists: the rules say where they are kept.
        for path in re.findall(r"`((?:src|include|tests|test_support|apps|docs|model|tools|examples|cmake)/[\w./-]+\.\w+)`", prose):
            if not (source / path).exists():
                faults.append(f"{name}: there is no {path}")


def bare(code):
    """Without what may differ where it is compiled: white space, comments, includes."""
    code = re.sub(r"(?m)^\s*#include.*$|^\s*using namespace .*$|(?<![:\w])//.*$", "", code)
    return re.sub(r"\s+", "", code)


def check_snippets():
    """Each block of C++ of a page or a header stands in a program of the tests."""
    files = [source / "tests/consumer/programs/snippets.cpp", *sorted((source / "examples").rglob("*.[ch]pp"))]
    programs = [bare(file.read_text()) for file in files]
    blocks = [(page, block) for page in documents() if page.exists()
              for block in re.findall(r"(?ms)^ *```cpp\n(.*?)^ *```", page.read_text())]
    for header in sorted((source / "include/pawl").glob("*.hpp")):
        for block in re.findall(r"(?m)(?:^//     .*\n)+", header.read_text()):
            blocks.append((header, re.sub(r"(?m)^//     ", "", block)))
    if len(blocks) < 20:
        faults.append(f"only {len(blocks)} blocks of C++ were found")
    for file, block in blocks:
        is_sql = block.startswith("update ")
        if not is_sql and not any(bare(block) in one for one in programs):
            faults.append(f"{file.relative_to(source)}: no program of the tests has '{block.strip().splitlines()[0]}…'")


check_commands()
check_manual()
check_links()
check_tests()
check_snippets()
print("\n".join(faults), file=sys.stderr)
sys.exit(1 if faults else 0)
