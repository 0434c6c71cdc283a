# SPDX-License-Identifier: GPL-2.0-only
"""Checks this source tree: include rule, licence lines, file lengths, wording. Prints each finding.

python3 check_source_tree.py [ROOT]
"""

import sys
from pathlib import Path

import include_rule
import text_rules
from source_tree import REPOSITORY, list_files


def main():
    root = Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else REPOSITORY
    findings = include_rule.check(root) + text_rules.check(root)
    for finding in findings:
        print(finding)
    files = list_files(root)
    print(f"{len(findings)} findings in {len(files)} files")
    if not files:
        print(f"{root}: there is nothing to check, expected a source tree")
    return 1 if findings or not files else 0


if __name__ == "__main__":
    sys.exit(main())
