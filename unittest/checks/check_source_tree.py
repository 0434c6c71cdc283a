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
    print(f"{len(findings)} findings in {len(list_files(root))} files")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
