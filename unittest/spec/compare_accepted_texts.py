# SPDX-License-Identifier: GPL-2.0-only
"""Checks that the JSON Schema accepts each text that the strict reader accepted.

python3 compare_accepted_texts.py FILE     FILE as fuzz_mlip_spec writes it
"""

import json
import sys
from pathlib import Path

from schema_validator import make_validator

FEWEST_TEXTS = 1000  # fewer would show that the mutations break everything


def main():
    texts = set(Path(sys.argv[1]).read_bytes().split(b"\0")[:-1])
    is_valid = make_validator()
    refused = [text for text in texts if not is_valid(json.loads(text))]
    for text in refused:
        print("accepted by the reader, refused by the schema:", text.decode())
    print(f"{len(texts)} different accepted texts, of which the schema refuses {len(refused)}")
    return 1 if refused or len(texts) < FEWEST_TEXTS else 0


if __name__ == "__main__":
    sys.exit(main())
