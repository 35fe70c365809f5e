#!/usr/bin/env python3
"""Reads journals of txedit, from journal-format.md alone.

    reader.py FILE...            verifies each journal and prints it, one JSON object a line
    reader.py --list WORKSPACE   lists the transactions of a workspace, one JSON object a line

Exit status 0: all verified; 1: something was refused; 2: usage. Needs the blake3 package.
"""

import itertools
import json
import os
import re
import stat
import sys

from blake3 import blake3

VERSIONS = (1, 2, 3, 4, 5, 6)
FILE_BYTES = 4 << 30
LINE_BYTES = 65_536
ENTRIES = 1_000_000
U32, U64 = 2**32 - 1, 2**64 - 1

DIGEST = re.compile(r"[0-9a-f]{64}")
ID = re.compile(r"[0-9]{8}T[0-9]{6}\.[0-9]{6}Z-[0-9a-f]{16}")
BORN = re.compile(r"(0|-?[1-9][0-9]*)\.[0-9]{9}")
LINK_MODE = "120000"
MODE = re.compile(r"[0-7]{4}")
HEX = re.compile(r"(?:[0-9a-f]{2})+")
STATES = {
    "journal.new": "new",
    "journal": "sealed",
    "journal.contended": "contended",
    "journal.check": "check",
    "journal.done": "done",
    "journal.undo": "undo",
    "journal.check.undo": "check_undo",
}
KINDS = {
    "edit": ("before", "after", "staged", "original"),
    "overwrite": ("before", "after", "staged", "original"),
    "create": ("after", "staged"),
    "delete": ("before", "original"),
    "folder": ("staged",),
    "file_to_folder": ("before", "staged", "original"),
    "folder_to_file": ("after", "staged", "original"),
    "remove_folder": ("original",),
}
OVERWRITES = 5
PARTS = 6
NOT_IN_1 = ("file_to_folder", "folder_to_file", "remove_folder")
NAMED_ESCAPES = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r"}


class Refused(Exception):
    """Why a journal is refused as a whole."""

    def __init__(self, reason, message, line=None):
        super().__init__(message)
        self.reason, self.line = reason, line


def spell(value):
    """The one spelling of a value."""
    if value is True or value is False:
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, str):
        escaped = (NAMED_ESCAPES.get(c) or (f"\\u{ord(c):04x}" if c < " " else c) for c in value)
        return '"' + "".join(escaped) + '"'
    if isinstance(value, dict):
        return "{" + ",".join(spell(k) + ":" + spell(v) for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(spell(v) for v in value) + "]"
    raise ValueError("a value of no kind that a journal has")


def pairs(found):
    """An object, unless a field stands twice."""
    if len({name for name, _ in found}) != len(found):
        raise ValueError("a field stands twice")
    return dict(found)


def record(raw, line):
    """A record, if it has the one spelling."""
    try:
        value = json.loads(raw.decode("utf-8"), object_pairs_hook=pairs)
        if not isinstance(value, dict) or spell(value).encode("utf-8") != raw:
            raise ValueError("not in the one spelling")
    except (ValueError, RecursionError) as error:
        raise Refused("unexpected", f"line {line}: {error}", line) from error
    return value


def fields(value, line, *wanted):
    """Checks that an object has exactly these fields, in this order; those with a question mark may be absent."""
    names = [name.rstrip("?") for name in wanted if not name.endswith("?") or name.rstrip("?") in value]
    if not isinstance(value, dict) or list(value) != names:
        raise Refused("unexpected", f"line {line}: expected the fields {', '.join(names)}", line)
    return value


def number(value, most, line):
    if type(value) is not int or not 0 <= value <= most:
        raise Refused("unexpected", f"line {line}: expected a number up to {most}", line)


def text(value, line, pattern=None):
    if not isinstance(value, str) or (pattern and not pattern.fullmatch(value)):
        raise Refused("unexpected", f"line {line}: expected another text than {value!r}", line)


def identity(value, line):
    if not isinstance(value, dict):
        raise Refused("unexpected", f"line {line}: expected an identity", line)
    fields(value, line, "inode", "born?")
    number(value["inode"], U64, line)
    if "born" in value:
        text(value["born"], line, BORN)
        if not -(2**63) <= int(value["born"].split(".")[0]) < 2**63:
            raise Refused("unexpected", f"line {line}: a birth time of more than 64 bits", line)


def state(value, line, version):
    if not isinstance(value, dict):
        raise Refused("unexpected", f"line {line}: expected a state", line)
    if version == 1:
        fields(value, line, "digest", "size", "mode")
    else:
        fields(value, line, "digest", "size", "mode", "user", "group", "attributes?")
        number(value["user"], U32, line)
        number(value["group"], U32, line)
        if "attributes" in value:
            text(value["attributes"], line, DIGEST)
    text(value["digest"], line, DIGEST)
    number(value["size"], U64, line)
    if version > 2 and value["mode"] == LINK_MODE:
        if "attributes" in value:
            raise Refused("unexpected", f"line {line}: expected no attributes of a symlink", line)
    else:
        text(value["mode"], line, MODE)


def path_of(entry, line):
    """The bytes of an entry's path."""
    if "path" in entry:
        text(entry["path"], line)
        path = entry["path"].encode("utf-8")
    else:
        text(entry["path_hex"], line, HEX)
        path = bytes.fromhex(entry["path_hex"])
        try:
            path.decode("utf-8")
        except UnicodeDecodeError:
            pass
        else:
            raise Refused("unexpected", f"line {line}: a path that is UTF-8 stands in path_hex", line)
    names = path.split(b"/")
    bad = any(
        name in (b"", b".", b"..") or len(name) > 255 or b"\0" in name or name.lower() == b".txedit" for name in names
    )
    bad = bad or (b".git", b"txedit") in zip((name.lower() for name in names), (name.lower() for name in names[1:]))
    if bad or len(path) > 4095:
        raise Refused("unexpected", f"line {line}: expected a path inside the workspace", line)
    return path


def header_of(raw):
    # The version comes first: a later one may spell everything else in another way.
    try:
        version = json.loads(raw.decode("utf-8")).get("txedit")
    except (ValueError, AttributeError, RecursionError):
        version = None
    if type(version) is int and version not in VERSIONS and 0 <= version <= U64:
        raise Refused("version", f"unknown version {version}", 1)
    header = record(raw, 1)
    fields(header, 1, "txedit", "id", "workspace", "folder", "boot", "owner", "reverts?", "reverts_also?", "opened?", "key?", "request?", "swap?", "parts?", "label?", "session?", "campaign?")
    number(header["txedit"], U64, 1)
    text(header["id"], 1, ID)
    text(header["workspace"], 1)
    identity(header["folder"], 1)
    text(header["boot"], 1)
    owner = header["owner"]
    if not isinstance(owner, dict):
        raise Refused("unexpected", "line 1: expected an owner", 1)
    fields(owner, 1, "program", "process", "user", "host")
    text(owner["program"], 1)
    number(owner["process"], U32, 1)
    number(owner["user"], U32, 1)
    text(owner["host"], 1)
    if "reverts" in header:
        text(header["reverts"], 1, ID)
    if "reverts_also" in header:
        also = header["reverts_also"]
        if "reverts" not in header or not isinstance(also, list) or not also:
            raise Refused("unexpected", "line 1: expected the transactions that it reverts, newest first", 1)
        for one in also:
            text(one, 1, ID)
        order = [header["reverts"], *also]
        if any(newer <= older for newer, older in zip(order, order[1:])):
            raise Refused("unexpected", "line 1: expected the transactions that it reverts, newest first", 1)
    if "opened" in header:
        text(header["opened"], 1, ID)
    if "key" in header:
        text(header["key"], 1)
    if "request" in header:
        text(header["request"], 1, DIGEST)
    fits = header["txedit"] in (OVERWRITES, PARTS) or ("swap" in header) == (header["txedit"] == 4)
    if not fits or header.get("swap", "link") not in ("rename", "link"):
        raise Refused("unexpected", "line 1: expected a way in which slots and targets change places", 1)
    parts = header.get("parts", [])
    if not isinstance(parts, list) or bool(parts) != (header["txedit"] == PARTS) or "parts" in header and not parts:
        raise Refused("unexpected", "line 1: expected other file systems in a journal that has some", 1)
    paths = []
    for part in parts:
        if not isinstance(part, dict):
            raise Refused("unexpected", "line 1: expected a part", 1)
        fields(part, 1, "path" if "path" in part else "path_hex", "folder", "state")
        identity(part["folder"], 1)
        text(part["state"], 1)
        if not 1 <= len(part["state"].encode("utf-8")) <= 64:
            raise Refused("unexpected", "line 1: expected the word of a state folder", 1)
        paths.append(path_of(part, 1))
    if any(one >= other for one, other in zip(paths, paths[1:])):
        raise Refused("unexpected", "line 1: expected the parts in the order of their paths", 1)
    if "label" in header:
        text(header["label"], 1)
    if "session" in header:
        text(header["session"], 1)
    if "campaign" in header:
        text(header["campaign"], 1)
    return header


def entry_of(entry, index, line, version):
    kind = entry.get("kind")
    known = isinstance(kind, str) and kind in KINDS
    if not known or (version == 1 and kind in NOT_IN_1) or (version not in (OVERWRITES, PARTS) and kind == "overwrite"):
        raise Refused("unexpected", f"line {line}: expected a kind", line)
    path = "path" if "path" in entry else "path_hex"
    fields(entry, line, "slot", "kind", path, *KINDS[kind])
    if entry["slot"] != f"{index:06}":
        raise Refused("unexpected", f"line {line}: expected slot {index:06}", line)
    for name in KINDS[kind]:
        if name in ("before", "after"):
            state(entry[name], line, version)
        else:
            identity(entry[name], line)
    if kind == "overwrite" and LINK_MODE in (entry["before"]["mode"], entry["after"]["mode"]):
        raise Refused("unexpected", f"line {line}: no symlink is overwritten", line)


def lines_of(data):
    """The JSON of each line, verified by the chain."""
    before, at, line = b"", 0, 0
    while True:
        line += 1
        end = data.find(b"\n", at)
        if end < 0:
            raise Refused("torn", f"it ends in line {line} before its seal", line)
        if end - at > LINE_BYTES:
            raise Refused("no line", f"line {line} is too long", line)
        digits, space, raw = data[at : at + 64], data[at + 64 : at + 65], data[at + 65 : end]
        if space != b" " or end - at < 66 or not DIGEST.fullmatch(digits.decode("latin-1")):
            raise Refused("no line", f"line {line}: expected 64 digits, a space and an object", line)
        if blake3(before + raw).hexdigest().encode() != digits:
            raise Refused("digest", f"line {line} does not have the digest that stands before it", line)
        yield line, raw, end + 1 == len(data)
        before, at = digits, end + 1


def read(data):
    """Verifies a whole journal."""
    lines = lines_of(data)
    _, raw, _ = next(lines)
    header = header_of(raw)
    entries, paths = [], set()
    for line, raw, last in lines:
        value = record(raw, line)
        if "sealed" in value:
            fields(value, line, "sealed", "back_on_crash")
            number(value["sealed"], U64, line)
            if type(value["back_on_crash"]) is not bool:
                raise Refused("unexpected", f"line {line}: expected true or false", line)
            if value["sealed"] != len(entries):
                raise Refused("unexpected", f"line {line}: expected the number of entries in the seal", line)
            overwrites = any(entry["kind"] == "overwrite" for entry in entries)
            fits = header["txedit"] == PARTS or overwrites == (header["txedit"] == OVERWRITES)
            if not fits or (overwrites and not value["back_on_crash"]):
                raise Refused("unexpected", f"line {line}: expected the version and the seal of what is overwritten", line)
            if not last:
                raise Refused("unexpected", f"line {line + 1}: something follows the seal", line + 1)
            return {"header": header, "entries": entries, "back_on_crash": value["back_on_crash"]}
        if len(entries) == ENTRIES:
            raise Refused("unexpected", f"line {line}: too many entries", line)
        entry_of(value, len(entries), line, header["txedit"])
        path = path_of(value, line)
        if path in paths:
            raise Refused("unexpected", f"line {line}: a path that stands twice", line)
        paths.add(path)
        entries.append(value)


def read_file(path):
    """Verifies a file; its name is its state."""
    try:
        found = os.lstat(path)
        if not stat.S_ISREG(found.st_mode) or found.st_size > FILE_BYTES:
            raise Refused("file", "not a regular file of a bounded size")
        with open(path, "rb") as file:
            journal = read(file.read(FILE_BYTES + 1))
    except OSError as error:
        return {"file": path, "refused": "file", "message": str(error)}
    except Refused as why:
        return {"file": path, "refused": why.reason, "line": why.line, "message": str(why)}
    known = STATES.get(os.path.basename(path))
    return {"file": path, **({"state": known} if known else {}), **journal}


def list_workspace(workspace):
    """Every transaction of a workspace, as journal-format.md names its places."""
    for state, section in itertools.product((".git/txedit", ".txedit"), ("txn", "history", "kept", "trash")):
        folder = os.path.join(workspace, state, section)
        for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else []:
            born = section == "txn" and name.startswith(".")
            if not ID.fullmatch(name[1:] if born else name):
                continue
            at = os.path.join(folder, name)
            journals = [file for file in os.listdir(at) if file.startswith("journal")]
            found = {"section": section, "id": name}
            if not journals:
                yield {**found, "state": "never swapped"}
            elif len(journals) > 1 or journals[0] not in STATES:
                yield {**found, "refused": "names", "message": ", ".join(sorted(journals))}
            else:
                journal = read_file(os.path.join(at, journals[0]))
                if "header" in journal:
                    folder_is, there = journal["header"]["folder"], os.stat(at)
                    same = journal["header"]["id"] == name and folder_is["inode"] == there.st_ino
                    # The birth time is in no call of Python's library; the inode has to do here.
                    found["born_here"] = same
                yield {**found, **journal}


def main(arguments):
    if len(arguments) == 2 and arguments[0] == "--list":
        answers = list(list_workspace(arguments[1]))
    elif arguments and not arguments[0].startswith("-"):
        answers = [read_file(path) for path in arguments]
    else:
        print(__doc__, file=sys.stderr)
        return 2
    for answer in answers:
        # Names that are not UTF-8 come from the command line as surrogates; JSON escapes them.
        print(json.dumps(answer))
    return 1 if any("refused" in answer for answer in answers) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
