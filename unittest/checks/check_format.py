# SPDX-License-Identifier: GPL-2.0-only
"""Checks the layout of C++ (clang-format) and of Python (ruff); with --fix, mends it.

python3 check_format.py [--fix]     needs clang-format and ruff of cmake/setup/requirements-lint.txt
                                    on the path; ends with status 77 (skipped) where one is missing
"""

import shutil
import subprocess
import sys

from source_tree import REPOSITORY, list_files

SKIPPED = 77


def run(command, paths):
    """True if the tool is content with the files."""
    return not paths or subprocess.run([*command, *map(str, paths)], cwd=REPOSITORY).returncode == 0


def main():
    fix = "--fix" in sys.argv[1:]
    missing = [name for name in ("clang-format", "ruff") if not shutil.which(name)]
    if missing:
        print(f"SKIPPED: {', '.join(missing)} not on the path; unittest/run.sh installs them")
        return SKIPPED
    files = list_files(REPOSITORY)
    if not files:
        print(f"{REPOSITORY}: there is nothing to check, expected a source tree")
        return 1
    sources = [path for path in files if path.suffix in {".cpp", ".hpp", ".h", ".cu", ".cuh"}]
    scripts = [path for path in files if path.suffix == ".py"]
    layout = ["-i"] if fix else ["--dry-run", "--Werror", "--ferror-limit=1"]
    content = [
        run(["clang-format", "--style=file", *layout], sources),
        run(["ruff", "format", *([] if fix else ["--check"])], scripts),
        run(["ruff", "check", *(["--fix"] if fix else [])], scripts),
    ]
    if not all(content):
        print("python3 unittest/checks/check_format.py --fix mends the layout")
    return 0 if all(content) else 1


if __name__ == "__main__":
    sys.exit(main())
