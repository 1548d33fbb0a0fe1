"""Fixtures of this folder: a display for windows, and the registry as it was before."""

from tests.displays import display as display
from tests.testing.commands import as_before as as_before
from tests.testing.kernels import own_kernels as own_kernels
