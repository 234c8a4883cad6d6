"""Protobuf wire format, driven by message types; zero-copy for bytes fields.

A parsed file is a tree of ``Message`` objects. Unknown fields stay in their message as raw bytes and
are written back. Memory beyond the input is bounded by ``MAX_FIELDS``.
"""

from __future__ import annotations

import struct
from typing import Any

from searchless_rl.lc0.errors import NetworkFileError

MAX_FIELDS = 20_000
"""Fields read from one file; a network with 15 encoders and all heads has about 2,000."""

_VARINT, _FIXED64, _LENGTH, _FIXED32 = 0, 1, 2, 5
_WIRE_TYPE = {"uint": _VARINT, "float": _FIXED32, "fixed32": _FIXED32, "bytes": _LENGTH}
_MAX_FIELD_NUMBER = 2**29 - 1


class Field:
    """One field of a message type: name, number, scalar kind or message type, repeated or not."""

    __slots__ = ("kind", "message_type", "name", "number", "repeated", "wire_type")

    def __init__(self, number: int, name: str, kind: str | MessageType | list[MessageType]) -> None:
        self.number = number
        self.name = name
        self.repeated = isinstance(kind, list)
        element = kind[0] if isinstance(kind, list) else kind
        self.message_type = element if isinstance(element, MessageType) else None
        self.kind = element if isinstance(element, str) else "message"
        self.wire_type = _LENGTH if self.message_type is not None else _WIRE_TYPE[self.kind]


class MessageType:
    """A message type from ``{number: (name, kind)}``.

    A kind is "uint" (also enums), "float", "fixed32", "bytes" (also strings), a message type, or a list
    of one message type for a repeated field.
    """

    def __init__(
        self, name: str, fields: dict[int, tuple[str, str | MessageType | list[MessageType]]]
    ) -> None:
        self.name = name
        self.by_number = {number: Field(number, *rest) for number, rest in sorted(fields.items())}
        self.by_name = {field.name: field for field in self.by_number.values()}


class Message:
    """A message: ``values`` has the fields that are present, by name; ``unknown`` the rest, raw.

    Values are int, float, memoryview or bytes, Message, or a list of Message.
    """

    __slots__ = ("type", "unknown", "values")

    def __init__(self, message_type: MessageType, **values: Any) -> None:
        self.type = message_type
        self.values: dict[str, Any] = values
        self.unknown: list[memoryview | bytes] = []

    def get(self, name: str, default: Any = None) -> Any:
        """The value of a field, or the default where it is absent."""
        if name not in self.type.by_name:
            raise KeyError(f"{self.type.name} has no field {name}")
        return self.values.get(name, default)

    def copy(self) -> Message:
        """A copy of the tree; bytes are shared."""
        copy = Message(self.type, **{name: _copy_value(value) for name, value in self.values.items()})
        copy.unknown = list(self.unknown)
        return copy

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Message):
            return NotImplemented
        return (
            self.type is other.type
            and self.values == other.values
            and b"".join(self.unknown) == b"".join(other.unknown)
        )

    __hash__ = None  # type: ignore[assignment]


def _copy_value(value: Any) -> Any:
    if isinstance(value, Message):
        return value.copy()
    return [item.copy() for item in value] if isinstance(value, list) else value


# Paths such as "weights.encoder[3].mha.q_w", from the message they are looked up in.


def _steps(path: str) -> list[tuple[str, int | None]]:
    steps: list[tuple[str, int | None]] = []
    for part in path.split("."):
        name, bracket, index = part.partition("[")
        steps.append((name, int(index[:-1]) if bracket else None))
    return steps


def find(message: Message, path: str) -> Any:
    """The value at a path, or None where any part of it is absent."""
    value: Any = message
    for name, index in _steps(path):
        value = value.get(name)
        if index is not None:
            value = value[index] if value is not None and index < len(value) else None
        if value is None:
            return None
    return value


def find_or_create(message: Message, path: str) -> Message:
    """The message at a path, with missing messages on the way created empty."""
    for name, index in _steps(path):
        message_type = message.type.by_name[name].message_type
        assert message_type is not None, f"{path}: {name} is not a message"
        if index is None:
            message = message.values.setdefault(name, Message(message_type))
        else:
            items = message.values.setdefault(name, [])
            items.extend(Message(message_type) for _ in range(index + 1 - len(items)))
            message = items[index]
    return message


def parse(data: memoryview, message_type: MessageType) -> Message:
    """Parse a whole message; bytes fields are slices of ``data``.

    Raises NetworkFileError with the field path for anything that is not well-formed, for a field whose
    wire type is not the expected one, and past ``MAX_FIELDS`` fields.
    """
    message = Message(message_type)
    _Parser(data).read_into(message, 0, len(data), "")
    return message


class _Parser:
    def __init__(self, data: memoryview) -> None:
        self.data = data
        self.fields = 0

    def read_into(self, message: Message, position: int, end: int, path: str) -> None:
        """Parse bytes position..end; a second occurrence of a singular message merges into the first."""
        where = path or message.type.name
        while position < end:
            self.fields += 1
            if self.fields > MAX_FIELDS:
                raise NetworkFileError(f"{where}: more than {MAX_FIELDS} fields, not a network file")
            start = position
            tag, position = self._varint(position, end, where)
            number, wire_type = tag >> 3, tag & 7
            if not 1 <= number <= _MAX_FIELD_NUMBER:
                raise NetworkFileError(f"{where}: bad field number {number} at byte {start}")
            field = message.type.by_number.get(number)
            if field is None:
                position = self._skip(wire_type, position, end, f"{where}: unknown field {number}")
                message.unknown.append(self.data[start:position])
                continue
            name = f"{path}.{field.name}" if path else field.name
            if wire_type != field.wire_type:
                raise NetworkFileError(f"{name}: wire type {wire_type} found, {field.wire_type} expected")
            if field.message_type is None:
                message.values[field.name], position = self._scalar(field, position, end, name)
                continue
            length, position = self._length(position, end, name)
            if field.repeated:
                items = message.values.setdefault(field.name, [])
                name = f"{name}[{len(items)}]"
                child = Message(field.message_type)
                items.append(child)
            else:
                child = message.values.setdefault(field.name, Message(field.message_type))
            self.read_into(child, position, position + length, name)
            position += length

    def _scalar(self, field: Field, position: int, end: int, name: str) -> tuple[Any, int]:
        if field.kind == "uint":
            value, position = self._varint(position, end, name)
            if value > 0xFFFFFFFF:
                raise NetworkFileError(f"{name}: {value} does not fit in 32 bits")
            return value, position
        if field.kind == "bytes":
            length, position = self._length(position, end, name)
            return self.data[position : position + length], position + length
        self._need(4, position, end, name)
        return struct.unpack_from("<f" if field.kind == "float" else "<I", self.data, position)[
            0
        ], position + 4

    def _varint(self, position: int, end: int, name: str) -> tuple[int, int]:
        value = 0
        for shift in range(0, 70, 7):
            if position >= end:
                raise NetworkFileError(f"{name}: the message ends inside a number (byte {position})")
            byte = self.data[position]
            position += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                if value >= 1 << 64:
                    break
                return value, position
        raise NetworkFileError(f"{name}: a number of more than 64 bits before byte {position}")

    def _length(self, position: int, end: int, name: str) -> tuple[int, int]:
        length, position = self._varint(position, end, name)
        self._need(length, position, end, name)
        return length, position

    def _need(self, length: int, position: int, end: int, name: str) -> None:
        if length > end - position:
            raise NetworkFileError(
                f"{name}: {length} bytes announced at byte {position}, {end - position} are left"
            )

    def _skip(self, wire_type: int, position: int, end: int, name: str) -> int:
        if wire_type == _VARINT:
            return self._varint(position, end, name)[1]
        if wire_type == _LENGTH:
            length, position = self._length(position, end, name)
            return position + length
        if wire_type not in (_FIXED64, _FIXED32):
            raise NetworkFileError(f"{name}: wire type {wire_type} is not supported")
        length = 8 if wire_type == _FIXED64 else 4
        self._need(length, position, end, name)
        return position + length


def encode(message: Message) -> list[bytes | memoryview]:
    """The wire format in chunks: fields in the order of their numbers, then the unknown ones as read."""
    return _encode(message)[0]


def _encode(message: Message) -> tuple[list[bytes | memoryview], int]:
    """(chunks, their length together)."""
    chunks: list[bytes | memoryview] = []
    for field in message.type.by_number.values():
        if field.name not in message.values:
            continue
        value = message.values[field.name]
        tag = _encode_varint(field.number << 3 | field.wire_type)
        if field.message_type is not None:
            for child in value if field.repeated else [value]:
                inner, length = _encode(child)
                chunks += [tag + _encode_varint(length), *inner]
        elif field.kind == "uint":
            chunks.append(tag + _encode_varint(value))
        elif field.kind == "bytes":
            chunks += [tag + _encode_varint(len(value)), value]
        else:
            chunks.append(tag + struct.pack("<f" if field.kind == "float" else "<I", value))
    chunks += message.unknown
    return chunks, sum(len(chunk) for chunk in chunks)


def _encode_varint(value: int) -> bytes:
    encoded = bytearray()
    while value >= 0x80:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)
