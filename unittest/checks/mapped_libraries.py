# SPDX-License-Identifier: GPL-2.0-only
"""Which shared libraries a process maps, and which of them lie where a user need not have any.

A CUDA toolkit or another package in the loader's cache can hide that a library is missing from the
environment. So each must lie in the environment, in the build, or in the system's own folders.
"""

import os
import re
import subprocess
import time
from pathlib import Path

SYSTEM_FOLDERS = ("/lib/", "/lib64/", "/usr/lib/", "/usr/lib64/")
LOADERS = [*Path("/lib64").glob("ld-linux-*.so.*"), *Path("/lib").glob("ld-linux-*.so.*")]
LOADER = str(LOADERS[0])


def libraries_in_maps(text):
    """Shared libraries of the text of /proc/PID/maps, sorted."""
    paths = (line.split(None, 5)[-1] for line in text.splitlines() if "/" in line)
    return sorted({path for path in paths if re.search(r"\.so(\.|$)", os.path.basename(path))})


def foreign_libraries(paths, folders):
    """Those that lie neither in `folders` nor in the system's own."""
    roots = tuple(os.path.realpath(folder) + "/" for folder in folders) + SYSTEM_FOLDERS
    return [path for path in paths if not os.path.realpath(path).startswith(roots)]


def clean_environment():
    """The environment without what tells the loader where to look; one thread, for speed."""
    hidden = ("LD_LIBRARY_PATH", "LD_PRELOAD", "LIBRARY_PATH", "CUDA_HOME", "CUDA_PATH")
    kept = {name: value for name, value in os.environ.items() if name not in hidden}
    return {**kept, "OMP_NUM_THREADS": "1"}


def maps_while_running(command, script, marker, timeout=120):
    """/proc/PID/maps of a program that reads `script` and makes the file `marker` when ready.

    RuntimeError with the program's output if it ends before that.
    """
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=clean_environment(),
        cwd=marker.parent,
    )
    try:
        process.stdin.write(script)
        process.stdin.flush()
        deadline = time.monotonic() + timeout
        while not marker.exists():
            if process.poll() is not None or time.monotonic() > deadline:
                process.kill()
                raise RuntimeError(
                    f"{' '.join(command)} did not get ready:\n{process.communicate()[0]}"
                )
            time.sleep(0.05)
        return Path(f"/proc/{process.pid}/maps").read_text()
    finally:
        process.kill()
        process.communicate()
