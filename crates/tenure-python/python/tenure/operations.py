"""The types of what operations take and answer."""

from ._operations import *
