"""Reads a recording by the manual's page recordings.md and prints one line of JSON for each sample:
its time, and length and CRC-32 of each data block. Needs the module zstandard."""

import json, struct, sys, zlib

import zstandard


class Input:
    def __init__(self, data):
        self.data, self.at = data, 0

    def varint(self):
        number = shift = 0
        while True:
            byte = self.take(1)[0]
            number |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return number

    def take(self, length):
        taken = self.data[self.at : self.at + length]
        assert len(taken) == length, "cut off"
        self.at += length
        return taken

    def text(self):
        return self.take(self.varint()).decode()


def frames(data):
    at = 0
    while at < len(data):
        kind, since, length, checksum, time, back, own = struct.unpack_from("<BxHIIqII", data, at + 4)
        assert data[at : at + 4] == b"PHR1" and zlib.crc32(data[at : at + 28]) == own
        payload = data[at + 32 : at + 32 + length]
        assert zlib.crc32(payload) == checksum, "the payload is damaged"
        yield kind, time, payload
        at += 32 + length


def segments(source, before):
    """The list of lengths and predictions: a number of the sample before, of this one, or none."""
    found, place = [], 0
    while (code := source.take(1)[0]) != 0:
        number = source.varint()
        if code == 2:
            place = number
            continue
        for _ in range(number):
            if code == 1:
                found.append((len(before[place]), "before", place))
                place += 1
            elif code == 3:
                found.append((source.varint(), "raw", None))
            else:
                alike = len(found) - source.varint()
                found.append((found[alike][0], "alike", alike))
    return found


def words(data):
    return list(struct.unpack(f"<{(len(data) + 3) // 4}I", data + bytes(-len(data) % 4)))


def sample(source, before):
    listed = segments(source, before)
    raw = {at: source.take(length) for at, (length, kind, _) in enumerate(listed) if kind == "raw"}
    rest = [at for at in range(len(listed)) if at not in raw]
    differs, left, changed = False, len(rest), []
    while True:
        run = source.varint()
        start = len(rest) - left
        if differs:
            changed += rest[start : start + run]
        left, differs = left - run, not differs
        if left == 0:
            break
    differences = {at: [0] * ((listed[at][0] + 3) // 4) for at in changed}
    sizes = sorted({len(of) for of in differences.values()})
    order = [(at, word) for size in sizes for word in range(size) for at in changed if len(differences[at]) == size]
    zeros = 0
    for at, word in order:
        folded = 0 if zeros else source.varint()
        if zeros:
            zeros -= 1
        elif folded == 0:
            zeros = source.varint()
        else:
            differences[at][word] = folded // 2 if folded % 2 == 0 else -(folded + 1) // 2
    assert zeros == 0 and source.at == len(source.data), "something follows"
    made = []
    for at, (length, kind, number) in enumerate(listed):
        predicted = raw[at] if kind == "raw" else before[number] if kind == "before" else made[number]
        if at in differences:
            sums = [(a + b) & 0xFFFFFFFF for a, b in zip(words(predicted), differences[at])]
            predicted = struct.pack(f"<{len(sums)}I", *sums)[:length]
        made.append(predicted)
    return made


def main():
    for kind, time, payload in frames(open(sys.argv[1], "rb").read()):
        if kind not in (3, 4):
            continue
        if kind == 3:
            before, stream = [], zstandard.ZstdDecompressor().decompressobj()
        source = Input(stream.decompress(payload))
        blocks = [(source.text(), source.varint()) for _ in range(source.varint())]
        for _ in range(source.varint()):
            source.varint(), source.varint(), source.text(), source.text(), source.text()
        before = sample(source, before)
        data = Input(b"".join(before))
        sums = [[length, zlib.crc32(data.take(length))] for _, length in blocks]
        print(json.dumps({"time": time, "blocks": sums}))


main()
