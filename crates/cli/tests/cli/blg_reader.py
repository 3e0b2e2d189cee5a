"""Reads a binary log with dissect.etl, a reader of event traces, and the description of PDH's records in
reference documents. Prints the numbers of its counters as JSON: path -> [[sample, first, second], ...]."""

import json
import struct
import sys

from dissect.etl.etl import ETL


def text(units, at):
    end = at
    while units[end : end + 2] != b"\0\0":
        end += 2
    return units[at:end].decode("utf-16-le")


def records(path):
    parts = []
    with open(path, "rb") as file:
        for number, event in enumerate(ETL(file)):
            if number == 0:
                continue
            payload = bytes(event.header.payload)
            part, count = struct.unpack_from("<II", payload, 16)
            parts.append(payload[24:])
            assert len(parts) == part, "parts follow one another"
            if part == count:
                yield b"".join(parts)
                parts = []
    assert not parts


def entries(record):
    at, found = 8, []
    while at < len(record):
        length, flags = struct.unpack_from("<II", record, at)
        machine, object, instance, parent, _, counter = struct.unpack_from("<iiiiIi", record, at + 28)
        texts = record[at + 52 : at + length]
        assert (flags == 1) == (instance >= 0 and text(texts, instance) == "*") and parent == -1
        found.append((f"{text(texts, machine)}\\{text(texts, object)}", text(texts, counter)))
        at += length
    return found


titles, catalogue, samples, values = 0, [], 0, {}
for record in records(sys.argv[1]):
    if record[:2] == b"\xff\x06":
        catalogue = entries(record)
    elif record[:4] == b"BL\x03\0":
        at, place = 8, 0
        assert struct.unpack_from("<I", record, 4)[0] == len(record)
        while at < len(record):
            mark, kind, length = struct.unpack_from("<2sHI", record, at)
            assert mark == b"BL"
            inside = record[at + 8 : at + length]
            object, counter = catalogue[place]
            if kind == 0x0103:
                assert length == 48
                status, = struct.unpack_from("<I", inside)
                first, second = struct.unpack_from("<QQ", inside, 16)
                if status == 0:
                    values.setdefault(f"{object}\\{counter}", []).append([samples, first, second])
            else:
                assert kind == 0x0203
                for item in range(struct.unpack_from("<I", inside, 4)[0]):
                    name, _, first, second = struct.unpack_from("<IIQQ", inside, 24 + 24 * item)
                    path = f"{object}({text(inside, name)})\\{counter}"
                    values.setdefault(path, []).append([samples, first, second])
            at, place = at + length, place + 1
        assert place == len(catalogue)
        samples += 1
    else:
        titles += 1
json.dump({"titles": titles, "samples": samples, "counters": len(catalogue), "values": values}, sys.stdout)
