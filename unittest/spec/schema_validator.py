# SPDX-License-Identifier: GPL-2.0-only
"""The JSON Schema of specs as a predicate; ends the test as skipped without its package."""

import json
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
SCHEMA = REPOSITORY / "spec" / "mlip_spec.schema.json"
SKIPPED = 77

try:
    import jsonschema_rs
except ImportError:
    print("SKIPPED: no package jsonschema-rs; unittest/run.sh installs it beside the formatters")
    sys.exit(SKIPPED)


def load_schema():
    """The schema itself, once it is known to be one."""
    schema = json.loads(SCHEMA.read_text())
    jsonschema_rs.meta.validate(schema)
    return schema


def make_validator():
    """A function that says whether the schema accepts a JSON value."""
    return jsonschema_rs.Draft202012Validator(load_schema()).is_valid
