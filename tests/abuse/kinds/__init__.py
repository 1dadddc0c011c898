"""The kinds of misbehaviour: each is a function that misbehaves, with what wirecert has to make of it."""

from .kind import ROLES, Kind, by_name, every

__all__ = ["ROLES", "Kind", "by_name", "every"]
