"""Many connections of Postfix's processes to the milter at once."""

import asyncio
import struct

import pytest

CONNECTIONS, MESSAGES = 500, 3

# Of the milter protocol, version 6: what may be left out, by bits of the
# negotiation: command, the bit that skips it, the bit that needs no reply.
SKIPPED = {b"C": 0x1, b"H": 0x2, b"M": 0x4, b"R": 0x8, b"L": 0x20, b"N": 0x40, b"B": 0x10}
NO_REPLY = {b"C": 0x1000, b"H": 0x2000, b"M": 0x4000, b"R": 0x8000, b"L": 0x80,
            b"N": 0x40000, b"B": 0x80000}

HEADER = {"From": "a@plain.test", "To": "b@dst.test", "Subject": "x"}


def packet(command, data=b""):
    return struct.pack(">I", len(data) + 1) + command + data


class Client:
    """Behaves like a cleanup or smtpd process: one message after another."""

    async def connect(self, path):
        self.reader, self.writer = await asyncio.open_unix_connection(path)
        self.writer.write(packet(b"O", struct.pack(">III", 6, 0x1FF, 0x1FFFFF)))
        answer = await self.answer()
        self.protocol = struct.unpack(">III", answer[1:13])[2]

    async def answer(self):
        (size,) = struct.unpack(">I", await self.reader.readexactly(4))
        return await self.reader.readexactly(size)

    async def tell(self, command, data):
        if self.protocol & SKIPPED[command]:
            return
        self.writer.write(packet(command, data))
        if not self.protocol & NO_REPLY[command]:
            assert await self.answer() == b"c"

    async def message(self, queue_id):
        self.writer.write(packet(b"D", b"Mi\0" + queue_id + b"\0"))
        await self.tell(b"M", b"<a@plain.test>\0")
        await self.tell(b"R", b"<b@dst.test>\0")
        for name, value in HEADER.items():
            await self.tell(b"L", f"{name}\0{value}\0".encode())
        await self.tell(b"N", b"")
        self.writer.write(packet(b"E"))
        return await self.answer()


async def play(path, number):
    client = Client()
    await client.connect(path)
    await client.tell(b"C", b"localhost\0004" + struct.pack(">H", 25) + b"127.0.0.1\0")
    await client.tell(b"H", b"localhost\0")
    answers = [await client.message(b"%dQ%d" % (number, i)) for i in range(MESSAGES)]
    client.writer.write(packet(b"Q"))
    await client.writer.drain()
    client.writer.close()
    return answers


@pytest.mark.plain
def test_many_at_once(box):
    """Each is served, none is refused or forgotten, in any order."""
    path = str(box.dir / "queue/postern/milter.sock")

    async def all_of_them():
        plays = (play(path, i) for i in range(CONNECTIONS))
        return await asyncio.wait_for(asyncio.gather(*plays), 120)

    answers = asyncio.run(all_of_them())
    assert {a for one in answers for a in one} <= {b"a", b"c"}
    assert sum(map(len, answers)) == CONNECTIONS * MESSAGES
