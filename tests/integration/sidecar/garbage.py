"""Requests that nobody would make: valid messages with any field set to anything."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from hypothesis import strategies as st

DEEPEST = 4
MOST_FIELDS = 6
MOST_ITEMS = 4

_TEXTS = ["", "gotcha", "build", "p", "c1", "/tmp", "src/a.py", "../x", "\0", "\u202e", "x" * 5000]
_VALUES: Mapping[int, st.SearchStrategy[Any]] = {
    FieldDescriptor.TYPE_STRING: st.one_of(st.sampled_from(_TEXTS), st.text(max_size=30)),
    FieldDescriptor.TYPE_BYTES: st.binary(max_size=40),
    FieldDescriptor.TYPE_BOOL: st.booleans(),
    FieldDescriptor.TYPE_DOUBLE: st.floats(),
    FieldDescriptor.TYPE_ENUM: st.integers(-1, 9),
    FieldDescriptor.TYPE_INT32: st.integers(-(2**31), 2**31 - 1),
    FieldDescriptor.TYPE_INT64: st.one_of(
        st.sampled_from([0, 2**62, -(2**62)]), st.integers(-(2**63), 2**63 - 1)
    ),
    FieldDescriptor.TYPE_UINT32: st.one_of(st.sampled_from([0, 1, 5]), st.integers(0, 2**32 - 1)),
    FieldDescriptor.TYPE_UINT64: st.one_of(
        st.sampled_from([1, 2, 3, 2**63, 2**64 - 1]), st.integers(0, 2**64 - 1)
    ),
}


@st.composite
def messages(
    draw: st.DrawFn, descriptor: Descriptor, known: Mapping[str, Any], depth: int = 0
) -> Message:
    """A message of this type; a field of a known name has the known value now and then."""
    made = GetMessageClass(descriptor)()
    fields = list(descriptor.fields)
    if not fields or depth > DEEPEST:
        return made
    for field in draw(st.lists(st.sampled_from(fields), max_size=MOST_FIELDS, unique=True)):
        value = _value(field, known, depth)
        held = getattr(made, field.name)
        if hasattr(held, "extend"):
            held.extend(draw(st.lists(value, max_size=MOST_ITEMS)))
        elif field.message_type is not None:
            held.CopyFrom(draw(value))
        else:
            setattr(made, field.name, draw(value))
    return made


def _value(field: FieldDescriptor, known: Mapping[str, Any], depth: int) -> st.SearchStrategy[Any]:
    if field.message_type is not None:
        return messages(field.message_type, known, depth + 1)
    if field.name in known:
        return st.one_of(st.just(known[field.name]), _VALUES[field.type])
    return _VALUES[field.type]
