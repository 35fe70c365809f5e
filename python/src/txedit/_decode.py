"""Reads an answer into a dataclass. Fields that a newer program adds stay in ``raw``; missing ones have their default."""

import dataclasses
from typing import Any, Dict, Mapping, Tuple, Type, TypeVar, Union, get_args, get_origin, get_type_hints

_T = TypeVar("_T", bound="Answer")

# Of each dataclass: the name of each field, its name in the answer, and its type.
_FIELDS: Dict[Type[Any], Tuple[Tuple[str, str, Any], ...]] = {}


@dataclasses.dataclass(frozen=True)
class Answer:
    """What all parts of an answer have.

    Attributes:
        raw: the JSON object that it was read from, with fields that this module does not know.
    """

    raw: Mapping[str, Any] = dataclasses.field(default_factory=dict, repr=False, compare=False)


def named(name: str, default: Any) -> Any:
    """A field whose name in the answer is no name in Python."""
    return dataclasses.field(default=default, metadata={"name": name})


def decode(kind: Type[_T], value: Mapping[str, Any]) -> _T:
    """The dataclass that an object of an answer stands for."""
    given: Dict[str, Any] = {"raw": value}
    for name, name_in_answer, hint in _fields(kind):
        if value.get(name_in_answer) is not None:
            given[name] = _convert(hint, value[name_in_answer])
    return kind(**given)


def _fields(kind: Type[Any]) -> Tuple[Tuple[str, str, Any], ...]:
    if kind not in _FIELDS:
        hints = get_type_hints(kind)
        fields = (field for field in dataclasses.fields(kind) if field.name != "raw")
        named = ((field.name, field.metadata.get("name", field.name), hints[field.name]) for field in fields)
        _FIELDS[kind] = tuple(named)
    return _FIELDS[kind]


def _convert(hint: Any, value: Any) -> Any:
    if get_origin(hint) is Union:
        # `Optional[X]`; there is no other union in an answer.
        hint = get_args(hint)[0]
    if get_origin(hint) is tuple and isinstance(value, list):
        return tuple(_convert(get_args(hint)[0], one) for one in value)
    if isinstance(hint, type) and issubclass(hint, Answer) and isinstance(value, dict):
        return decode(hint, value)
    return value
