# SPDX-License-Identifier: GPL-2.0-only
"""Rewrite a TorchScript file without the folder names of the machine that wrote it.

TorchScript keeps the source file of every operation, for error messages and for the plugin's
listing of exchanges. Saved as they are, these names tell every user of an archive where its author
keeps the files; `package/module.py` says as much about the model.
"""

import io
import os
import pickletools
import sys
import zipfile

PICKLED_TEXT = "BINUNICODE"  # opcode 'X', length in 4 bytes, UTF-8: how TorchScript writes strings


def source_folders():
    """Folders that modules are found in, longest first, as they stand and with links resolved."""
    folders = {os.path.abspath(p or ".") for p in sys.path}
    folders |= {os.path.realpath(p) for p in folders} | {p for p in sys.path if p}
    return sorted((p.rstrip("/") + "/" for p in folders), key=len, reverse=True)


def shorten(text, folders):
    """The text with every leading folder of a source path removed."""
    for folder in folders:
        text = text.replace(folder, "")
    return text


def shorten_pickled_texts(pickled, folders):
    """A pickle with the same content but shortened texts. Nothing is unpickled or executed."""
    result, operations = io.BytesIO(), list(pickletools.genops(pickled))
    ends = [position for _, _, position in operations[1:]] + [len(pickled)]
    for (opcode, text, start), end in zip(operations, ends, strict=True):
        if opcode.name == PICKLED_TEXT:
            encoded = shorten(text, folders).encode()
            result.write(b"X" + len(encoded).to_bytes(4, "little") + encoded)
        else:
            result.write(pickled[start:end])
    return result.getvalue()


def make_portable(source, target, name):
    """Copy the TorchScript file `source` to `target`: source paths shortened, `name` as the top
    folder inside, and no time stamps, so that equal models give equal files."""
    folders = source_folders()
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w") as new:
        for entry in old.infolist():
            content = old.read(entry)
            if entry.filename.endswith(".debug_pkl"):
                content = shorten_pickled_texts(content, folders)
            path = f"{name}/{entry.filename.partition('/')[2]}"
            new.writestr(zipfile.ZipInfo(path), content, compress_type=entry.compress_type)
